//! The status of one lease.

use std::sync::Arc;

use super::anomaly::AnomalyCounts;
use super::evidence::{AuthorityEvidence, Evidence, Holder, Observation, ObservationFailure};
use super::judge::Verdict;
use super::label::ReadFailure;
use super::policy::Policy;
use super::record::Epoch;

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
    pub const fn evidence(&self) -> Option<&Evidence> {
        match &self.observation {
            Ok(evidence) => Some(evidence),
            Err(_) => None,
        }
    }

    /// The holder, if the record names one.
    #[must_use]
    pub const fn holder(&self) -> Option<&Holder> {
        match &self.observation {
            Ok(Evidence { authority: AuthorityEvidence::Holder(holder), .. }) => Some(holder),
            _ => None,
        }
    }

    /// The authority epoch in force, or the last epoch of a released lease.
    #[must_use]
    pub const fn epoch(&self) -> Option<Epoch> {
        match &self.observation {
            Ok(Evidence { authority: AuthorityEvidence::Vacant { epoch, .. }, .. }) => *epoch,
            Ok(Evidence { authority: AuthorityEvidence::Holder(holder), .. }) => holder.epoch,
            Err(_) => None,
        }
    }
}
