//! Tracks the leases of one source from reading to reading.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use super::LeaseTracker;
use super::context::ReadContext;
use crate::lease::anomaly::AnomalyCounts;
use crate::lease::evidence::{LeaseEvidence, ObservationFailure, RejectedRecords, SourceEvidence};
use crate::lease::label::RecordFault;
use crate::lease::policy::{Clock, LeaseKind, Rules};
use crate::lease::record::{LeaseRecord, Reading, RejectedRecord, StoreTime};
use crate::lease::token::TokenKey;

/// The state that is kept of one source between its readings.
#[derive(Debug)]
pub(in crate::lease) struct SourceTracker {
    rules: Rules,
    key: TokenKey,
    /// Boxed, because a map that is filled in the order of its keys leaves half of each node empty.
    leases: BTreeMap<Arc<str>, Box<TrackedLease>>,
}

#[derive(Debug, Default)]
struct TrackedLease {
    /// Named in the configuration, so that the lease is kept even without a record.
    expected: bool,
    tracker: LeaseTracker,
    anomalies: AnomalyCounts,
}

/// Why a lease with rejected records gives no evidence.
type Rejections<'a> = BTreeMap<&'a str, ObservationFailure>;

impl SourceTracker {
    /// The tracker of a source without readings. It keeps the expected leases even if they have no record.
    pub(in crate::lease) fn new(rules: Rules, key: TokenKey, expected: impl IntoIterator<Item = Arc<str>>) -> Self {
        let lease = |name| (name, Box::new(TrackedLease { expected: true, ..TrackedLease::default() }));
        Self { rules, key, leases: expected.into_iter().map(lease).collect() }
    }

    /// Takes over the leases of another tracker of the same source. A lease that only the other tracker expects, and that
    /// has no record, is removed.
    ///
    /// Both trackers must have the same rules and the same key.
    pub(in crate::lease) fn inherit(&mut self, other: &mut Self) {
        debug_assert_eq!(self.rules, other.rules, "the evidence depends on the rules");
        for (name, mut lease) in std::mem::take(&mut other.leases) {
            match self.leases.entry(name) {
                Entry::Occupied(mut expected) => {
                    lease.expected = true;
                    expected.insert(lease);
                }
                Entry::Vacant(_) if lease.expected && lease.tracker.is_absent() => {}
                Entry::Vacant(vacant) => {
                    lease.expected = false;
                    vacant.insert(lease);
                }
            }
        }
    }

    pub(in crate::lease) fn len(&self) -> usize {
        self.leases.len()
    }

    /// The tracked leases by name, with their anomalies.
    pub(in crate::lease) fn leases(&self) -> impl Iterator<Item = (&Arc<str>, AnomalyCounts)> {
        self.leases.iter().map(|(name, lease)| (name, lease.anomalies))
    }

    /// Relates a reading to the readings before it. Returns the evidence on every tracked lease.
    pub(in crate::lease) fn track(&mut self, mut reading: Reading) -> SourceEvidence {
        let records = &mut reading.records;
        if !records.accepted.is_sorted_by(|one, other| one.lease <= other.lease) {
            records.accepted.sort_by(|one, other| one.lease.cmp(&other.lease));
        }
        let mut rejected = RejectedRecords::default();
        rejected.add(RecordFault::OverLimit, records.over_limit, None);
        let mut rejections = Rejections::new();
        for RejectedRecord { lease, column, fault } in &records.rejected {
            rejected.add(*fault, 1, lease.as_ref());
            let Some(lease) = lease else { continue };
            let failure = match fault {
                RecordFault::OverLimit => ObservationFailure::MembersOverLimit,
                _ => ObservationFailure::InvalidRecord(*column),
            };
            rejections.insert(lease, failure);
        }

        // The store rejects records without a name, except for the one that only carries the clock.
        let unnamed = records.accepted.partition_point(|record| record.lease.is_none());
        let accepted = &records.accepted[unnamed..];
        self.add_leases(accepted, &rejections);
        self.remove_excess_leases(accepted, &rejections);
        let context = ReadContext {
            interval: reading.interval,
            store_now: reading.store_now,
            columns: reading.columns,
            rules: &self.rules,
            key: &self.key,
        };
        let mut leases_read = 0;
        let mut leases = Vec::with_capacity(self.leases.len());
        // Leases and records are both sorted by name and are walked side by side, without a look-up for each name.
        let mut groups = by_lease(accepted).peekable();
        for (name, lease) in &mut self.leases {
            let group = groups.next_if(|(group, _)| *group == name);
            let rejection = if rejections.is_empty() { None } else { rejections.remove(&**name) };
            leases_read += u64::from(group.is_some() || rejection.is_some());
            let state = match group.map(|(_, records)| (records.len(), RecordState::from_records(records, &context))) {
                Some((count, state @ RecordState::Unusable(ObservationFailure::DuplicateRecord))) => {
                    rejected.add(RecordFault::Duplicate, count as u64, Some(name));
                    state
                }
                // In a registry, an invalid record affects only its own member. Otherwise it may be the right one of two.
                Some((_, state)) => match rejection {
                    Some(failure)
                        if self.rules.kind != LeaseKind::Registry
                            || failure == ObservationFailure::MembersOverLimit =>
                    {
                        RecordState::Unusable(failure)
                    }
                    _ => state,
                },
                None => match rejection {
                    Some(failure) => RecordState::Unusable(failure),
                    // If leases were left out, those after the last lease that was kept may have a record.
                    None if records.last_kept.as_ref().is_some_and(|last| name > last) => {
                        RecordState::Unusable(ObservationFailure::LeaseOverLimit)
                    }
                    None => RecordState::Absent,
                },
            };
            let (observation, anomalies) = lease.tracker.track(&state, &context);
            anomalies.iter().for_each(|anomaly| lease.anomalies.increment(anomaly));
            leases.push(LeaseEvidence { lease: Arc::clone(name), observation, anomalies: lease.anomalies });
        }
        SourceEvidence { leases, leases_read, rejected }
    }

