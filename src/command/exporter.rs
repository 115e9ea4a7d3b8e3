//! The exporter under its current configuration.

use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use tokio::time::Instant;

use super::Failure;
use crate::expose::page::ObservedSource;
use crate::expose::{Encoding, Format};
use crate::observer::{CachedReading, EncodedText, NotConfigured, Observer, SourceSelection, WaitLimit};
use crate::self_metrics::SelfMetrics;
use crate::web::Content;

/// The content that the exporter serves: its sources and its own metrics.
#[derive(Debug)]
pub(super) struct Exporter {
    observer: RwLock<Observer>,
    pub(super) self_metrics: SelfMetrics,
}

impl Exporter {
    /// An exporter with a configuration that has just been loaded.
    pub(super) fn new(observer: Observer) -> Result<Self, Failure> {
        let self_metrics =
            SelfMetrics::new().map_err(|error| Failure::System(format!("cannot create metrics: {error}")))?;
        Ok(Self { observer: RwLock::new(observer), self_metrics })
    }

    /// The current observer. The caller keeps it even if it is replaced.
    pub(super) fn observer(&self) -> Observer {
        // The observer is only replaced as a whole, so a panic cannot leave it inconsistent.
        self.observer.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the observer.
    pub(super) fn replace(&self, observer: Observer) {
        *self.observer.write().unwrap_or_else(PoisonError::into_inner) = observer;
    }
}

impl Content for Exporter {
    fn configured(&self, sources: &SourceSelection) -> Result<(), NotConfigured> {
        self.observer().select(sources).map(drop)
    }

    async fn metrics(
        &self,
        sources: SourceSelection,
        format: Format,
        encoding: Encoding,
        deadline: Instant,
    ) -> Result<EncodedText, NotConfigured> {
        let observer = self.observer().select(&sources)?;
        let observed = observer.observe(deadline).await;
        let rest = vec![self.self_metrics.text(format).into(), Bytes::from_static(format.end().as_bytes())];
        Ok(observer.metrics(&observed, format, encoding, rest).await)
    }

    async fn readings(
        &self,
        sources: SourceSelection,
        deadline: Instant,
    ) -> Result<Vec<Arc<CachedReading>>, NotConfigured> {
        Ok(self.observer().select(&sources)?.observe(deadline).await)
    }

    async fn observed_sources(
        &self,
        sources: SourceSelection,
        waiting: WaitLimit,
        deadline: Instant,
    ) -> Result<Vec<ObservedSource>, NotConfigured> {
        Ok(self.observer().select(&sources)?.observed_sources(waiting, deadline).await)
    }

    fn sources(&self) -> Vec<String> {
        self.observer().names().map(str::to_owned).collect()
    }
}
