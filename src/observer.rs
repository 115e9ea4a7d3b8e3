//! Reads the sources. A source is read once at a time, within its own timeout, and requests that arrive close together
//! share one reading.
//!
//! ```text
//! Store -- Reading --> SourceEvaluator -- SourceSnapshot --> CachedReading --> EncodedText (metrics, JSON)
//!                                                                         \-> PartialView (page)
//! ```
//!
//! A [`CachedReading`] holds the snapshot, the history and the compressed renderings, each made on first use. A request
//! that cannot wait for a pending read gets a reading in which every lease is unknown.

mod body;
mod cached_reading;
mod partial_view;
mod setup;
mod shared_once;
mod source;

use std::sync::Arc;

use bytes::Bytes;
use tokio::time::Instant;

use crate::expose::metrics::Exposition;
use crate::expose::{Encoding, Format};

pub use body::{EncodedText, LazyText, Retained, encoded, json};
pub use cached_reading::CachedReading;
pub use partial_view::{PartialView, WaitLimit};
pub use setup::{Continuity, ReadOverrun, SourceSetup};
use source::{PendingOrCached, Source};

/// The sources of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceSelection {
    /// All sources.
    All,
    /// The sources with these names, each once, in the order of the configuration.
    Named(Vec<String>),
}

/// A request names a source that is not configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no source of that name is configured")]
pub struct NotConfigured;

/// A set of sources. Clones share the sources and their readings.
#[derive(Clone, Debug)]
pub struct Observer {
    exposition: Exposition,
    sources: Vec<Arc<Source>>,
}

impl Observer {
    /// An observer of these sources. No source is read yet.
    #[must_use]
    pub fn new(exposition: Exposition, sources: Vec<SourceSetup>) -> Self {
        let sources = sources.into_iter().map(|source| Arc::new(Source::new(source)));
        Self { sources: sources.collect(), exposition }
    }

    /// The observer for a reloaded configuration. A source that is not in the new configuration is dropped.
    ///
    /// Waits until no source that continues is being read. From then on, this observer evaluates those sources by their
    /// new policies too.
    ///
    /// # Errors
    /// A read does not end long after its timeout. This observer is not changed.
    pub async fn reconfigure(
        &self,
        exposition: Exposition,
        setups: Vec<(SourceSetup, Continuity)>,
    ) -> Result<Self, ReadOverrun> {
        let started = Instant::now();
        let mut locked = Vec::with_capacity(setups.len());
        for (setup, continuity) in setups {
            let namesake = self.sources.iter().find(|source| *source.name() == *setup.name);
            let previous = match namesake.filter(|_| continuity == Continuity::Continue) {
                Some(previous) => Some((previous, previous.lock_reader(started).await?)),
                None => None,
            };
            locked.push((setup, previous));
        }
        // Nothing is awaited from here on, so all sources change together.
        let sources = locked.into_iter().map(|(setup, previous)| match previous {
            Some((previous, mut reader)) => previous.reconfigure(&mut reader, setup),
            None => Source::new(setup),
        });
        Ok(Self { sources: sources.map(Arc::new).collect(), exposition })
    }

    /// The observer of the selected sources.
    ///
    /// # Errors
    /// A selected source is not configured.
    pub fn select(self, selection: &SourceSelection) -> Result<Self, NotConfigured> {
        let SourceSelection::Named(names) = selection else { return Ok(self) };
        if names.iter().any(|name| self.sources.iter().all(|source| source.name() != name)) {
            return Err(NotConfigured);
        }
        let sources = self.sources.into_iter().filter(|source| names.iter().any(|name| name == source.name()));
        Ok(Self { sources: sources.collect(), exposition: self.exposition })
    }

    /// The name of each source, with an observer of that source alone.
    pub fn per_source(&self) -> impl Iterator<Item = (&str, Self)> {
        let single =
            |source: &Arc<Source>| Self { exposition: self.exposition.clone(), sources: vec![Arc::clone(source)] };
        self.sources.iter().map(move |source| (source.name(), single(source)))
    }

    /// Reads all sources in parallel and returns by `deadline`. A read that takes longer continues.
    pub async fn observe(&self, deadline: Instant) -> Vec<Arc<CachedReading>> {
        let joined: Vec<_> = self.sources.iter().map(|source| (source, source.join())).collect();
        let mut readings = Vec::with_capacity(joined.len());
        for (source, joined) in joined {
            readings.push(match joined {
                PendingOrCached::Cached(reading) => reading,
                PendingOrCached::Pending(pending) => source.wait(pending, deadline).await,
            });
        }
        readings
    }

    /// Reads all sources in parallel, and waits for each reading no longer than `limit` and `deadline` allow.
    pub async fn partial_views(&self, limit: WaitLimit, deadline: Instant) -> Vec<PartialView> {
        let joined: Vec<_> = self.sources.iter().map(|source| (source, source.join())).collect();
        let mut views = Vec::with_capacity(joined.len());
        for (source, joined) in joined {
            views.push(source.partial_view(joined, limit, deadline).await);
        }
        views
    }

    /// The names of the sources, in the order of the configuration.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.sources.iter().map(|source| source.name())
    }

    /// The metrics of these readings, followed by `rest`.
    pub async fn metrics(
        &self,
        readings: &[Arc<CachedReading>],
        format: Format,
        encoding: Encoding,
        rest: Vec<Bytes>,
    ) -> EncodedText {
        body::metrics(&self.exposition, readings, format, encoding, rest).await
    }
}

#[cfg(test)]
mod tests;
