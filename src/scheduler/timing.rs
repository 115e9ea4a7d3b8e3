//! How fast a synthetic scheduler does what it does.

use std::time::Duration;

use super::authority::Ttl;

/// The times of one instance. All are measured on the instance's own monotonic clock, except what it enqueues, which
/// follows the store's.
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
    /// A lease that lives for `ttl` unless renewed, renewed every `renew_every`. Until told otherwise, what fails is
    /// tried again, and what is not there looked for again, just as often; work takes no time; and nothing is enqueued.
    ///
    /// # Errors
    /// When the lease could never be kept.
    pub fn new(ttl: Duration, renew_every: Duration) -> Result<Self, InvalidTiming> {
        let lives = Ttl::new(ttl).map_err(|_| InvalidTiming::Ttl)?;
        if renew_every.is_zero() {
            return Err(InvalidTiming::RenewZero);
        }
        if renew_every >= ttl {
            return Err(InvalidTiming::RenewTooLate { renew_every, ttl });
        }
        let retry_every = renew_every;
        Ok(Self { ttl: lives, renew_every, retry_every, work_takes: Duration::ZERO, enqueue_every: None })
    }

    /// How long one occurrence is in hand before its write. Zero makes an instance busy for as long as work is due.
    #[must_use]
    pub fn work_takes(self, work_takes: Duration) -> Self {
        Self { work_takes, ..self }
    }

    /// How long to wait before trying to acquire again, looking for due work again, or repeating what failed.
    ///
    /// # Errors
    /// When it is zero.
    pub fn retry_every(self, retry_every: Duration) -> Result<Self, InvalidTiming> {
        if retry_every.is_zero() {
            return Err(InvalidTiming::RetryZero);
        }
        Ok(Self { retry_every, ..self })
    }

    /// How often an occurrence becomes due, in whole milliseconds; zero for never.
    ///
    /// # Errors
    /// When it is above zero but below a millisecond, or beyond any calendar.
    pub fn enqueue_every(self, enqueue_every: Duration) -> Result<Self, InvalidTiming> {
        let enqueue_every = match i64::try_from(enqueue_every.as_millis()) {
            _ if enqueue_every.is_zero() => None,
            Ok(millis @ 1..) => Some(millis),
            _ => return Err(InvalidTiming::Enqueue),
        };
        Ok(Self { enqueue_every, ..self })
    }
}

/// Times that make no scheduler. Each says what to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidTiming {
    /// Something would become due without end.
    #[error("enqueue-every must be 0 (never) or at least 1ms")]
    Enqueue,
    /// The lease would expire before it is renewed.
    #[error("renew-every ({renew_every:?}) must be shorter than ttl ({ttl:?}): raise ttl or lower renew-every")]
    RenewTooLate {
        /// As given.
        renew_every: Duration,
        /// As given.
        ttl: Duration,
    },
    /// It would do nothing but renew.
    #[error("renew-every must be above 0: a third of ttl is usual")]
    RenewZero,
    /// It would do nothing but retry.
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
    fn a_lease_that_could_never_be_kept_is_refused() {
        assert_eq!(Timing::new(Duration::ZERO, SECOND), Err(InvalidTiming::Ttl));
        assert_eq!(Timing::new(SECOND, Duration::ZERO), Err(InvalidTiming::RenewZero));
        let too_late = Timing::new(SECOND, SECOND).unwrap_err();
        assert_eq!(
            too_late.to_string(),
            "renew-every (1s) must be shorter than ttl (1s): raise ttl or lower renew-every"
        );
    }

    #[test]
    fn nothing_may_be_repeated_without_pause() {
        let timing = Timing::new(SECOND * 2, SECOND).unwrap();
        assert_eq!(timing.retry_every(Duration::ZERO), Err(InvalidTiming::RetryZero));
        assert_eq!(timing.enqueue_every(Duration::from_nanos(1)), Err(InvalidTiming::Enqueue));
        assert_eq!(timing.enqueue_every(Duration::ZERO).unwrap().enqueue_every, None);
        assert_eq!(timing.enqueue_every(SECOND).unwrap().enqueue_every, Some(1000));
    }
}
