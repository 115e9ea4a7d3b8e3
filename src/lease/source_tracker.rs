//! What earlier readings of one source showed: the only thing that is kept between them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use super::age::At;
use super::evidence::{AnomalySet, UnknownCause};
use super::judge::judge;
use super::label::{Anomaly, ReadFailure, RecordFault};
use super::lease_tracker::{LeaseTracker, ReadContext, RecordState};
use super::policy::{Kind, Policies, Policy, Rules};
use super::record::{LeaseRecord, Reading, RejectedRecord};
use super::registry::merged;
use super::snapshot::{Health, RejectedRecords, SourceSnapshot};
use super::status::{Anomalies, Status};
use super::token::TokenKey;

/// What earlier readings of one source showed.
#[derive(Debug)]
pub struct SourceTracker {
    source: Arc<str>,
    rules: Rules,
    key: TokenKey,
    policies: Arc<dyn Policies>,
    /// Boxed, because a map that is filled in order leaves its nodes half empty.
    leases: BTreeMap<Arc<str>, Box<TrackedLease>>,
    failures: [u64; ReadFailure::ALL.len()],
    rejected: [u64; RecordFault::ALL.len()],
}

#[derive(Debug)]
struct TrackedLease {
    policy: Arc<Policy>,
    /// Named in the configuration, so never forgotten.
    expected: bool,
    recollection: LeaseTracker,
    anomalies: Anomalies,
}

impl SourceTracker {
    /// The memory of a source that was never read.
    #[must_use]
    pub fn new(source: Arc<str>, rules: Rules, key: TokenKey, policies: Arc<dyn Policies>) -> Self {
        let leases = policies.expected().into_iter().map(|lease| {
            let remembered = TrackedLease::new(policies.of(&lease), true);
            (lease, remembered)
        });
        Self {
            source,
            rules,
            key,
            leases: leases.collect(),
            policies,
            failures: Default::default(),
            rejected: Default::default(),
        }
    }

    /// Takes over what another memory of the same source knows, under the limits of this one. A lease that was named, is
    /// named no longer and has no record is forgotten.
    ///
    /// Both have to go by the same rules and the same key: what was remembered by others means something else.
    pub fn inherit(&mut self, from: &mut Self) {
        debug_assert_eq!(self.rules, from.rules, "what is remembered was seen by other rules");
        self.failures = from.failures;
        self.rejected = from.rejected;
        for (name, before) in std::mem::take(&mut from.leases) {
            match self.leases.entry(name) {
                Entry::Occupied(mut expected) => {
                    let TrackedLease { recollection, anomalies, .. } = *before;
                    let policy = Arc::clone(&expected.get().policy);
                    **expected.get_mut() = TrackedLease { policy, expected: true, recollection, anomalies };
                }
                Entry::Vacant(_) if before.expected && before.recollection.is_absent() => {}
                Entry::Vacant(vacant) => {
                    let policy = self.policies.of(vacant.key());
                    vacant.insert(Box::new(TrackedLease { policy, expected: false, ..*before }));
                }
            }
        }
    }

    /// Takes in a reading, whose snapshot was made at `at`, that took so long, and whose store's clock was `clock_offset`
    /// seconds ahead of the exporter's.
    pub fn take_in(&mut self, mut reading: Reading, at: At, took: Duration, clock_offset: f64) -> SourceSnapshot {
        if !reading.rows.is_sorted_by(|one, other| one.lease <= other.lease) {
            reading.rows.sort_by(|one, other| one.lease.cmp(&other.lease));
        }
        let mut rejected_now = RejectedRecords::default();
        rejected_now.count(RecordFault::OverLimit, reading.over_limit, None);
        let mut spoilt: BTreeMap<&str, UnknownCause> = BTreeMap::new();
        for RejectedRecord { lease, column, fault } in &reading.rejected {
            rejected_now.count(*fault, 1, lease.as_ref());
            match lease {
                Some(lease) if *fault == RecordFault::OverLimit => spoilt.insert(lease, UnknownCause::MembersLeftOut),
                Some(lease) => spoilt.insert(lease, UnknownCause::Record(*column)),
                None => None,
            };
        }

        // The store rejects rows without a name.
        let rows = &reading.rows[reading.rows.partition_point(|row| row.lease.is_none())..];
        self.remember(rows, &spoilt);
        let look = ReadContext {
            at,
            store_now: reading.store_now,
            columns: reading.columns,
            rules: &self.rules,
            key: &self.key,
        };
        let mut read = 0;
        let mut leases = Vec::with_capacity(self.leases.len());
        // Both are in the order of names, so they are walked side by side: no name is looked up.
        let mut rows = rows.chunk_by(|one, other| one.lease == other.lease).peekable();
        for (name, remembered) in &mut self.leases {
            let rows = rows.next_if(|rows| rows.first().and_then(|row| row.lease.as_ref()) == Some(name));
            let spoilt = if spoilt.is_empty() { None } else { spoilt.remove(&**name) };
            read += u64::from(rows.is_some() || spoilt.is_some());
            let merged = rows.map(|rows| (rows, merged(rows, look.store_now, look.rules)));
            let sight = match (&merged, spoilt) {
                // Of several holders a bad row costs itself alone; of one, it is not known which row is right.
                (Some((_, Some(_))), Some(why))
                    if look.rules.kind != Kind::Registry || why == UnknownCause::MembersLeftOut =>
                {
                    RecordState::Unusable(why)
                }
                (Some((_, Some(merged))), _) => RecordState::LeaseRecord(&merged.row, &merged.others),
                (Some((rows, None)), _) => {
                    rejected_now.count(RecordFault::Duplicate, rows.len() as u64, Some(name));
                    RecordState::Unusable(UnknownCause::Duplicate)
                }
                (None, Some(why)) => RecordState::Unusable(why),
                // Where leases were left out, those that come after the last one that was kept may be there all the same.
                (None, None) if reading.last_kept.as_ref().is_some_and(|last| name > last) => {
                    RecordState::Unusable(UnknownCause::LeftOut)
                }
                (None, None) => RecordState::Absent,
            };
            leases.push(remembered.status(name, sight, &look));
        }
        for fault in RecordFault::ALL {
            self.rejected[fault as usize] += rejected_now.rows(fault);
        }
        SourceSnapshot {
            source: Arc::clone(&self.source),
            kind: self.rules.kind,
            health: Health {
                outcome: Ok(()),
                took,
                leases: Some(read),
                clock_offset: Some(clock_offset),
                failures: self.failures,
                rejected: self.rejected,
                rejected_now,
            },
            leases,
        }
    }

