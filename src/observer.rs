//! Reads sources. A stand-in with the interface that the web server needs.

use std::sync::Arc;

use crate::lease::SourceSnapshot;

/// The metrics text of one source.
#[derive(Clone, Debug, Default)]
pub struct Rendered;

/// One source's latest look.
#[derive(Clone, Debug)]
pub struct Observed {
    /// What it showed.
    pub snapshot: SourceSnapshot,
    /// The same as metrics text.
    pub text: Rendered,
}

/// Reads every source.
#[derive(Debug, Default)]
pub struct Observer;

impl Observer {
    /// Looks at every source, for no longer than the deadline.
    #[expect(clippy::unused_async, reason = "a stand-in")]
    pub async fn observe(&self, _deadline: tokio::time::Instant) -> Vec<Arc<Observed>> {
        Vec::new()
    }
}
