//! Everything that one reading of one source showed.

use std::sync::Arc;
use std::time::Duration;

use super::label::{ReadFailure, RowFault};
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
    /// Rows not used since the exporter started, by [`RowFault`].
    pub rejected: [u64; RowFault::ALL.len()],
    /// Rows not used in this reading.
    pub rejected_now: u64,
}

impl Health {
    /// A read that failed after so long, and what was counted until then.
    pub(super) const fn failed(
        failure: ReadFailure,
        took: Duration,
        failures: [u64; ReadFailure::ALL.len()],
        rejected: [u64; RowFault::ALL.len()],
    ) -> Self {
        Self { outcome: Err(failure), took, leases: None, clock_offset: None, failures, rejected, rejected_now: 0 }
    }
}
