//! How long ago something happened, as bounds rather than a guess.

use std::time::Duration;

/// Bounds on how long before a reading something happened.
///
/// The true age is never below `at_least`; `at_most` is `None` while nothing bounds it from above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Age {
    at_least: Duration,
    at_most: Option<Duration>,
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
    pub const UNBOUNDED: Self = Self { at_least: Duration::ZERO, at_most: None };

    /// An age known to the resolution of the clock.
    #[must_use]
    pub const fn exact(age: Duration) -> Self {
        Self { at_least: age, at_most: Some(age) }
    }

    /// An age without an upper bound.
    #[must_use]
    pub const fn at_least(age: Duration) -> Self {
        Self { at_least: age, at_most: None }
    }

    /// An age between two bounds, given in either order.
    #[must_use]
    pub fn between(one: Duration, other: Duration) -> Self {
        Self { at_least: one.min(other), at_most: Some(one.max(other)) }
    }

    /// The lower bound.
    #[must_use]
    pub const fn lower(self) -> Duration {
        self.at_least
    }

    /// The upper bound, if there is one.
    #[must_use]
    pub const fn upper(self) -> Option<Duration> {
        self.at_most
    }

    /// Whether it happened longer ago than `limit`. An age of exactly `limit` is not older.
    #[must_use]
    pub fn older_than(self, limit: Duration) -> Answer {
        match self.at_most {
            _ if self.at_least > limit => Answer::Yes,
            Some(at_most) if at_most <= limit => Answer::No,
            _ => Answer::CannotTell,
        }
    }

    /// Whether this surely happened after `other`.
    #[must_use]
    pub fn surely_after(self, other: Self) -> bool {
        self.at_most.is_some_and(|at_most| at_most < other.at_least)
    }

    /// The same event, seen from a later reading.
    #[must_use]
    pub fn grown(self, by: Elapsed) -> Self {
        Self {
            at_least: self.at_least.saturating_add(by.at_least),
            at_most: self.at_most.map(|at_most| at_most.saturating_add(by.at_most)),
        }
    }

    /// The age of something that fell due `delay` after this event; zero where it has not fallen due.
    #[must_use]
    pub fn less(self, delay: Duration) -> Self {
        Self {
            at_least: self.at_least.saturating_sub(delay),
            at_most: self.at_most.map(|at_most| at_most.saturating_sub(delay)),
        }
    }

    /// What two pieces of evidence for one event say together: their intersection.
    ///
    /// Two clocks that disagree by no more than `tolerance` are both believed, so bounds that miss each other by no
    /// more than that give the span from one to the other. `None` where they miss by more: an assumption is wrong.
    #[must_use]
    pub fn reconciled(self, other: Self, tolerance: Duration) -> Option<Self> {
        let at_least = self.at_least.max(other.at_least);
        let at_most = match (self.at_most, other.at_most) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
        match at_most {
            Some(at_most) if at_most < at_least => {
                (at_least - at_most <= tolerance).then(|| Self::between(at_most, at_least))
            }
            _ => Some(Self { at_least, at_most }),
        }
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