    /// Begins to remember the leases of a reading that are new, and forgets those that are one too many: of the leases
    /// that are not in the reading the longest gone first, and never one that the configuration names.
    fn remember(&mut self, rows: &[LeaseRecord], spoilt: &BTreeMap<&str, UnknownCause>) {
        let new = {
            let mut known = self.leases.keys().peekable();
            let names =
                rows.chunk_by(|one, other| one.lease == other.lease).filter_map(|rows| rows.first()?.lease.as_ref());
            let mut new: Vec<Arc<str>> = Vec::new();
            for name in names {
                while known.next_if(|other| *other < name).is_some() {}
                if known.next_if(|other| *other == name).is_none() {
                    new.push(Arc::clone(name));
                }
            }
            new.extend(spoilt.keys().filter(|name| !self.leases.contains_key(**name)).map(|name| Arc::from(*name)));
            new
        };
        for name in new {
            let policy = self.policies.of(&name);
            self.leases.entry(name).or_insert_with(|| TrackedLease::new(policy, false));
        }
        let excess = self.leases.len().saturating_sub(self.rules.max_leases);
        if excess == 0 {
            return;
        }
        let mut rows = rows.chunk_by(|one, other| one.lease == other.lease).peekable();
        let mut gone = Vec::new();
        for (name, remembered) in &self.leases {
            let present = rows.next_if(|rows| rows.first().and_then(|row| row.lease.as_ref()) == Some(name)).is_some()
                || spoilt.contains_key(&**name);
            if !present && !remembered.expected {
                gone.push((remembered.recollection.last_seen().map(|at| at.ended), Arc::clone(name)));
            }
        }
        gone.sort();
        for (_, name) in gone.into_iter().take(excess) {
            self.leases.remove(&name);
        }
    }

    /// Counts a read that failed and says of every lease that it could not be looked at. Nothing of an earlier reading is
    /// shown.
    pub fn failed(&mut self, failure: ReadFailure, took: Duration) -> SourceSnapshot {
        self.failures[failure as usize] += 1;
        self.unread(failure, took)
    }

    /// How many leases are known.
    #[must_use]
    pub fn leases(&self) -> usize {
        self.leases.len()
    }

    /// The leases that are known, without anything known of them.
    #[must_use]
    pub fn unread(&self, failure: ReadFailure, took: Duration) -> SourceSnapshot {
        let leases = self.leases.iter().map(|(lease, remembered)| {
            Status::unread(Arc::clone(lease), failure, Arc::clone(&remembered.policy), remembered.anomalies)
        });
        SourceSnapshot {
            source: Arc::clone(&self.source),
            kind: self.rules.kind,
            health: Health::failed(failure, took, self.failures, self.rejected),
            leases: leases.collect(),
        }
    }
}

impl TrackedLease {
    fn new(policy: Arc<Policy>, expected: bool) -> Box<Self> {
        Box::new(Self { policy, expected, recollection: LeaseTracker::default(), anomalies: Anomalies::default() })
    }

    fn status(&mut self, lease: &Arc<str>, sight: RecordState<'_>, look: &ReadContext<'_>) -> Status {
        let mut noticed = AnomalySet::default();
        let observation = self.recollection.see(sight, look, &mut noticed);
        for anomaly in Anomaly::ALL {
            if noticed[anomaly as usize] {
                self.anomalies.count(anomaly);
            }
        }
        Status {
            lease: Arc::clone(lease),
            verdict: judge(&observation, look.rules.kind, &self.policy),
            observation,
            policy: Arc::clone(&self.policy),
            anomalies: self.anomalies,
        }
    }
}

#[cfg(test)]
mod tests;
