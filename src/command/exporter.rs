//! What the exporter shows, under the configuration that holds now.

use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use tokio::time::Instant;

use super::Failure;
use crate::observer::{CachedReading, Encoded, NotConfigured, Observer, PartialView, SourceSelection, WaitLimit};
use crate::self_metrics::SelfMetrics;
use crate::web::{Content, Scrape};

/// What the exporter shows: its sources, and itself.
#[derive(Debug)]
pub(super) struct Exporter {
    observer: RwLock<Observer>,
    own: SelfMetrics,
}

impl Exporter {
    /// An exporter whose configuration has just been loaded.
    pub(super) fn new(observer: Observer) -> Result<Self, Failure> {
        let own = SelfMetrics::new().map_err(|error| Failure::System(format!("cannot count: {error}")))?;
        Ok(Self { observer: RwLock::new(observer), own })
    }

    /// What counts of itself.
    pub(super) const fn own(&self) -> &SelfMetrics {
        &self.own
    }

    /// Who observes now. Whoever has asked goes on with the same one, whatever follows it.
    pub(super) fn observer(&self) -> Observer {
        // It is only ever replaced as a whole, so a panic elsewhere leaves nothing half done.
        self.observer.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Has another observe from now on.
    pub(super) fn replace(&self, observer: Observer) {
        *self.observer.write().unwrap_or_else(PoisonError::into_inner) = observer;
    }
}

impl Content for Exporter {
    fn configured(&self, sources: &SourceSelection) -> Result<(), NotConfigured> {
        self.observer().chosen(sources).map(drop)
    }

    async fn metrics(&self, scrape: Scrape, deadline: Instant) -> Result<Encoded, NotConfigured> {
        let Scrape { sources, format, encoding } = scrape;
        let observer = self.observer().chosen(&sources)?;
        let observed = observer.observe(deadline).await;
        let rest = vec![self.own.text(format).into(), Bytes::from_static(format.end().as_bytes())];
        Ok(observer.metrics(&observed, format, encoding, rest).await)
    }

    async fn readings(
        &self,
        sources: SourceSelection,
        deadline: Instant,
    ) -> Result<Vec<Arc<CachedReading>>, NotConfigured> {
        Ok(self.observer().chosen(&sources)?.observe(deadline).await)
    }

    async fn partial_views(
        &self,
        sources: SourceSelection,
        waiting: WaitLimit,
        deadline: Instant,
    ) -> Result<Vec<PartialView>, NotConfigured> {
        Ok(self.observer().chosen(&sources)?.partial_views(waiting, deadline).await)
    }

    fn sources(&self) -> Vec<String> {
        self.observer().names().map(str::to_owned).collect()
    }
}
