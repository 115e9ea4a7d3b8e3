//! One thing that happens again and again to a lease, followed from reading to reading.

use std::time::Duration;

use super::age::{Age, At};
use super::evidence::{AgeSource, DatedAge};
use super::policy::{Clock, Rules};
use super::record::StoreTime;

/// What a stored time says of how long ago something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoredTime {
    /// Nothing: there is no such time.
    Unstated,
    /// This.
    Age(Age),
    /// It lies in the future, beyond what clocks may differ.
    Future,
}

impl StoredTime {
    /// Judges a stored time against the store's clock in the same snapshot.
    pub(super) fn of(at: Option<StoreTime>, store_now: StoreTime, rules: &Rules) -> Self {
        let Some(at) = at else { return Self::Unstated };
        let micros = store_now.micros_since(at);
        let distance = Duration::from_micros(micros.unsigned_abs());
        let skew = rules.clock_skew;
        match (micros >= 0, rules.clock) {
            (false, _) if distance > skew => Self::Future,
            (false, _) => Self::Age(Age::between(Duration::ZERO, skew - distance)),
            (true, Clock::Store) => Self::Age(Age::exact(distance)),
            (true, Clock::Holder) => Self::Age(Age::between(distance.saturating_sub(skew), distance + skew)),
        }
    }
}

/// When a lease is being looked at, and when it last was.
#[derive(Clone, Copy, Debug)]
pub(super) struct ObservationWindow {
    /// This reading.
    pub(super) at: At,
    /// The last reading that showed this lease, if there was one.
    pub(super) previous: Option<At>,
    /// How far two clocks may differ and both be believed.
    pub(super) tolerance: Duration,
}

/// How an event of this reading stands to the one known before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// The lease was not watched before, so nothing can be said.
    First,
    /// It is the same.
    Same,
    /// It is another, so it happened between the two readings.
    Moved,
}

/// The last such event, identified by `key`, and its age at the reading `at`.
#[derive(Clone, Debug)]
pub(super) struct TrackedEvent<K> {
    key: K,
    dated: DatedAge,
    at: At,
}

impl<K> TrackedEvent<K> {
    /// What identifies the event.
    pub(super) const fn key(&self) -> &K {
        &self.key
    }

    /// Whether its stored time was found to be wrong.
    pub(super) fn is_suspect(&self) -> bool {
        self.dated.basis.is_suspect()
    }
}

impl<K: PartialEq> TrackedEvent<K> {
    /// Takes in what this reading shows of the event and says how long ago it happened.
    ///
    /// A stored time and what was watched are two pieces of evidence for one event. Where they contradict each other, a
    /// clock is wrong: the stored time is then left out of account until the event happens again.
    pub(super) fn observe(
        slot: &mut Option<Self>,
        key: K,
        stored: StoredTime,
        watch: ObservationWindow,
    ) -> (Change, DatedAge) {
        let (change, watched, basis) = match (&*slot, watch.previous) {
            (Some(last), _) if last.key == key => {
                (Change::Same, last.dated.age.grown(watch.at.since(last.at)), last.dated.basis)
            }
            (_, Some(previous)) => {
                let since = watch.at.since(previous);
                (Change::Moved, Age::between(Duration::ZERO, since.at_most), AgeSource::SeenToChange)
            }
            (_, None) => (Change::First, Age::UNBOUNDED, AgeSource::FirstSeen),
        };
        let only_watched = |basis| DatedAge { age: Age::at_least(watched.lower()), basis };
        let dated = match stored {
            StoredTime::Unstated => DatedAge { age: watched, basis },
            StoredTime::Future => only_watched(AgeSource::Future),
            StoredTime::Age(_) if basis.is_suspect() => only_watched(AgeSource::Contradicted),
            StoredTime::Age(age) => match watched.reconciled(age, watch.tolerance) {
                Some(age) => DatedAge { age, basis: AgeSource::Stored },
                None => only_watched(AgeSource::Contradicted),
            },
        };
        // An event that only grew older keeps its first bounds: growing them anew each time would widen them.
        if change != Change::Same || stored != StoredTime::Unstated {
            *slot = Some(Self { key, dated, at: watch.at });
        }
        (change, dated)
    }
}

