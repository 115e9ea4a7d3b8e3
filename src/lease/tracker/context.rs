//! The current reading, as the trackers of one lease see it.

use std::time::Duration;

use crate::lease::age::{Age, ReadInterval};
use crate::lease::evidence::{AgeSource, EventAge};
use crate::lease::policy::{Clock, LeaseKind, Rules};
use crate::lease::record::{Columns, Epoch, LeaseRecord, StoreTime};
use crate::lease::token::TokenKey;

/// The parts of a reading that are the same for all its leases.
pub(super) struct ReadContext<'a> {
    pub(super) interval: ReadInterval,
    pub(super) store_now: StoreTime,
    pub(super) columns: Columns,
    pub(super) rules: &'a Rules,
    pub(super) key: &'a TokenKey,
}

/// The record of one lease in its reading.
pub(super) struct RecordContext<'a> {
    pub(super) record: &'a LeaseRecord,
    /// In a registry, the holders of the other records that have not certainly expired.
    pub(super) other_holders: &'a [&'a str],
    pub(super) reading: &'a ReadContext<'a>,
    pub(super) window: ObservationWindow,
    /// The epoch of the last reading that showed one.
    pub(super) previous_epoch: Option<Epoch>,
}

/// The time between the current reading of a lease and the one before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ObservationWindow {
    pub(super) current: ReadInterval,
    /// The last reading in which the lease was observed, if there is one.
    pub(super) previous: Option<ReadInterval>,
    /// The difference that is allowed between two clocks.
    pub(super) tolerance: Duration,
}

/// The age of an event according to a time in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoredTime {
    /// There is no time in the store.
    Missing,
    /// The age of the event.
    Age(Age),
    /// The time is in the future by more than the allowed clock skew.
    Future,
}

impl StoredTime {
    /// Compares a time in the store with the store's clock in the same snapshot.
    pub(super) fn new(time: Option<StoreTime>, store_now: StoreTime, rules: &Rules) -> Self {
        let Some(time) = time else { return Self::Missing };
        let micros = store_now.micros_since(time);
        let distance = Duration::from_micros(micros.unsigned_abs());
        let skew = rules.clock_skew;
        match (micros >= 0, rules.clock) {
            (false, _) if distance > skew => Self::Future,
            (false, _) => Self::Age(Age::between(Duration::ZERO, skew - distance)),
            (true, Clock::Store) => Self::Age(Age::exact(distance)),
            (true, Clock::Holder) => Self::Age(Age::between(distance.saturating_sub(skew), distance + skew)),
        }
    }

    /// The age of an event whose age depends on its stored time alone.
    pub(super) const fn event_age(self) -> EventAge {
        match self {
            Self::Age(age) => EventAge { age, source: AgeSource::StoredTime },
            Self::Missing => EventAge { age: Age::UNBOUNDED, source: AgeSource::FirstReading },
            Self::Future => EventAge { age: Age::UNBOUNDED, source: AgeSource::FutureTime },
        }
    }
}

impl RecordContext<'_> {
    pub(super) fn stored_time(&self, time: Option<StoreTime>) -> StoredTime {
        StoredTime::new(time, self.reading.store_now, self.reading.rules)
    }

    pub(super) const fn columns(&self) -> Columns {
        self.reading.columns
    }

    pub(super) fn is_registry(&self) -> bool {
        self.reading.rules.kind == LeaseKind::Registry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_time_becomes_an_age_that_depends_on_whose_clock_wrote_it() {
        let s = Duration::from_secs;
        let time = |seconds| StoreTime::from_unix_seconds(seconds).ok();
        let now = StoreTime::from_unix_seconds(1_000).unwrap();
        let rules = |clock| Rules {
            kind: LeaseKind::Standing,
            clock,
            clock_skew: s(2),
            max_leases: 1,
            resolution: Duration::ZERO,
        };
        for (clock, at, stored) in [
            (Clock::Store, None, StoredTime::Missing),
            (Clock::Store, time(990), StoredTime::Age(Age::exact(s(10)))),
            (Clock::Store, time(1_001), StoredTime::Age(Age::between(s(0), s(1)))),
            (Clock::Store, time(1_003), StoredTime::Future),
            (Clock::Holder, time(990), StoredTime::Age(Age::between(s(8), s(12)))),
            (Clock::Holder, time(999), StoredTime::Age(Age::between(s(0), s(3)))),
            (Clock::Holder, time(1_001), StoredTime::Age(Age::between(s(0), s(1)))),
            (Clock::Holder, time(1_003), StoredTime::Future),
        ] {
            assert_eq!(StoredTime::new(at, now, &rules(clock)), stored, "{clock} {at:?}");
        }
    }
}
