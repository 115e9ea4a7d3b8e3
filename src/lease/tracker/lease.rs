//! Tracks one lease from reading to reading.

use super::authority::AuthorityTracker;
use super::context::{ObservationWindow, ReadContext, RecordContext};
use super::progress::ProgressTracker;
use super::record_state::RecordState;
use crate::lease::age::ReadInterval;
use crate::lease::anomaly::AnomalySet;
use crate::lease::evidence::{Due, Evidence, Observation, Progress};
use crate::lease::policy::Rules;
use crate::lease::record::LeaseRecord;

/// Tracks the authority and the progress of one lease.
#[derive(Clone, Debug, Default)]
pub(super) struct LeaseTracker {
    /// The last reading in which the lease was observed.
    last_observed: Option<ReadInterval>,
    authority: AuthorityTracker,
    progress: ProgressTracker,
}

impl LeaseTracker {
    /// The last reading in which the lease was observed.
    pub(super) const fn last_observed(&self) -> Option<ReadInterval> {
        self.last_observed
    }

    /// Whether the lease has no record, or was never observed.
    pub(super) fn is_absent(&self) -> bool {
        self.last_observed.is_none() || self.authority.is_absent()
    }

    /// Relates the record of the current reading to the earlier ones. Returns the evidence and this reading's anomalies.
    pub(super) fn track(&mut self, state: &RecordState<'_>, reading: &ReadContext<'_>) -> (Observation, AnomalySet) {
        let no_record = LeaseRecord::default();
        let (record, other_holders) = match state {
            RecordState::Unusable(failure) => return (Err(*failure), AnomalySet::default()),
            RecordState::Absent => (&no_record, &[][..]),
            RecordState::Present { record, other_holders } => (&**record, &**other_holders),
        };
        let window = ObservationWindow {
            current: reading.interval,
            previous: self.last_observed,
            tolerance: reading.rules.clock_skew.max(Rules::RESOLUTION),
        };
        let previous_epoch = self.authority.epoch();
        let lease = RecordContext { record, other_holders, reading, window, previous_epoch };
        let authority = self.authority.track(&lease);
        let progress = self.progress.track(&lease, &authority);
        self.last_observed = Some(reading.interval);
        let renewals_since_progress = match progress.progress {
            Progress::NotReported => None,
            _ => Some(self.progress.renewals_since_progress()),
        };
        let anomalies = authority.anomalies.union(progress.anomalies);
        let (authority, progress) = (authority.evidence, progress.progress);
        (Ok(Evidence { authority, progress, due: due(&lease), renewals_since_progress }), anomalies)
    }
}

/// The due work of a record.
fn due(lease: &RecordContext<'_>) -> Due {
    let oldest_at = lease.record.oldest_due_at;
    let oldest = oldest_at.map(|_| lease.stored_time(oldest_at).event_age());
    match (lease.record.due, oldest) {
        (Some(0), _) => Due::Nothing,
        (None, None) => Due::NotKnown,
        (count, oldest) => Due::Waiting { count, oldest, oldest_at },
    }
}
