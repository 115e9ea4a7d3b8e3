//! The content that the server serves.

use std::sync::Arc;

use tokio::time::Instant;

use crate::expose::page::ObservedSource;
use crate::expose::{Encoding, Format};
use crate::observer::{CachedReading, EncodedText, NotConfigured, SourceSelection, WaitLimit};

/// The content that the server serves. Methods with a deadline read the selected sources until then at most.
pub trait Content: Send + Sync + 'static {
    /// Checks that these sources are configured, without reading them.
    ///
    /// # Errors
    /// One of them is not configured.
    fn configured(&self, sources: &SourceSelection) -> Result<(), NotConfigured>;

    /// The metrics.
    fn metrics(
        &self,
        sources: SourceSelection,
        format: Format,
        encoding: Encoding,
        deadline: Instant,
    ) -> impl Future<Output = Result<EncodedText, NotConfigured>> + Send;

    /// The readings for the JSON and the probe.
    fn readings(
        &self,
        sources: SourceSelection,
        deadline: Instant,
    ) -> impl Future<Output = Result<Vec<Arc<CachedReading>>, NotConfigured>> + Send;

    /// The views for the status page, which waits for slow sources only as long as the limit allows.
    fn observed_sources(
        &self,
        sources: SourceSelection,
        wait_limit: WaitLimit,
        deadline: Instant,
    ) -> impl Future<Output = Result<Vec<ObservedSource>, NotConfigured>> + Send;

    /// The names of all sources.
    fn sources(&self) -> Vec<String>;
}
