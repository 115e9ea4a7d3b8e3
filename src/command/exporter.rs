//! What the exporter shows, under the configuration that holds now.

use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use tokio::time::Instant;

use super::Failure;
use crate::observer::{Observed, Observer};
use crate::own::Own;
use crate::web::Content;

/// What the exporter shows: its sources, and itself.
#[derive(Debug)]
pub(super) struct Exporter {
    observer: RwLock<Observer>,
    own: Own,
}

impl Exporter {
    /// An exporter whose configuration has just been loaded.
    pub(super) fn new(observer: Observer) -> Result<Self, Failure> {
        let own = Own::new().map_err(|error| Failure::System(format!("cannot count: {error}")))?;
        Ok(Self { observer: RwLock::new(observer), own })
    }

    /// What counts of itself.
    pub(super) const fn own(&self) -> &Own {
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
    async fn metrics(&self, deadline: Instant) -> Vec<Bytes> {
        let observer = self.observer();
        let observed = observer.observe(deadline).await;
        let rendered: Vec<_> = observed.iter().map(|observed| &observed.text).collect();
        let mut chunks = observer.exposition().joined(&rendered);
        chunks.push(self.own.text().into());
        chunks
    }

    async fn snapshots(&self, deadline: Instant) -> Vec<Arc<Observed>> {
        self.observer().observe(deadline).await
    }
}
