//! What authority is made of: an epoch, a holder's token, a time to live, and the store's time.

use std::fmt;
use std::time::Duration;

/// The fencing token: grows by one with each acquisition of a lease, survives its release, is never given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(u64);

impl Epoch {
    /// The epoch of a lease's first acquisition.
    pub const FIRST: Self = Self(1);

    /// An epoch as stored; `None` for 0, which no acquisition ever gives.
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

/// A time on the store's clock, in milliseconds since the Unix epoch. Nothing but a store makes new ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoreTime(i64);

impl StoreTime {
    /// A time as stored.
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

/// How long a lease lives without a renewal: whole milliseconds, at least one, at most about 31 years.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ttl(i64);

impl Ttl {
    /// Longer ones are mistakes, and would bring sums of times near overflow.
    const MAX_MILLIS: i64 = 1_000_000_000_000;

    /// The time in whole milliseconds; what is finer is cut off.
    ///
    /// # Errors
    /// When less than one millisecond is left, or too many.
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

/// A time to live that no lease can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a time to live must be at least 1ms and at most 10^12 ms")]
pub struct InvalidTtl;

/// What a scheduler puts into the holder column: a random name that says nothing of the host or the process.
///
/// One token stands for one run of one instance. A restarted instance takes a new one, so it never mistakes the lease
/// of the run before for its own.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct InstanceToken(String);

impl InstanceToken {
    /// A new token: 128 random bits in hexadecimal.
    ///
    /// # Errors
    /// When the operating system gives no random bytes.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        Ok(Self(format!("{:032x}", u128::from_be_bytes(bytes))))
    }

    /// A token of one's own choice: 1 to 128 bytes, no control characters. It must be unique among all that run.
    ///
    /// # Errors
    /// When it is empty, too long, or could break a line.
    pub fn new(token: impl Into<String>) -> Result<Self, InvalidToken> {
        let token = token.into();
        if token.is_empty() || token.len() > 128 || token.chars().any(char::is_control) {
            return Err(InvalidToken);
        }
        Ok(Self(token))
    }

    /// The token itself, for the store alone.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Shows nothing of the token: someone may have chosen a host's name.
impl fmt::Debug for InstanceToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<holder>")
    }
}

/// A token that cannot stand in a holder column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an instance token has 1 to 128 bytes and no control characters")]
pub struct InvalidToken;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_tokens_differ_and_say_nothing_when_printed() {
        let one = InstanceToken::random().unwrap();
        assert_ne!(one, InstanceToken::random().unwrap());
        assert_eq!(one.as_str().len(), 32);
        assert_eq!(format!("{one:?}"), "<holder>");
    }

    #[test]
    fn a_token_that_could_break_a_line_is_refused() {
        for token in ["", "a\nb", "a\0b", &"x".repeat(129)] {
            assert_eq!(InstanceToken::new(token), Err(InvalidToken), "{token:?}");
        }
        assert_eq!(InstanceToken::new("a").unwrap().as_str(), "a");
    }

    #[test]
    fn a_ttl_has_at_least_one_millisecond() {
        assert_eq!(Ttl::new(Duration::ZERO), Err(InvalidTtl));
        assert_eq!(Ttl::new(Duration::from_micros(999)), Err(InvalidTtl));
        assert_eq!(Ttl::new(Duration::MAX), Err(InvalidTtl));
        assert_eq!(Ttl::new(Duration::from_micros(5_999)).unwrap().millis(), 5);
    }

    #[test]
    fn no_acquisition_gives_epoch_zero() {
        assert_eq!(Epoch::new(0), None);
        assert_eq!(Epoch::new(1), Some(Epoch::FIRST));
    }
}
