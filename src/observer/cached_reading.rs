//! A reading of one source with its compressed renderings, each made once, for the first request that needs it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::shared_once::SharedOnce;
use crate::expose::gzip::{Compressor, DEFAULT_LEVEL, GzipPart};
use crate::expose::json;
use crate::expose::metrics::{CompressedMetrics, Exposition, SourceMetrics};
use crate::expose::page::ObservedSource;
use crate::history::History;
use crate::lease::SourceSnapshot;

/// A reading of one source and its compressed renderings, as far as they were requested. Plain text is not kept: it is
/// twenty times as long, and is written while it is sent.
#[derive(Debug)]
pub struct CachedReading {
    /// The snapshot of the reading.
    pub snapshot: Arc<SourceSnapshot>,
    /// The history of the source up to the reading.
    pub history: History,
    /// When the reading was made, on the exporter's monotonic clock.
    pub at: Duration,
    pub(super) metrics: Arc<SourceMetrics>,
    pub(super) compressed_metrics: Arc<SharedOnce<Option<Arc<CompressedMetrics>>>>,
    compressed_json: Arc<SharedOnce<Option<GzipPart>>>,
    latest: Arc<LatestCompressed>,
}

/// The metrics of one source that were compressed last. The next reading reuses the blocks that did not change. Failed
/// readings have a slot of their own, because they have few lines in common with successful ones.
#[derive(Debug, Default)]
pub struct LatestCompressed([Mutex<Option<Arc<CompressedMetrics>>>; 2]);

impl CachedReading {
    /// A reading without renderings. `latest` is shared by all readings of the source.
    #[must_use]
    pub fn new(snapshot: Arc<SourceSnapshot>, history: History, at: Duration, latest: Arc<LatestCompressed>) -> Self {
        let metrics = Arc::new(SourceMetrics::new(Arc::clone(&snapshot)));
        let (compressed_metrics, compressed_json) = (Arc::default(), Arc::default());
        Self { snapshot, history, at, metrics, compressed_metrics, compressed_json, latest }
    }

    /// The compressed metrics; `None` after a failure, which is logged here.
    pub(super) async fn compressed_metrics(&self, exposition: &Exposition) -> Option<Arc<CompressedMetrics>> {
        let (exposition, metrics, latest) = (exposition.clone(), Arc::clone(&self.metrics), Arc::clone(&self.latest));
        let compress = move || latest.compress(&exposition, &metrics);
        self.compressed_metrics.get_or_make(compress).await?.clone()
    }

    /// The compressed element of the JSON list of sources; `None` after a failure, which is logged here.
    pub(super) async fn compressed_json(&self) -> Option<&GzipPart> {
        let snapshot = Arc::clone(&self.snapshot);
        let compress = move || {
            let part = Compressor::new(DEFAULT_LEVEL).part(json::source_chunks(snapshot));
            part.inspect_err(|error| tracing::error!(%error, "the JSON could not be compressed")).ok()
        };
        self.compressed_json.get_or_make(compress).await?.as_ref()
    }

    /// The source as a page shows it.
    pub(super) fn observed_source(&self, observed_at: Duration, unanswered_for: Option<Duration>) -> ObservedSource {
        let (snapshot, history) = (Arc::clone(&self.snapshot), self.history.clone());
        ObservedSource { snapshot, history, observed_at, unanswered_for }
    }
}

impl LatestCompressed {
    fn compress(&self, exposition: &Exposition, metrics: &SourceMetrics) -> Option<Arc<CompressedMetrics>> {
        let slot = &self.0[usize::from(metrics.snapshot().health.outcome.is_ok())];
        // The slot is replaced as a whole, so a panic in another thread leaves it usable. It is not locked during the
        // compression, because a reading and a view of the one before may be compressed at the same time.
        let previous = slot.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let compressed = exposition.compress(metrics, previous.as_deref());
        let compressed = compressed
            .inspect_err(
                |error| tracing::error!(%error, "the metrics could not be compressed and are sent as plain text"),
            )
            .ok()
            .map(Arc::new)?;
        *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&compressed));
        Some(compressed)
    }
}
