//! How often all clients together may ask.

use std::time::Duration;

use serde_saphyr::Spanned;

use super::problem::{Faults, Problem};
use super::raw::{RawRate, given};
use crate::diagnostic::QuotedValue;
use crate::duration::{Zero, duration};

/// One request each interval, and so many at once after a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::web) struct Rate {
    interval: Duration,
    burst: u32,
}

impl Rate {
    /// Whether it lets no request in at all.
    pub(super) const fn blocks_everything(self) -> bool {
        self.burst == 0
    }
}

/// The rate, if there is a limit; or takes note of what is wrong with it. As with the exporter-toolkit, a burst that is not
/// given is 0, which lets no request in, and an interval that is not given, or 0, is no limit.
pub(super) fn checked(rate: &Spanned<RawRate>, faults: &mut Faults) -> Option<Rate> {
    let burst = burst(rate, faults);
    let interval = given(rate.value.interval.clone())?;
    // It alone needs no unit.
    if interval.value.trim() == "0" {
        return None;
    }
    match duration(&interval.value, Zero::Allowed) {
        Ok(Duration::ZERO) => None,
        Ok(interval) => burst.map(|burst| Rate { interval, burst }),
        Err(fault) => {
            let value = QuotedValue::new(&interval.value);
            faults.note(interval.referenced.line(), Problem::Interval { value, fault });
            None
        }
    }
}

/// The burst, unless it is wrong, which is taken note of.
fn burst(rate: &Spanned<RawRate>, faults: &mut Faults) -> Option<u32> {
    let Some(text) = given(rate.value.burst.clone()) else { return Some(0) };
    let parsed = text.value.trim().parse();
    parsed.map_err(|_| faults.note(text.referenced.line(), Problem::Burst(QuotedValue::new(&text.value)))).ok()
}

/// What is left of a rate: it fills by one each interval, up to the burst.
#[derive(Debug)]
pub(in crate::web) struct Bucket {
    rate: Rate,
    /// When it will be full again; each request that is let in makes that an interval later.
    full_at: Duration,
}

impl Bucket {
    /// A full one.
    pub(in crate::web) const fn new(rate: Rate) -> Self {
        Self { rate, full_at: Duration::ZERO }
    }

    /// Its rate.
    pub(in crate::web) const fn rate(&self) -> Rate {
        self.rate
    }

    /// Lets one more come now, which is taken note of; or says after how long one may.
    pub(in crate::web) fn allows(&mut self, now: Duration) -> Result<(), Duration> {
        let full_at = self.full_at.max(now).saturating_add(self.rate.interval);
        let missing = (full_at - now).saturating_sub(self.rate.interval.saturating_mul(self.rate.burst));
        if !missing.is_zero() {
            return Err(missing);
        }
        self.full_at = full_at;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_and_then_one_each_interval() {
        let ms = Duration::from_millis;
        let mut bucket = Bucket::new(Rate { interval: ms(100), burst: 3 });
        let allowed: Vec<_> = [1000, 1000, 1000, 1000, 1050, 1100, 1100, 1250, 1300, 9000, 9000, 9000, 9000]
            .into_iter()
            .filter(|at| bucket.allows(ms(*at)).is_ok())
            .collect();
        assert_eq!(allowed, [1000, 1000, 1000, 1100, 1250, 1300, 9000, 9000, 9000]);
        assert_eq!(bucket.allows(ms(9030)), Err(ms(70)), "from then on one may");
        assert_eq!(bucket.allows(ms(9100)), Ok(()));
    }
}
