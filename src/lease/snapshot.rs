//! Everything that one reading of one source showed.

use std::sync::Arc;
use std::time::Duration;

use super::label::{ReadFailure, RowFault};
use super::status::Status;

/// Everything that one reading of one source showed. Immutable: the metrics, the JSON, the page and the table are
/// renderings of it.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceSnapshot {
    /// The source's name.
    pub source: Arc<str>,
    /// How reading it went.
    pub health: Health,
    /// Its leases, by name.
    pub leases: Vec<Status>,
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
