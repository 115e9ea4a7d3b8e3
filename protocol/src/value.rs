//! The values that lease records consist of: epoch, holder, TTL and the store's time.

use std::fmt;
use std::time::Duration;

/// The fencing token. It grows by one with each acquisition of a lease, survives release and expiry, and is never
/// reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(u64);

impl Epoch {
    /// The epoch of the first acquisition of a lease.
    pub const FIRST: Self = Self(1);

    /// An epoch read from a store; `None` for 0, which is never assigned.
    #[must_use]
    pub fn new(epoch: u64) -> Option<Self> {
        (epoch > 0).then_some(Self(epoch))
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A time of the store's clock, in milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoreTime(i64);

impl StoreTime {
    /// A time read from a store.
    #[must_use]
    pub fn from_unix_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the Unix epoch.
    #[must_use]
    pub fn unix_millis(self) -> i64 {
        self.0
    }
}

/// How long a lease lives without a renewal, in whole milliseconds, between 1 ms and about 31 years.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ttl(i64);

impl Ttl {
    /// Longer TTLs are mistakes and could make sums of times overflow.
    const MAX_MILLIS: i64 = 1_000_000_000_000;

    /// A TTL, rounded down to whole milliseconds.
    ///
    /// # Errors
    /// If it is shorter than 1 ms or longer than the maximum.
    pub fn new(ttl: Duration) -> Result<Self, InvalidTtl> {
        match i64::try_from(ttl.as_millis()) {
            Ok(millis @ 1..=Self::MAX_MILLIS) => Ok(Self(millis)),
            _ => Err(InvalidTtl),
        }
    }

    /// In milliseconds.
    #[must_use]
    pub fn millis(self) -> i64 {
        self.0
    }
}

impl From<Ttl> for Duration {
    fn from(ttl: Ttl) -> Self {
        Duration::from_millis(ttl.0.unsigned_abs())
    }
}

/// A TTL out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a time to live must be at least 1ms and at most 10^12 ms")]
pub struct InvalidTtl;

/// The name of a lease holder. A random one reveals neither host nor process.
///
/// One id stands for one run of one instance. An instance takes a new id when it restarts, so that it never mistakes the
/// lease of its previous run for its own.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct HolderId(String);

impl HolderId {
    /// A new id: 128 random bits in hexadecimal.
    ///
    /// # Errors
    /// If the operating system provides no random bytes.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        Ok(Self(format!("{:032x}", u128::from_be_bytes(bytes))))
    }

    /// An id of your choice: 1 to 128 bytes without control characters. It must be unique among all running instances.
    ///
    /// # Errors
    /// If it is empty, too long, or has a control character.
    pub fn new(id: impl Into<String>) -> Result<Self, InvalidHolderId> {
        let id = id.into();
        if id.is_empty() || id.len() > 128 || id.chars().any(char::is_control) {
            return Err(InvalidHolderId);
        }
        Ok(Self(id))
    }

    /// The id, for the store only.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Hides the id, which may be the name of a host.
impl fmt::Debug for HolderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<holder>")
    }
}

/// A text that cannot be a [`HolderId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the holder must have 1 to 128 bytes and no control characters")]
pub struct InvalidHolderId;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_ids_differ_and_are_hidden_when_printed() {
        let one = HolderId::random().unwrap();
        assert_ne!(one, HolderId::random().unwrap());
        assert_eq!(one.as_str().len(), 32);
        assert_eq!(format!("{one:?}"), "<holder>");
    }

    #[test]
    fn an_id_that_could_break_a_line_is_refused() {
        for id in ["", "a\nb", "a\0b", &"x".repeat(129)] {
            assert_eq!(HolderId::new(id), Err(InvalidHolderId), "{id:?}");
        }
        assert_eq!(HolderId::new("a").unwrap().as_str(), "a");
    }

    #[test]
    fn a_ttl_has_at_least_one_millisecond() {
        assert_eq!(Ttl::new(Duration::ZERO), Err(InvalidTtl));
        assert_eq!(Ttl::new(Duration::from_micros(999)), Err(InvalidTtl));
        assert_eq!(Ttl::new(Duration::MAX), Err(InvalidTtl));
        assert_eq!(Ttl::new(Duration::from_micros(5_999)).unwrap().millis(), 5);
    }

    #[test]
    fn epoch_zero_does_not_exist() {
        assert_eq!(Epoch::new(0), None);
        assert_eq!(Epoch::new(1), Some(Epoch::FIRST));
    }
}
