//! How long ago something happened, as bounds rather than a guess.

use std::fmt;
use std::time::Duration;

/// Bounds on how long before a reading something happened.
///
/// The true age is never below the lower bound; there is no upper one while nothing bounds it from above. Both are kept in
/// whole nanoseconds, which reach for 584 years: a source with 100,000 leases has more than a million ages.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Age {
    at_least: u64,
    /// [`UNBOUNDED_ABOVE`] where there is no upper bound.
    at_most: u64,
}

const UNBOUNDED_ABOVE: u64 = u64::MAX;

/// An age beyond all that can be kept counts as the longest that can be.
fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(UNBOUNDED_ABOVE - 1).min(UNBOUNDED_ABOVE - 1)
}

/// The answer to a question that bounds may not settle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Every age within the bounds says yes.
    Yes,
    /// Every age within the bounds says no.
    No,
    /// Some do and some do not: this is where `unknown` comes from.
    CannotTell,
}

impl Age {
    /// Nothing is known but that it is not in the future.
    pub const UNBOUNDED: Self = Self { at_least: 0, at_most: UNBOUNDED_ABOVE };

    /// An age known to the resolution of the clock.
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

    fn of(at_least: Duration, at_most: Option<Duration>) -> Self {
        Self { at_least: nanos(at_least), at_most: at_most.map_or(UNBOUNDED_ABOVE, nanos) }
    }

    /// Whether it happened longer ago than `limit`. An age of exactly `limit` is not older.
    #[must_use]
    pub fn older_than(self, limit: Duration) -> Answer {
        match self.upper() {
            _ if self.lower() > limit => Answer::Yes,
            Some(at_most) if at_most <= limit => Answer::No,
            _ => Answer::CannotTell,
        }
    }

    /// Whether this surely happened after `other`.
    #[must_use]
    pub fn surely_after(self, other: Self) -> bool {
        self.upper().is_some_and(|at_most| at_most < other.lower())
    }

    /// The same event, seen from a later reading.
    #[must_use]
    pub fn grown(self, by: Elapsed) -> Self {
        Self::of(
            self.lower().saturating_add(by.at_least),
            self.upper().map(|at_most| at_most.saturating_add(by.at_most)),
        )
    }

    /// The age of something that fell due `delay` after this event; zero where it has not fallen due.
    #[must_use]
    pub fn less(self, delay: Duration) -> Self {
        Self::of(self.lower().saturating_sub(delay), self.upper().map(|at_most| at_most.saturating_sub(delay)))
    }

    /// What two pieces of evidence for one event say together: their intersection.
    ///
    /// Two clocks that disagree by no more than `tolerance` are both believed, so bounds that miss each other by no
    /// more than that give the span from one to the other. `None` where they miss by more: an assumption is wrong.
    #[must_use]
    pub fn reconciled(self, other: Self, tolerance: Duration) -> Option<Self> {
        let at_least = self.lower().max(other.lower());
        let at_most = match (self.upper(), other.upper()) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
        match at_most {
            Some(at_most) if at_most < at_least => {
                (at_least - at_most <= tolerance).then(|| Self::between(at_most, at_least))
            }
            _ => Some(Self::of(at_least, at_most)),
        }
    }
}

impl fmt::Debug for Age {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Age").field("at_least", &self.lower()).field("at_most", &self.upper()).finish()
    }
}

/// When a reading was made, on the exporter's own monotonic clock. The store's snapshot lies somewhere within.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// Just before the store was asked.
    pub began: Duration,
    /// Just after it had answered.
    pub ended: Duration,
}

/// Bounds on the time between two readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elapsed {
    /// It was not less than this.
    pub at_least: Duration,
    /// It was not more than this.
    pub at_most: Duration,
}

impl At {
    /// The exporter's and the store's clocks may run apart by one part in this many. A clock being slewed by NTP is off
    /// by at most 500 parts in a million; this leaves room for both.
    const DRIFT: u32 = 1_000;

    /// The time since an earlier reading, as the store's clock would have counted it.
    #[must_use]
    pub fn since(self, earlier: Self) -> Elapsed {
        let least = self.began.saturating_sub(earlier.ended);
        let most = self.ended.saturating_sub(earlier.began);
        Elapsed { at_least: least - least / Self::DRIFT, at_most: most + most / Self::DRIFT }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn older_than_answers_only_what_the_bounds_settle() {
        for (age, limit, answer) in [
            (Age::exact(s(5)), s(5), Answer::No),
            (Age::exact(s(6)), s(5), Answer::Yes),
            (Age::between(s(4), s(6)), s(5), Answer::CannotTell),
            (Age::between(s(6), s(9)), s(5), Answer::Yes),
            (Age::between(s(1), s(5)), s(5), Answer::No),
            (Age::at_least(s(5)), s(5), Answer::CannotTell),
            (Age::at_least(s(6)), s(5), Answer::Yes),
            (Age::UNBOUNDED, s(0), Answer::CannotTell),
        ] {
            assert_eq!(age.older_than(limit), answer, "{age:?} older than {limit:?}");
        }
    }

    #[test]
    fn bounds_that_miss_each_other_are_believed_only_within_the_tolerance() {
        let stored = Age::exact(s(10));
        assert_eq!(stored.reconciled(Age::between(s(0), s(8)), s(2)), Some(Age::between(s(8), s(10))));
        assert_eq!(stored.reconciled(Age::between(s(0), s(7)), s(2)), None);
        assert_eq!(stored.reconciled(Age::at_least(s(3)), s(0)), Some(stored));
    }

    #[test]
    fn time_between_readings_allows_for_their_length_and_for_drift() {
        let first = At { began: s(0), ended: s(1) };
        let second = At { began: s(1_001), ended: s(1_002) };
        assert_eq!(second.since(first), Elapsed { at_least: s(999), at_most: s(1_002) + Duration::from_millis(1_002) });
    }
}
