//! How long ago something happened, as a lower and an upper bound.

use std::fmt;
use std::time::Duration;

/// Bounds on the time between an event and a reading.
///
/// The true age is never below the lower bound. There is no upper bound if nothing bounds the age from above. Both are
/// nanoseconds in a `u64` (584 years): a source with 100,000 leases has more than a million ages, so their size counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Age {
    at_least: u64,
    /// [`UNBOUNDED_ABOVE`] if there is no upper bound.
    at_most: u64,
}

const UNBOUNDED_ABOVE: u64 = u64::MAX;

/// Nanoseconds, limited to the longest age that can be stored.
fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(UNBOUNDED_ABOVE - 1).min(UNBOUNDED_ABOVE - 1)
}

/// The result of a comparison in three-valued logic, as in SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// The comparison holds for every age within the bounds.
    True,
    /// The comparison holds for no age within the bounds.
    False,
    /// The comparison holds for some ages within the bounds and not for others.
    Unknown,
}

impl Age {
    /// Any age: the event is not in the future, and nothing else is known.
    pub const UNBOUNDED: Self = Self { at_least: 0, at_most: UNBOUNDED_ABOVE };

    /// An age whose two bounds are equal.
    #[must_use]
    pub fn exact(age: Duration) -> Self {
        Self { at_least: nanos(age), at_most: nanos(age) }
    }

    /// An age without an upper bound.
    #[must_use]
    pub fn at_least(age: Duration) -> Self {
        Self { at_least: nanos(age), at_most: UNBOUNDED_ABOVE }
    }

    /// An age between two bounds, given in either order.
    #[must_use]
    pub fn between(one: Duration, other: Duration) -> Self {
        Self { at_least: nanos(one.min(other)), at_most: nanos(one.max(other)) }
    }

    fn new(at_least: Duration, at_most: Option<Duration>) -> Self {
        Self { at_least: nanos(at_least), at_most: at_most.map_or(UNBOUNDED_ABOVE, nanos) }
    }

    /// The lower bound.
    #[must_use]
    pub const fn lower(self) -> Duration {
        Duration::from_nanos(self.at_least)
    }

    /// The upper bound, if there is one.
    #[must_use]
    pub fn upper(self) -> Option<Duration> {
        (self.at_most != UNBOUNDED_ABOVE).then(|| Duration::from_nanos(self.at_most))
    }

    /// Whether the age is greater than `limit`. An age equal to `limit` is not.
    #[must_use]
    pub fn exceeds(self, limit: Duration) -> Truth {
        match self.upper() {
            _ if self.lower() > limit => Truth::True,
            Some(at_most) if at_most <= limit => Truth::False,
            _ => Truth::Unknown,
        }
    }

    /// Whether this event is certainly later than the event of age `other`.
    #[must_use]
    pub fn surely_after(self, other: Self) -> bool {
        self.upper().is_some_and(|at_most| at_most < other.lower())
    }

    /// The age of the same event at a later reading. `elapsed` is the age of the earlier reading at the later one.
    #[must_use]
    pub fn plus(self, elapsed: Self) -> Self {
        let at_most = self.upper().zip(elapsed.upper()).map(|(age, elapsed)| age.saturating_add(elapsed));
        Self::new(self.lower().saturating_add(elapsed.lower()), at_most)
    }

    /// The age of the moment `delay` after this event; zero if that moment is in the future.
    #[must_use]
    pub fn minus(self, delay: Duration) -> Self {
        Self::new(self.lower().saturating_sub(delay), self.upper().map(|at_most| at_most.saturating_sub(delay)))
    }

    /// The intersection of two bounds on the age of one event.
    ///
    /// Bounds that are apart by no more than `tolerance`, the difference allowed between two clocks, give the span from
    /// one to the other. The result is `None` if they are further apart: one of the clocks is wrong.
    #[must_use]
    pub fn intersection(self, other: Self, tolerance: Duration) -> Option<Self> {
        let at_least = self.lower().max(other.lower());
        let at_most = match (self.upper(), other.upper()) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
        match at_most {
            Some(at_most) if at_most < at_least => {
                (at_least - at_most <= tolerance).then(|| Self::between(at_most, at_least))
            }
            _ => Some(Self::new(at_least, at_most)),
        }
    }
}

impl fmt::Debug for Age {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Age").field("at_least", &self.lower()).field("at_most", &self.upper()).finish()
    }
}

/// The interval in which the store made the snapshot of a reading, on the exporter's monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadInterval {
    /// Just before the request was sent to the store.
    pub start: Duration,
    /// Just after the response was received.
    pub end: Duration,
}

impl ReadInterval {
    /// The exporter's and the store's clock may drift apart by one part in this many. A clock slewed by NTP is off by up
    /// to 500 parts per million, so this allows for both.
    const DRIFT: u32 = 1_000;

    /// The age of an earlier reading at this one, as the store's clock would measure it.
    #[must_use]
    pub fn since(self, earlier: Self) -> Age {
        let least = self.start.saturating_sub(earlier.end);
        let most = self.end.saturating_sub(earlier.start);
        Age::new(least - least / Self::DRIFT, Some(most + most / Self::DRIFT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_comparison_is_true_or_false_only_if_it_is_so_for_every_age_within_the_bounds() {
        for (age, limit, expected) in [
            (Age::exact(s(5)), s(5), Truth::False),
            (Age::exact(s(6)), s(5), Truth::True),
            (Age::between(s(4), s(6)), s(5), Truth::Unknown),
            (Age::between(s(6), s(9)), s(5), Truth::True),
            (Age::between(s(1), s(5)), s(5), Truth::False),
            (Age::at_least(s(5)), s(5), Truth::Unknown),
            (Age::at_least(s(6)), s(5), Truth::True),
            (Age::UNBOUNDED, s(0), Truth::Unknown),
        ] {
            assert_eq!(age.exceeds(limit), expected, "{age:?} exceeds {limit:?}");
        }
    }

    #[test]
    fn bounds_that_do_not_overlap_are_joined_only_within_the_tolerance() {
        let stored = Age::exact(s(10));
        assert_eq!(stored.intersection(Age::between(s(0), s(8)), s(2)), Some(Age::between(s(8), s(10))));
        assert_eq!(stored.intersection(Age::between(s(0), s(7)), s(2)), None);
        assert_eq!(stored.intersection(Age::at_least(s(3)), s(0)), Some(stored));
    }

    #[test]
    fn the_time_between_two_readings_allows_for_their_length_and_for_clock_drift() {
        let first = ReadInterval { start: s(0), end: s(1) };
        let second = ReadInterval { start: s(1_001), end: s(1_002) };
        assert_eq!(second.since(first), Age::between(s(999), s(1_002) + Duration::from_millis(1_002)));
    }
}
