//! Events that happen to a lease again and again, tracked from reading to reading.

use std::time::Duration;

use super::context::{ObservationWindow, StoredTime};
use crate::lease::age::{Age, ReadInterval};
use crate::lease::evidence::{AgeSource, EventAge};
use crate::lease::record::StoreTime;

/// How the last event of the current reading compares with the one of the reading before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventChange {
    /// There is no reading before.
    Initial,
    /// It is the same event.
    Unchanged,
    /// It is another event, which happened between the two readings.
    Changed,
}

/// The last event of the current reading.
#[derive(Clone, Copy, Debug)]
pub(super) struct EventUpdate {
    pub(super) change: EventChange,
    pub(super) age: EventAge,
    /// Whether this reading shows that a clock is wrong, and the reading before did not.
    pub(super) clock_skew: bool,
}

/// Tracks the last event of one kind. Two events are the same if their keys are equal.
#[derive(Clone, Debug)]
pub(super) struct EventTracker<K>(Option<Event<K>>);

#[derive(Clone, Debug)]
struct Event<K> {
    key: K,
    age: EventAge,
    /// The reading at which the event had this age.
    reading: ReadInterval,
}

impl<K> Default for EventTracker<K> {
    fn default() -> Self {
        Self(None)
    }
}

impl<K: PartialEq> EventTracker<K> {
    pub(super) fn last(&self) -> Option<&K> {
        self.0.as_ref().map(|event| &event.key)
    }

    /// Tracks the event of the current reading and derives its age.
    ///
    /// The stored time and the readings are two pieces of evidence for one event. If they contradict each other, a clock
    /// is wrong, and the stored time is ignored until the event happens again.
    pub(super) fn track(&mut self, key: K, stored: StoredTime, window: ObservationWindow) -> EventUpdate {
        let clock_error_before = self.0.as_ref().is_some_and(|last| last.age.source.is_clock_error());
        let (change, observed, source) = match (&self.0, window.previous) {
            (Some(last), _) if last.key == key => {
                let age = last.age.age.plus(window.current.since(last.reading));
                (EventChange::Unchanged, age, last.age.source)
            }
            (_, Some(previous)) => {
                let upper = window.current.since(previous).upper();
                let age = upper.map_or(Age::UNBOUNDED, |upper| Age::between(Duration::ZERO, upper));
                (EventChange::Changed, age, AgeSource::ChangeBetweenReadings)
            }
            (_, None) => (EventChange::Initial, Age::UNBOUNDED, AgeSource::FirstReading),
        };
        let lower_bound = |source| EventAge { age: Age::at_least(observed.lower()), source };
        let age = match stored {
            StoredTime::Missing => EventAge { age: observed, source },
            StoredTime::Future => lower_bound(AgeSource::FutureTime),
            StoredTime::Age(_) if source.is_clock_error() => lower_bound(AgeSource::ContradictedTime),
            StoredTime::Age(age) => match observed.intersection(age, window.tolerance) {
                Some(age) => EventAge { age, source: AgeSource::StoredTime },
                None => lower_bound(AgeSource::ContradictedTime),
            },
        };
        // An unchanged event without a stored time keeps its first bounds: adding to them at each reading would widen them.
        if change != EventChange::Unchanged || stored != StoredTime::Missing {
            self.0 = Some(Event { key, age, reading: window.current });
        }
        EventUpdate { change, age, clock_skew: age.source.is_clock_error() && !clock_error_before }
    }
}

/// Tracks the latest time among the members of a registry.
///
/// The latest time may belong to another member at each reading, and may go back when a record is deleted. So its age
/// depends on the stored time alone, and not on the readings between which it changed.
#[derive(Clone, Debug, Default)]
pub(super) struct LatestTime {
    /// The latest time of the last reading.
    pub(super) time: Option<StoreTime>,
    in_future: bool,
}

impl LatestTime {
    pub(super) fn track(&mut self, time: Option<StoreTime>, stored: StoredTime) -> EventUpdate {
        let before = std::mem::replace(&mut self.time, time);
        let in_future = stored == StoredTime::Future;
        let in_future_before = std::mem::replace(&mut self.in_future, in_future);
        let change = match before {
            None => EventChange::Initial,
            Some(_) if time > before => EventChange::Changed,
            Some(_) => EventChange::Unchanged,
        };
        EventUpdate { change, age: stored.event_age(), clock_skew: in_future && !in_future_before }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    const fn at(seconds: u64) -> ReadInterval {
        ReadInterval { start: s(seconds), end: s(seconds) }
    }

    fn window(now: u64, previous: Option<u64>) -> ObservationWindow {
        ObservationWindow { current: at(now), previous: previous.map(at), tolerance: s(2) }
    }

    #[test]
    fn a_cursor_has_no_upper_bound_until_it_changes_between_two_readings() {
        let mut tracker = EventTracker::default();
        let first = tracker.track('a', StoredTime::Missing, window(100, None));
        assert_eq!((first.change, first.age.age), (EventChange::Initial, Age::UNBOUNDED));
        assert_eq!(first.age.source, AgeSource::FirstReading);
        let second = tracker.track('a', StoredTime::Missing, window(200, Some(100)));
        let at_least = Age::at_least(Duration::from_millis(99_900));
        assert_eq!((second.change, second.age.age), (EventChange::Unchanged, at_least));
        let third = tracker.track('b', StoredTime::Missing, window(210, Some(200)));
        assert_eq!(third.change, EventChange::Changed);
        assert_eq!(third.age.age, Age::between(s(0), Duration::from_millis(10_010)));
        assert_eq!(third.age.source, AgeSource::ChangeBetweenReadings);
    }

    #[test]
    fn a_stored_time_that_contradicts_the_readings_is_ignored_until_the_event_happens_again() {
        let mut tracker = EventTracker::default();
        let exact = |seconds| StoredTime::Age(Age::exact(s(seconds)));
        tracker.track('a', exact(5), window(100, None));
        // The store's clock was set back by an hour: ten seconds later the event seems an hour younger.
        let EventUpdate { age, .. } = tracker.track('a', exact(0), window(110, Some(100)));
        assert_eq!(age.source, AgeSource::ContradictedTime);
        assert_eq!(age.age.upper(), None);
        let EventUpdate { age, .. } = tracker.track('a', exact(10), window(120, Some(110)));
        assert_eq!(age.source, AgeSource::ContradictedTime);
        assert!(age.age.lower() > s(24), "the readings still give a lower bound: {age:?}");
        let EventUpdate { age, .. } = tracker.track('b', exact(3), window(130, Some(120)));
        assert_eq!(age, EventAge { age: Age::exact(s(3)), source: AgeSource::StoredTime });
    }
}
