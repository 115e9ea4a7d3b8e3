//! The rate limit of requests, shared by all clients.

use std::time::Duration;

use serde_saphyr::Spanned;

use super::problem::{Problem, Problems};
use super::raw::{RawRate, non_blank};
use crate::diagnostic::QuotedValue;
use crate::duration::{Zero, duration};

/// One request per interval, after a burst of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::web) struct RateLimit {
    interval: Duration,
    burst: u32,
}

impl RateLimit {
    pub(super) const fn rejects_all(self) -> bool {
        self.burst == 0
    }
}

/// As in the exporter-toolkit, a missing burst is 0, which rejects every request, and an interval that is missing or 0
/// means no limit.
pub(super) fn convert(raw: &Spanned<RawRate>, problems: &mut Problems) -> Option<RateLimit> {
    let burst = match non_blank(&raw.value.burst) {
        None => Some(0),
        Some(text) => {
            let parsed = text.value.trim().parse().map_err(|_| Problem::Burst(QuotedValue::new(&text.value)));
            problems.keep(text.referenced.line(), parsed)
        }
    };
    let text = non_blank(&raw.value.interval)?;
    // 0 needs no unit.
    if text.value.trim() == "0" {
        return None;
    }
    let interval = duration(&text.value, Zero::Allowed)
        .map_err(|fault| Problem::Interval { value: QuotedValue::new(&text.value), fault });
    let interval = problems.keep(text.referenced.line(), interval)?;
    burst.filter(|_| !interval.is_zero()).map(|burst| RateLimit { interval, burst })
}

/// A token bucket that gains one token per interval, up to the burst.
#[derive(Debug)]
pub(in crate::web) struct TokenBucket {
    limit: RateLimit,
    /// When the bucket will be full. Each accepted request moves it by one interval.
    full_at: Duration,
}

impl TokenBucket {
    pub(in crate::web) const fn new(limit: RateLimit) -> Self {
        Self { limit, full_at: Duration::ZERO }
    }

    pub(in crate::web) const fn limit(&self) -> RateLimit {
        self.limit
    }

    /// Takes a token.
    ///
    /// # Errors
    /// The bucket is empty: the time until the next token.
    pub(in crate::web) fn take(&mut self, now: Duration) -> Result<(), Duration> {
        let full_at = self.full_at.max(now).saturating_add(self.limit.interval);
        let missing = (full_at - now).saturating_sub(self.limit.interval.saturating_mul(self.limit.burst));
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
    fn the_bucket_allows_a_burst_and_then_one_request_per_interval() {
        let ms = Duration::from_millis;
        let mut bucket = TokenBucket::new(RateLimit { interval: ms(100), burst: 3 });
        let allowed: Vec<_> = [1000, 1000, 1000, 1000, 1050, 1100, 1100, 1250, 1300, 9000, 9000, 9000, 9000]
            .into_iter()
            .filter(|at| bucket.take(ms(*at)).is_ok())
            .collect();
        assert_eq!(allowed, [1000, 1000, 1000, 1100, 1250, 1300, 9000, 9000, 9000]);
        assert_eq!(bucket.take(ms(9030)), Err(ms(70)), "from then on one may");
        assert_eq!(bucket.take(ms(9100)), Ok(()));
    }
}
