//! Reads the sources. A source is read once at a time, within its own timeout, and requests that arrive close together
//! share one reading.
//!
//! ```text
//! Store -- Reading --> SourceEvaluator -- SourceSnapshot --> CachedReading --> EncodedText (metrics, JSON)
//!                                                                         \-> ObservedSource (page)
//! ```
//!
//! A [`CachedReading`] holds the snapshot, the history and the compressed renderings, each made on first use. A request
//! that cannot wait for a pending read gets a reading in which every lease is unknown.

mod body;
mod cached_reading;
mod shared_once;
mod source;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::expose::metrics::Exposition;
use crate::expose::page::ObservedSource;
use crate::lease::SourceEvaluator;
use crate::store::Store;

pub use body::{EncodedText, LazyText, Retained, encoded, json};
pub use cached_reading::CachedReading;
use source::{PendingOrCached, Source};

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

/// How long to wait for a pending reading, from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitLimit {
    /// One second, for a client that will ask again.
    Short,
    /// One second longer than the last reading took, for a client that asks once. It applies if the last reading is too old to
    /// be shown.
    LastReadDuration,
}

const SHORT_WAIT: Duration = Duration::from_secs(1);

impl WaitLimit {
    /// The time to wait. `last_read` is the duration of the last reading, if it succeeded.
    fn duration(self, last_read: Option<Duration>) -> Duration {
        match self {
            Self::Short => SHORT_WAIT,
            Self::LastReadDuration => SHORT_WAIT.saturating_add(last_read.unwrap_or_default()),
        }
    }
}

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
    pub async fn observed_sources(&self, limit: WaitLimit, deadline: Instant) -> Vec<ObservedSource> {
        let joined: Vec<_> = self.sources.iter().map(|source| (source, source.join())).collect();
        let mut views = Vec::with_capacity(joined.len());
        for (source, joined) in joined {
            views.push(source.observed_source(joined, limit, deadline).await);
        }
        views
    }

    /// The names of the sources, in the order of the configuration.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.sources.iter().map(|source| source.name())
    }
}

#[cfg(test)]
mod tests;
