//! The tracker: relates a reading to the readings before it, and returns the evidence on each lease.
//!
//! `SourceTracker` tracks the leases of one source, and a `LeaseTracker` each of them: its authority, its progress and
//! its due work. A change between two readings bounds the time of an event, and a time in the store dates it. The tracker
//! knows no policy and does not call the judge.

mod authority;
mod context;
mod event;
mod progress;
mod source;

use super::age::ReadInterval;
use super::anomaly::AnomalySet;
use super::evidence::{Due, Evidence, Observation, Progress};
use super::policy::Rules;
use super::record::LeaseRecord;
use authority::AuthorityTracker;
use context::{ObservationWindow, ReadContext, RecordContext};
use progress::ProgressTracker;
use source::RecordState;

pub(super) use source::SourceTracker;

#[derive(Clone, Debug, Default)]
struct LeaseTracker {
    /// The last reading in which the lease was observed.
    last_observed: Option<ReadInterval>,
    authority: AuthorityTracker,
    progress: ProgressTracker,
}

impl LeaseTracker {
    /// Whether the lease has no record, or was never observed.
    fn is_absent(&self) -> bool {
        self.last_observed.is_none() || self.authority.is_absent()
    }

    /// Relates the record of the current reading to the earlier ones. Returns the evidence and this reading's anomalies.
    fn track(&mut self, state: &RecordState<'_>, reading: &ReadContext<'_>) -> (Observation, AnomalySet) {
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
        let previous_epoch = self.authority.epoch;
        let lease = RecordContext { record, other_holders, reading, window, previous_epoch };
        let mut anomalies = AnomalySet::default();
        let authority = self.authority.track(&lease, &mut anomalies);
        let progress = self.progress.track(&lease, &authority, &mut anomalies);
        self.last_observed = Some(reading.interval);
        let renewals_since_progress = match progress {
            Progress::NotReported => None,
            _ => Some(self.progress.renewals_since_progress),
        };
        let authority = authority.evidence;
        (Ok(Evidence { authority, progress, due: due(&lease), renewals_since_progress }), anomalies)
    }
}

fn due(lease: &RecordContext<'_>) -> Due {
    let oldest_at = lease.record.oldest_due_at;
    let oldest = oldest_at.map(|_| lease.stored_time(oldest_at).event_age());
    match (lease.record.due, oldest) {
        (Some(0), _) => Due::Nothing,
        (None, None) => Due::NotKnown,
        (count, oldest) => Due::Waiting { count, oldest, oldest_at },
    }
}
