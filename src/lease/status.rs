//! One lease as it is shown.

use std::sync::Arc;

use super::evidence::{Evidence, HolderEvidence, Observation, Tenure, UnknownCause};
use super::judge::Verdict;
use super::label::{Anomaly, ReadFailure};
use super::policy::Policy;
use super::record::Epoch;

/// One lease as it is shown: the verdict with all that it was made from, so that every rendering says the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The lease's name.
    pub lease: Arc<str>,
    /// Authority, progress, the state that follows, and why.
    pub verdict: Verdict,
    /// What that was made from.
    pub observation: Observation,
    /// The limits that it was judged by.
    pub policy: Arc<Policy>,
    /// What has been noticed of this lease since the exporter started.
    pub anomalies: Anomalies,
}

impl Status {
    /// A lease of a source that could not be read: nothing is known of it now.
    #[must_use]
    pub const fn unread(lease: Arc<str>, failure: ReadFailure, policy: Arc<Policy>, anomalies: Anomalies) -> Self {
        let why = UnknownCause::Source(failure);
        Self { lease, verdict: Verdict::unseen(why), observation: Observation::Unknown(why), policy, anomalies }
    }

    /// What is known of the lease, if it could be looked at.
    #[must_use]
    pub const fn evidence(&self) -> Option<&Evidence> {
        match &self.observation {
            Observation::Known(evidence) => Some(evidence),
            Observation::Unknown(_) => None,
        }
    }

    /// What is known of its holder, if its record names one.
    #[must_use]
    pub const fn holding(&self) -> Option<&HolderEvidence> {
        match self.evidence() {
            Some(Evidence { tenure: Tenure::Holder(holding), .. }) => Some(holding),
            _ => None,
        }
    }

    /// The authority epoch in force, or the last epoch of a released lease.
    #[must_use]
    pub const fn epoch(&self) -> Option<Epoch> {
        match self.evidence() {
            Some(Evidence { tenure: Tenure::Vacant { epoch, .. }, .. }) => *epoch,
            Some(Evidence { tenure: Tenure::Holder(holding), .. }) => holding.epoch,
            None => None,
        }
    }
}

/// How often each anomaly was noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Anomalies([u32; Anomaly::ALL.len()]);

impl Anomalies {
    /// How often this one was.
    #[must_use]
    pub fn of(&self, anomaly: Anomaly) -> u64 {
        self.0[anomaly as usize].into()
    }

    /// Counts one.
    pub const fn count(&mut self, anomaly: Anomaly) {
        self.0[anomaly as usize] = self.0[anomaly as usize].saturating_add(1);
    }
}
