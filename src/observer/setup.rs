//! How a source is set up for observation.

use std::sync::Arc;
use std::time::Duration;

use crate::lease::SourceEvaluator;
use crate::store::Store;

/// The settings of a source.
#[derive(Debug)]
pub struct SourceSetup {
    /// The source's name.
    pub name: Arc<str>,
    /// The store to read.
    pub store: Box<dyn Store>,
    /// Turns the readings into snapshots.
    pub evaluator: SourceEvaluator,
    /// The timeout of a read.
    pub timeout: Duration,
    /// How long scrapes share one reading.
    pub reuse_for: Duration,
}

/// Whether a source keeps its state when the configuration is reloaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continuity {
    /// The source starts without state.
    Restart,
    /// The source keeps the open connection, the tracked leases and the history of the source of the same name.
    Continue,
}

/// A read that did not end long after its timeout, so that the source cannot be reconfigured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("source `{source_name}`: the pending read does not end, long after its timeout; check its store")]
pub struct ReadOverrun {
    /// The source's name.
    pub source_name: Arc<str>,
}
