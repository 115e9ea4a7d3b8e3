//! The intervals of a synthetic scheduler.

use std::time::Duration;

use crate::Ttl;

/// The intervals of one scheduler. They are measured by the scheduler's monotonic clock, except the interval between
/// occurrences, which follows the store's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    pub(super) ttl: Ttl,
    pub(super) renew_every: Duration,
    pub(super) retry_every: Duration,
    pub(super) work_takes: Duration,
    /// In milliseconds; at least one.
    pub(super) enqueue_every: Option<i64>,
}

impl Timing {
    /// A lease with this TTL, renewed every `renew_every`. By default the retry interval equals `renew_every`, work takes no
    /// time, and nothing is enqueued.
    ///
    /// # Errors
    /// If the lease would expire before its renewal.
    pub fn new(ttl: Duration, renew_every: Duration) -> Result<Self, InvalidTiming> {
        let valid_ttl = Ttl::new(ttl).map_err(|_| InvalidTiming::Ttl)?;
        if renew_every.is_zero() {
            return Err(InvalidTiming::RenewZero);
        }
        if renew_every >= ttl {
            return Err(InvalidTiming::RenewTooLate { renew_every, ttl });
        }
        let retry_every = renew_every;
        Ok(Self { ttl: valid_ttl, renew_every, retry_every, work_takes: Duration::ZERO, enqueue_every: None })
    }

    /// How long the work on one occurrence takes before its write. With zero the scheduler never pauses while work is due.
    #[must_use]
    pub fn work_takes(self, work_takes: Duration) -> Self {
        Self { work_takes, ..self }
    }

    /// The wait before the next attempt to acquire, the next poll for due work, or the retry of a failure.
    ///
    /// # Errors
    /// If it is zero.
    pub fn retry_every(self, retry_every: Duration) -> Result<Self, InvalidTiming> {
        if retry_every.is_zero() {
            return Err(InvalidTiming::RetryZero);
        }
        Ok(Self { retry_every, ..self })
    }

    /// The interval at which occurrences become due, in whole milliseconds; zero for none.
    ///
    /// # Errors
    /// If it is above zero but below one millisecond, or too long.
    pub fn enqueue_every(self, enqueue_every: Duration) -> Result<Self, InvalidTiming> {
        let enqueue_every = match i64::try_from(enqueue_every.as_millis()) {
            _ if enqueue_every.is_zero() => None,
            Ok(millis @ 1..) => Some(millis),
            _ => return Err(InvalidTiming::Enqueue),
        };
        Ok(Self { enqueue_every, ..self })
    }
}

/// Intervals with which a scheduler cannot work. Each message says what to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidTiming {
    /// Occurrences would become due without pause.
    #[error("enqueue-every must be 0 (never) or at least 1ms")]
    Enqueue,
    /// The lease would expire before it is renewed.
    #[error("renew-every ({renew_every:?}) must be shorter than ttl ({ttl:?}): raise ttl or lower renew-every")]
    RenewTooLate {
        /// The given interval.
        renew_every: Duration,
        /// The given TTL.
        ttl: Duration,
    },
    /// The scheduler would renew without pause.
    #[error("renew-every must be above 0: a third of ttl is usual")]
    RenewZero,
    /// The scheduler would retry without pause.
    #[error("retry-every must be above 0")]
    RetryZero,
    /// The lease would expire at once, or never.
    #[error("ttl must be at least 1ms and at most 10^12 ms")]
    Ttl,
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_lease_that_would_expire_before_its_renewal_is_refused() {
        assert_eq!(Timing::new(Duration::ZERO, SECOND), Err(InvalidTiming::Ttl));
        assert_eq!(Timing::new(SECOND, Duration::ZERO), Err(InvalidTiming::RenewZero));
        let too_late = Timing::new(SECOND, SECOND).unwrap_err();
        assert_eq!(
            too_late.to_string(),
            "renew-every (1s) must be shorter than ttl (1s): raise ttl or lower renew-every"
        );
    }

    #[test]
    fn an_interval_of_zero_is_refused() {
        let timing = Timing::new(SECOND * 2, SECOND).unwrap();
        assert_eq!(timing.retry_every(Duration::ZERO), Err(InvalidTiming::RetryZero));
        assert_eq!(timing.enqueue_every(Duration::from_nanos(1)), Err(InvalidTiming::Enqueue));
        assert_eq!(timing.enqueue_every(Duration::ZERO).unwrap().enqueue_every, None);
        assert_eq!(timing.enqueue_every(SECOND).unwrap().enqueue_every, Some(1000));
    }
}