#[cfg(test)]
mod tests {
    use super::super::policy::Kind;
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    const fn at(seconds: u64) -> At {
        At { began: s(seconds), ended: s(seconds) }
    }

    fn watch(now: u64, previous: Option<u64>) -> ObservationWindow {
        ObservationWindow { at: at(now), previous: previous.map(at), tolerance: s(2) }
    }

    #[test]
    fn stored_times_become_ages_by_whose_clock_wrote_them() {
        let time = |seconds| StoreTime::from_unix_seconds(seconds).ok();
        let now = StoreTime::from_unix_seconds(1_000).unwrap();
        let rules =
            |clock| Rules { kind: Kind::Standing, clock, clock_skew: s(2), max_leases: 1, resolution: Duration::ZERO };
        for (clock, at, stored) in [
            (Clock::Store, None, StoredTime::Unstated),
            (Clock::Store, time(990), StoredTime::Age(Age::exact(s(10)))),
            (Clock::Store, time(1_001), StoredTime::Age(Age::between(s(0), s(1)))),
            (Clock::Store, time(1_003), StoredTime::Future),
            (Clock::Holder, time(990), StoredTime::Age(Age::between(s(8), s(12)))),
            (Clock::Holder, time(999), StoredTime::Age(Age::between(s(0), s(3)))),
            (Clock::Holder, time(1_001), StoredTime::Age(Age::between(s(0), s(1)))),
            (Clock::Holder, time(1_003), StoredTime::Future),
        ] {
            assert_eq!(StoredTime::of(at, now, &rules(clock)), stored, "{clock} {at:?}");
        }
    }

    #[test]
    fn a_cursor_is_unbounded_at_first_then_grows_and_is_bounded_once_seen_to_change() {
        let mut slot = None;
        let (change, dated) = TrackedEvent::observe(&mut slot, 'a', StoredTime::Unstated, watch(100, None));
        assert_eq!((change, dated.age, dated.basis), (Change::First, Age::UNBOUNDED, AgeSource::FirstSeen));
        let (change, dated) = TrackedEvent::observe(&mut slot, 'a', StoredTime::Unstated, watch(200, Some(100)));
        assert_eq!((change, dated.age), (Change::Same, Age::at_least(Duration::from_millis(99_900))));
        let (change, dated) = TrackedEvent::observe(&mut slot, 'b', StoredTime::Unstated, watch(210, Some(200)));
        assert_eq!(change, Change::Moved);
        assert_eq!(dated.age, Age::between(s(0), Duration::from_millis(10_010)));
        assert_eq!(dated.basis, AgeSource::SeenToChange);
    }

    #[test]
    fn a_stored_time_that_contradicts_what_was_watched_is_left_out_until_the_event_happens_again() {
        let mut slot = None;
        let exact = |seconds| StoredTime::Age(Age::exact(s(seconds)));
        TrackedEvent::observe(&mut slot, 'a', exact(5), watch(100, None));
        // The store's clock was set back by an hour: ten seconds later the event looks an hour younger.
        let (_, dated) = TrackedEvent::observe(&mut slot, 'a', exact(0), watch(110, Some(100)));
        assert_eq!(dated.basis, AgeSource::Contradicted);
        assert_eq!(dated.age.upper(), None);
        let (_, dated) = TrackedEvent::observe(&mut slot, 'a', exact(10), watch(120, Some(110)));
        assert_eq!(dated.basis, AgeSource::Contradicted);
        assert!(dated.age.lower() > s(24), "watching alone still bounds it from below: {dated:?}");
        let (_, dated) = TrackedEvent::observe(&mut slot, 'b', exact(3), watch(130, Some(120)));
        assert_eq!(dated, DatedAge { age: Age::exact(s(3)), basis: AgeSource::Stored });
    }
}
