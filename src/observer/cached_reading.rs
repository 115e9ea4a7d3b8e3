//! One reading of one source with its renderings, each made when somebody first asks for it, once, and shared.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::shared_once::SharedOnce;
use crate::expose::gzip::{CompressionLevel, Compressor, GzipPart};
use crate::expose::json;
use crate::expose::metrics::{CompressedMetrics, Exposition, SourceMetrics};
use crate::history::History;
use crate::lease::SourceSnapshot;

/// One reading of one source, and its renderings as far as they were asked for. Of each rendering only the compressed form
/// is kept, a twentieth of the text; plain text is written as it is sent.
#[derive(Debug)]
pub struct CachedReading {
    /// The leases as this reading showed them.
    pub snapshot: Arc<SourceSnapshot>,
    /// The history of the source up to this reading.
    pub history: History,
    /// When the reading was, on the exporter's monotonic clock.
    pub at: Duration,
    pub(super) metrics: Arc<SourceMetrics>,
    compressed_metrics: Arc<SharedOnce<Option<Arc<CompressedMetrics>>>>,
    compressed_json: Arc<SharedOnce<Option<GzipPart>>>,
    latest: Arc<LatestCompressed>,
}

/// The metrics of one source that were compressed last, from which the next reading takes the blocks that did not change:
/// one for readings that succeeded and one for those that failed, because the two have few lines in common.
#[derive(Debug, Default)]
pub(super) struct LatestCompressed([Mutex<Option<Arc<CompressedMetrics>>>; 2]);

impl CachedReading {
    /// A reading, the history up to it, and when it was. Nothing is rendered yet.
    #[must_use]
    pub fn new(snapshot: Arc<SourceSnapshot>, history: History, at: Duration) -> Self {
        Self::of_source(snapshot, history, at, Arc::default())
    }

    /// The same, which shares with the source's other readings what did not change.
    pub(super) fn of_source(
        snapshot: Arc<SourceSnapshot>,
        history: History,
        at: Duration,
        latest: Arc<LatestCompressed>,
    ) -> Self {
        let metrics = Arc::new(SourceMetrics::new(Arc::clone(&snapshot)));
        let (compressed_metrics, compressed_json) = (Arc::default(), Arc::default());
        Self { snapshot, history, at, metrics, compressed_metrics, compressed_json, latest }
    }

    /// Its metrics compressed. `None` if that failed, which the log tells.
    pub(super) async fn compressed_metrics(&self, exposition: &Exposition) -> Option<Arc<CompressedMetrics>> {
        let (exposition, metrics, latest) = (exposition.clone(), Arc::clone(&self.metrics), Arc::clone(&self.latest));
        let compress = move || latest.compress(&exposition, &metrics);
        self.compressed_metrics.get_or_make(compress).await?.clone()
    }

    /// Its member of the list of sources in a JSON document, compressed. `None` if that failed, which the log tells.
    pub(super) async fn compressed_json(&self) -> Option<&GzipPart> {
        let snapshot = Arc::clone(&self.snapshot);
        let compress = move || {
            let part = Compressor::new(CompressionLevel::Default).part(json::source_chunks(snapshot));
            part.inspect_err(|error| tracing::error!(%error, "the JSON could not be compressed")).ok()
        };
        self.compressed_json.get_or_make(compress).await?.as_ref()
    }

    #[cfg(test)]
    pub(super) fn is_compressed(&self) -> bool {
        self.compressed_metrics.is_made()
    }
}

impl LatestCompressed {
    fn compress(&self, exposition: &Exposition, metrics: &SourceMetrics) -> Option<Arc<CompressedMetrics>> {
        let slot = &self.0[usize::from(metrics.snapshot().health.outcome.is_ok())];
        // The slot is only ever replaced as a whole, so a panic elsewhere leaves nothing half done. Compressing happens
        // outside of the lock: a reading and a view of the one before may be compressed side by side.
        let previous = slot.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let compressed = exposition.compress(metrics, previous.as_deref());
        let compressed = compressed
            .inspect_err(|error| tracing::error!(%error, "the metrics could not be compressed"))
            .ok()
            .map(Arc::new)?;
        *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&compressed));
        Some(compressed)
    }
}
