//! The snapshot of a source, and the status of each of its leases.

use std::sync::Arc;
use std::time::Duration;

use super::anomaly::AnomalyCounts;
use super::evidence::{AuthorityEvidence, Evidence, Holder, Observation, ObservationFailure, RejectedRecords};
use super::judge::Verdict;
use super::label::{ReadFailure, RecordFault};
use super::policy::{LeaseKind, Policy};
use super::record::Epoch;

/// The result of one reading of a source, from which the metrics, the JSON, the page and the table are rendered.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceSnapshot {
    /// The source's name.
    pub source: Arc<str>,
    /// The kind of the leases of the source.
    pub kind: LeaseKind,
    /// The outcome of the reading and the counters of the source.
    pub health: Health,
    /// The leases, by name.
    pub leases: Vec<Status>,
}

impl SourceSnapshot {
    /// The same leases, every one unknown, for a request that cannot wait for the next reading.
    #[must_use]
    pub fn unread(&self, failure: ReadFailure, duration: Duration) -> Self {
        let unread = |status: &Status| {
            Status::unread(Arc::clone(&status.lease), failure, Arc::clone(&status.policy), status.anomalies)
        };
        Self {
            source: Arc::clone(&self.source),
            kind: self.kind,
            health: Health::failed(failure, duration, self.health.failures, self.health.rejected),
            leases: self.leases.iter().map(unread).collect(),
        }
    }
}

/// The outcome of a reading and the counters of its source.
#[derive(Clone, Debug, PartialEq)]
pub struct Health {
    /// Why the source could not be read, if it could not.
    pub outcome: Result<(), ReadFailure>,
    /// How long the read took.
    pub duration: Duration,
    /// How many leases had a record; `None` if the read failed.
    pub leases: Option<u64>,
    /// The store's clock minus the exporter's, in seconds; `None` if the read failed.
    pub clock_offset: Option<f64>,
    /// Failed reads since the exporter started, by [`ReadFailure`].
    pub failures: [u64; ReadFailure::ALL.len()],
    /// Rejected records since the exporter started, by [`RecordFault`].
    pub rejected: [u64; RecordFault::ALL.len()],
    /// The rejected records of this reading.
    pub rejected_now: RejectedRecords,
}

impl Health {
    pub(super) fn failed(
        failure: ReadFailure,
        duration: Duration,
        failures: [u64; ReadFailure::ALL.len()],
        rejected: [u64; RecordFault::ALL.len()],
    ) -> Self {
        let rejected_now = RejectedRecords::default();
        Self { outcome: Err(failure), duration, leases: None, clock_offset: None, failures, rejected, rejected_now }
    }

    /// How long the read took, if it succeeded.
    #[must_use]
    pub fn read_duration(&self) -> Option<Duration> {
        self.outcome.ok().map(|()| self.duration)
    }
}

/// The status of one lease: its verdict with the evidence and the policy that led to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The lease's name.
    pub lease: Arc<str>,
    /// Authority, progress, state and reason.
    pub verdict: Verdict,
    /// The evidence, or why there is none.
    pub observation: Observation,
    /// The policy of the lease.
    pub policy: Arc<Policy>,
    /// The anomalies since the exporter started.
    pub anomalies: AnomalyCounts,
}

impl Status {
    /// The status of a lease whose source could not be read.
    #[must_use]
    pub const fn unread(lease: Arc<str>, failure: ReadFailure, policy: Arc<Policy>, anomalies: AnomalyCounts) -> Self {
        let failure = ObservationFailure::Source(failure);
        Self { lease, verdict: Verdict::unobserved(failure), observation: Err(failure), policy, anomalies }
    }

    /// The evidence, if there is any.
    #[must_use]
    pub fn evidence(&self) -> Option<&Evidence> {
        self.observation.as_ref().ok()
    }

    /// The holder, if the record names one.
    #[must_use]
    pub fn holder(&self) -> Option<&Holder> {
        match &self.evidence()?.authority {
            AuthorityEvidence::Holder(holder) => Some(holder),
            AuthorityEvidence::Vacant { .. } => None,
        }
    }

    /// The authority epoch in force, or the last epoch of a released lease.
    #[must_use]
    pub fn epoch(&self) -> Option<Epoch> {
        match &self.evidence()?.authority {
            AuthorityEvidence::Vacant { epoch, .. } => *epoch,
            AuthorityEvidence::Holder(holder) => holder.epoch,
        }
    }
}
