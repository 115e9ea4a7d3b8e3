//! Tracks the progress of the work under a lease.

use std::cmp::Ordering;

use super::authority::AuthorityUpdate;
use super::context::{RecordContext, StoredTime};
use super::event::{EventChange, EventTracker, LatestTime};
use crate::lease::age::Truth;
use crate::lease::anomaly::AnomalySet;
use crate::lease::evidence::{AgeSource, AuthorityEvidence, EventAge, Progress, ProgressEpoch};
use crate::lease::label::{Anomaly, Column};
use crate::lease::policy::LeaseKind;
use crate::lease::record::{Cursor, Epoch, StoreTime};

/// Two progress marks are equal if their cursors are equal. Marks without a cursor are compared by time.
#[derive(Clone, Debug, PartialEq)]
enum ProgressKey {
    Cursor(Cursor, Option<Epoch>),
    Time(Option<StoreTime>, Option<Epoch>),
}

/// Tracks the last progress of one lease.
#[derive(Clone, Debug, Default)]
pub(super) struct ProgressTracker {
    progress: EventTracker<ProgressKey>,
    stored_at: Option<StoreTime>,
    /// In a registry, the latest progress of any member.
    latest_progress: LatestTime,
    /// Whether the last progress happened between two readings that both showed the current acquisition.
    under_current_acquisition: bool,
    pub(super) renewals_since_progress: u64,
}

impl ProgressTracker {
    /// Tracks the progress of the current reading, and adds its anomalies.
    pub(super) fn track(
        &mut self,
        lease: &RecordContext<'_>,
        authority: &AuthorityUpdate,
        anomalies: &mut AnomalySet,
    ) -> Progress {
        self.renewals_since_progress += u64::from(authority.renewed);
        self.under_current_acquisition &= authority.same_acquisition;
        if !lease.columns().has_progress() {
            return Progress::NotReported;
        }
        if lease.is_registry() {
            return self.track_registry(lease, anomalies);
        }
        let record = lease.record;
        let mut time = record.progress_at;
        let key = match (&record.progress_cursor, time, record.progress_epoch, self.progress.last()) {
            (None, None, None, None) => return Progress::Never,
            // A store may delete the records of finished work. The time of the last progress stays valid.
            (None, None, None, Some(key @ ProgressKey::Time(last, None))) => {
                time = *last;
                key.clone()
            }
            // Progress cannot be undone, so a record that no longer shows it is incomplete.
            (None, None, _, _) => return Progress::Incomplete,
            (Some(cursor), _, epoch, _) => ProgressKey::Cursor(cursor.clone(), epoch),
            (None, time, epoch, _) => ProgressKey::Time(time, epoch),
        };
        // If the cursor is unchanged, a new time does not date the progress.
        let ignores_time = matches!(key, ProgressKey::Cursor(..))
            && self.progress.last().is_some_and(|last| *last == key)
            && self.stored_at != time;
        let stored = if ignores_time { StoredTime::Missing } else { lease.stored_time(time) };
        let event = self.progress.track(key, stored, lease.window);
        if !ignores_time {
            self.stored_at = time;
        }
        if event.change != EventChange::Unchanged {
            self.renewals_since_progress = 0;
        }
        if event.change == EventChange::Changed {
            self.under_current_acquisition = authority.same_acquisition;
        }
        anomalies.insert_if(Anomaly::ClockSkew, event.clock_skew);
        let relation = epoch_relation(lease, &authority.evidence, event.age, self.under_current_acquisition);
        let Some(epoch_relation) = relation else { return Progress::Incomplete };
        let from_stale_epoch = event.change == EventChange::Changed
            && epoch_relation == ProgressEpoch::Earlier
            && record.progress_epoch.is_some()
            && lease.previous_epoch == record.epoch;
        anomalies.insert_if(Anomaly::ProgressFromStaleEpoch, from_stale_epoch);
        Progress::Made { age: event.age, epoch: record.progress_epoch, epoch_relation, stored_at: self.stored_at }
    }

    /// The progress of a registry is the latest of its members. Their cursors cannot be compared with each other.
    fn track_registry(&mut self, lease: &RecordContext<'_>, anomalies: &mut AnomalySet) -> Progress {
        let record = lease.record;
        let has_time_only = record.progress_cursor.is_none() && record.progress_epoch.is_none();
        let Some(time) = record.progress_at.or_else(|| self.latest_progress.time.filter(|_| has_time_only)) else {
            return if has_time_only { Progress::Never } else { Progress::Incomplete };
        };
        let event = self.latest_progress.track(Some(time), lease.stored_time(Some(time)));
        if event.change != EventChange::Unchanged {
            self.renewals_since_progress = 0;
        }
        anomalies.insert_if(Anomaly::ClockSkew, event.clock_skew);
        Progress::Made {
            age: event.age,
            epoch: record.progress_epoch,
            epoch_relation: ProgressEpoch::Current,
            stored_at: Some(time),
        }
    }
}

/// Compares the epoch of the progress with the epoch in force. The result is `None` if the record leaves one of them NULL.
fn epoch_relation(
    lease: &RecordContext<'_>,
    authority: &AuthorityEvidence,
    progress: EventAge,
    under_current_acquisition: bool,
) -> Option<ProgressEpoch> {
    let AuthorityEvidence::Holder(holder) = authority else { return Some(ProgressEpoch::Unattributed) };
    let (record, columns) = (lease.record, lease.columns());
    if columns.has(Column::ProgressEpoch) && columns.has(Column::Epoch) {
        return Some(match record.progress_epoch?.cmp(&record.epoch?) {
            Ordering::Less => ProgressEpoch::Earlier,
            Ordering::Equal => ProgressEpoch::Current,
            Ordering::Greater => ProgressEpoch::Later,
        });
    }
    let distinguishes_acquisitions = columns.has(Column::AcquiredAt) || columns.has(Column::Epoch);
    let is_claim = lease.reading.rules.kind == LeaseKind::Claim;
    if !distinguishes_acquisitions && (!columns.has(Column::Holder) || is_claim) {
        // The source does not distinguish one holder from the next, or each run continues the work of the run before.
        return Some(ProgressEpoch::Current);
    }
    if under_current_acquisition {
        return Some(ProgressEpoch::Current);
    }
    // Progress without an epoch is the current holder's if it was certainly made after the acquisition.
    let acquired = holder.acquired;
    let is_unreliable = progress.source == AgeSource::FutureTime || acquired.source.is_clock_error();
    Some(match acquired.age.upper() {
        _ if is_unreliable => ProgressEpoch::Unattributed,
        _ if progress.age.surely_after(acquired.age) => ProgressEpoch::Current,
        Some(upper) if progress.age.exceeds(upper) == Truth::True => ProgressEpoch::Earlier,
        _ => ProgressEpoch::Unattributed,
    })
}
