//! The evaluator: passes the readings of one source through the tracker and the judge.

use std::sync::Arc;
use std::time::Duration;

use super::anomaly::AnomalyCounts;
use super::judge::judge;
use super::label::{ReadFailure, RecordFault};
use super::policy::{LeaseKind, Policies, Policy, Rules};
use super::record::Reading;
use super::snapshot::{Health, SourceSnapshot, Status};
use super::token::TokenKey;
use super::tracker::SourceTracker;

/// Turns the readings of one source into snapshots.
#[derive(Debug)]
pub struct SourceEvaluator {
    source: Arc<str>,
    kind: LeaseKind,
    tracker: SourceTracker,
    policies: Arc<dyn Policies>,
    /// The policy of each tracked lease, by name, so that policies are looked up for new leases only.
    lease_policies: Vec<(Arc<str>, Arc<Policy>)>,
    /// Failed reads since the exporter started, by [`ReadFailure`].
    failures: [u64; ReadFailure::ALL.len()],
    /// Rejected records since the exporter started, by [`RecordFault`].
    rejected: [u64; RecordFault::ALL.len()],
}

impl SourceEvaluator {
    /// The evaluator of a source without readings.
    #[must_use]
    pub fn new(source: Arc<str>, rules: Rules, key: TokenKey, policies: Arc<dyn Policies>) -> Self {
        let mut evaluator = Self {
            source,
            kind: rules.kind,
            tracker: SourceTracker::new(rules, key, policies.expected_leases()),
            policies,
            lease_policies: Vec::new(),
            failures: Default::default(),
            rejected: Default::default(),
        };
        evaluator.assign_policies();
        evaluator
    }

    /// Takes over the tracked leases and the counters of another evaluator of the same source, and keeps its own policies.
    ///
    /// Both evaluators must have the same rules and the same key.
    pub fn inherit(&mut self, other: &mut Self) {
        self.tracker.inherit(&mut other.tracker);
        self.failures = other.failures;
        self.rejected = other.rejected;
        self.assign_policies();
    }

    /// The number of known leases.
    #[must_use]
    pub fn leases(&self) -> usize {
        self.tracker.len()
    }

    /// The snapshot of a reading that took `duration`.
    pub fn evaluate(&mut self, reading: Reading, duration: Duration) -> SourceSnapshot {
        let clock_offset = reading.clock_offset;
        let evidence = self.tracker.track(reading);
        for fault in RecordFault::ALL {
            self.rejected[fault as usize] += evidence.rejected.count(fault);
        }
        self.assign_policies();
        let leases = evidence.leases.into_iter().zip(&self.lease_policies).map(|(lease, (_, policy))| Status {
            verdict: judge(&lease.observation, self.kind, policy),
            lease: lease.lease,
            observation: lease.observation,
            policy: Arc::clone(policy),
            anomalies: lease.anomalies,
        });
        let leases = leases.collect();
        SourceSnapshot {
            source: Arc::clone(&self.source),
            kind: self.kind,
            health: Health {
                outcome: Ok(()),
                duration,
                leases: Some(evidence.leases_read),
                clock_offset: Some(clock_offset),
                failures: self.failures,
                rejected: self.rejected,
                rejected_now: evidence.rejected,
            },
            leases,
        }
    }

    /// Counts a failed read that took `duration`. In its snapshot, every known lease is unknown.
    pub fn fail(&mut self, failure: ReadFailure, duration: Duration) -> SourceSnapshot {
        self.failures[failure as usize] += 1;
        self.unread(failure, duration)
    }

    /// A snapshot in which every known lease is unknown. It is not counted as a failed read.
    #[must_use]
    pub fn unread(&self, failure: ReadFailure, duration: Duration) -> SourceSnapshot {
        let unread = |((lease, anomalies), (_, policy)): ((&Arc<str>, AnomalyCounts), &(_, Arc<Policy>))| {
            Status::unread(Arc::clone(lease), failure, Arc::clone(policy), anomalies)
        };
        SourceSnapshot {
            source: Arc::clone(&self.source),
            kind: self.kind,
            health: Health::failed(failure, duration, self.failures, self.rejected),
            leases: self.tracker.leases().zip(&self.lease_policies).map(unread).collect(),
        }
    }

    /// Aligns `lease_policies` with the tracked leases, which usually are the same as before.
    fn assign_policies(&mut self) {
        let names = || self.tracker.leases().map(|(name, _)| name);
        if self.lease_policies.iter().map(|(name, _)| name).eq(names()) {
            return;
        }
        let mut known = std::mem::take(&mut self.lease_policies).into_iter().peekable();
        let assigned = names().map(|name| {
            while known.next_if(|(other, _)| other < name).is_some() {}
            let known = known.next_if(|(other, _)| other == name);
            known.unwrap_or_else(|| (Arc::clone(name), self.policies.policy(name)))
        });
        self.lease_policies = assigned.collect();
    }
}

#[cfg(test)]
mod tests;
