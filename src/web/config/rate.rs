//! How often all clients together may ask.

use std::time::Duration;

use serde_saphyr::Spanned;

use super::problem::{Faults, Problem};
use super::raw::{RawRate, given};
use crate::config::Shown;
use crate::duration::{Zero, duration};

/// One request each interval, and so many at once after a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::web) struct Rate {
    interval: Duration,
    burst: u32,
}

pub(super) fn checked(rate: &Spanned<RawRate>, faults: &mut Faults) -> Option<Rate> {
    let line = rate.referenced.line();
    let burst = burst(rate, faults);
    let Some(interval) = given(rate.value.interval.clone()) else {
        // Nothing, or a burst of nothing: as with every exporter, that is no limit.
        if matches!(burst, Burst::Of(1..)) {
            faults.note(line, Problem::RateWithout("interval"));
        }
        return None;
    };
    // As with every exporter, 0 is no limit. It alone needs no unit.
    if interval.value.trim() == "0" {
        return None;
    }
    match duration(&interval.value, Zero::Allowed) {
        Ok(Duration::ZERO) => None,
        Ok(interval) => match burst {
            Burst::Of(burst @ 1..) => Some(Rate { interval, burst }),
            Burst::Of(0) => {
                let line = rate.value.burst.as_ref().map_or(line, |text| text.referenced.line());
                faults.note(line, Problem::Burst(Shown::new("0")));
                None
            }
            Burst::Absent => {
                faults.note(line, Problem::RateWithout("burst"));
                None
            }
            Burst::Wrong => None,
        },
        Err(fault) => {
            let value = Shown::new(&interval.value);
            faults.note(interval.referenced.line(), Problem::Interval { value, fault });
            None
        }
    }
}

/// What is given as the burst.
enum Burst {
    Absent,
    Wrong,
    Of(u32),
}

fn burst(rate: &Spanned<RawRate>, faults: &mut Faults) -> Burst {
    let Some(text) = given(rate.value.burst.clone()) else { return Burst::Absent };
    text.value.trim().parse().map_or_else(
        |_| {
            faults.note(text.referenced.line(), Problem::Burst(Shown::new(&text.value)));
            Burst::Wrong
        },
        Burst::Of,
    )
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