    fn add_leases(&mut self, accepted: &[LeaseRecord], rejections: &Rejections<'_>) {
        let mut tracked = self.leases.keys().peekable();
        let mut added: Vec<Arc<str>> = Vec::new();
        for (name, _) in by_lease(accepted) {
            while tracked.next_if(|other| *other < name).is_some() {}
            if tracked.next_if(|other| *other == name).is_none() {
                added.push(Arc::clone(name));
            }
        }
        added.extend(rejections.keys().filter(|name| !self.leases.contains_key(**name)).map(|name| Arc::from(*name)));
        for name in added {
            self.leases.entry(name).or_default();
        }
    }

    /// Removes leases over the limit: of those that are neither expected nor in the reading, the ones that were not
    /// observed for longest.
    fn remove_excess_leases(&mut self, accepted: &[LeaseRecord], rejections: &Rejections<'_>) {
        let excess = self.leases.len().saturating_sub(self.rules.max_leases);
        if excess == 0 {
            return;
        }
        let mut groups = by_lease(accepted).peekable();
        let mut removable = Vec::new();
        for (name, lease) in &self.leases {
            let in_reading = groups.next_if(|(group, _)| *group == name).is_some() || rejections.contains_key(&**name);
            if !in_reading && !lease.expected {
                removable.push((lease.tracker.last_observed.map(|reading| reading.end), Arc::clone(name)));
            }
        }
        removable.sort();
        for (_, name) in removable.into_iter().take(excess) {
            self.leases.remove(&name);
        }
    }
}

fn by_lease(records: &[LeaseRecord]) -> impl Iterator<Item = (&Arc<str>, &[LeaseRecord])> {
    let groups = records.chunk_by(|one, other| one.lease == other.lease);
    groups.filter_map(|group| Some((group.first()?.lease.as_ref()?, group)))
}

/// The record of one lease in a reading.
#[expect(clippy::large_enum_variant, reason = "nearly every lease has a record, which is usually borrowed")]
pub(super) enum RecordState<'a> {
    Absent,
    Present {
        record: Cow<'a, LeaseRecord>,
        /// In a registry, the holders of the other records that have not certainly expired.
        other_holders: Vec<&'a str>,
    },
    Unusable(ObservationFailure),
}

impl<'a> RecordState<'a> {
    /// Combines the records of one lease, of which there is at least one.
    ///
    /// In a registry, the result is the record with the latest expiry, with the latest progress of all records and the
    /// greatest amount of due work. Several records are unusable if the source has one holder at a time.
    pub(super) fn from_records(records: &'a [LeaseRecord], reading: &ReadContext<'_>) -> Self {
        if let [record] = records {
            return Self::Present { record: Cow::Borrowed(record), other_holders: Vec::new() };
        }
        let latest = records.iter().max_by_key(|record| (expiry(record), record.renewed_at));
        let (Some(latest), LeaseKind::Registry) = (latest, reading.rules.kind) else {
            return Self::Unusable(ObservationFailure::DuplicateRecord);
        };
        let progress = records.iter().max_by_key(|record| (record.progress_at, record.progress_epoch));
        let record = LeaseRecord {
            epoch: records.iter().filter_map(|record| record.epoch).max(),
            progress_at: progress.and_then(|record| record.progress_at),
            progress_epoch: progress.and_then(|record| record.progress_epoch),
            progress_cursor: records.iter().find_map(|record| record.progress_cursor.clone()),
            due: records.iter().filter_map(|record| record.due).max(),
            oldest_due_at: records.iter().filter_map(|record| record.oldest_due_at).min(),
            ..latest.clone()
        };
        let others = records.iter().filter(|record| !std::ptr::eq(*record, latest));
        let other_holders = others
            .filter(|record| !is_expired(record, reading))
            .filter_map(|record| record.holder.as_deref().filter(|holder| !holder.is_empty()))
            .collect();
        Self::Present { record: Cow::Owned(record), other_holders }
    }
}

/// When the lease of a record expires, according to its stored times alone.
fn expiry(record: &LeaseRecord) -> Option<StoreTime> {
    record.expires_at.or_else(|| Some(record.renewed_at?.plus(record.ttl?)))
}

/// Whether the lease of a record has certainly expired.
fn is_expired(record: &LeaseRecord, reading: &ReadContext<'_>) -> bool {
    let allowance = match reading.rules.clock {
        Clock::Store => Duration::ZERO,
        Clock::Holder => reading.rules.clock_skew,
    };
    expiry(record).is_some_and(|expiry| expiry.plus(allowance) <= reading.store_now)
}
