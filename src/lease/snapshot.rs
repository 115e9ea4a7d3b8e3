//! Everything that one reading of one source showed.

use std::sync::Arc;
use std::time::Duration;

use super::label::{ReadFailure, RecordFault};
use super::policy::Kind;
use super::status::Status;

/// Everything that one reading of one source showed. Immutable: the metrics, the JSON, the page and the table are
/// renderings of it.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceSnapshot {
    /// The source's name.
    pub source: Arc<str>,
    /// What holding one of its leases means.
    pub kind: Kind,
    /// How reading it went.
    pub health: Health,
    /// Its leases, by name.
    pub leases: Vec<Status>,
}

impl SourceSnapshot {
    /// The same leases without anything known of them: for whoever could not wait for the next reading.
    #[must_use]
    pub fn unread(&self, failure: ReadFailure, took: Duration) -> Self {
        let unread = |status: &Status| {
            Status::unread(Arc::clone(&status.lease), failure, Arc::clone(&status.policy), status.anomalies)
        };
        Self {
            source: Arc::clone(&self.source),
            kind: self.kind,
            health: Health::failed(failure, took, self.health.failures, self.health.rejected),
            leases: self.leases.iter().map(unread).collect(),
        }
    }
}

/// How reading a source went.
#[derive(Clone, Debug, PartialEq)]
pub struct Health {
    /// Whether it could be read, and if not, why not.
    pub outcome: Result<(), ReadFailure>,
    /// How long the read took.
    pub took: Duration,
    /// How many leases the reading showed; `None` if it failed.
    pub leases: Option<u64>,
    /// The store's clock less the exporter's, in seconds; `None` if it failed.
    pub clock_offset: Option<f64>,
    /// Failed reads since the exporter started, by [`ReadFailure`].
    pub failures: [u64; ReadFailure::ALL.len()],
    /// Rows not used since the exporter started, by [`RecordFault`].
    pub rejected: [u64; RecordFault::ALL.len()],
    /// Rows not used in this reading.
    pub rejected_now: RejectedRecords,
}

/// The rows that one reading did not use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RejectedRecords([(u64, Vec<Arc<str>>); RecordFault::ALL.len()]);

impl RejectedRecords {
    /// Of how many leases the names are kept for each fault, so that somebody can look one up.
    pub const NAMED: usize = 3;

    /// How many there are.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().map(|(rows, _)| rows).sum()
    }

    /// How many have this fault.
    #[must_use]
    pub const fn rows(&self, fault: RecordFault) -> u64 {
        self.0[fault as usize].0
    }

    /// The first few leases whose rows have this fault, as far as those name one.
    #[must_use]
    pub fn leases(&self, fault: RecordFault) -> &[Arc<str>] {
        &self.0[fault as usize].1
    }

    pub(super) fn count(&mut self, fault: RecordFault, rows: u64, lease: Option<&Arc<str>>) {
        let (counted, leases) = &mut self.0[fault as usize];
        *counted += rows;
        if let Some(lease) = lease
            && leases.len() < Self::NAMED
            && !leases.contains(lease)
        {
            leases.push(Arc::clone(lease));
        }
    }
}

impl Health {
    /// A read that failed after so long, and what was counted until then.
    pub(super) fn failed(
        failure: ReadFailure,
        took: Duration,
        failures: [u64; ReadFailure::ALL.len()],
        rejected: [u64; RecordFault::ALL.len()],
    ) -> Self {
        let rejected_now = RejectedRecords::default();
        Self { outcome: Err(failure), took, leases: None, clock_offset: None, failures, rejected, rejected_now }
    }

    /// How long the read took, if it went well.
    #[must_use]
    pub fn read_in(&self) -> Option<Duration> {
        self.outcome.ok().map(|()| self.took)
    }
}
