//! Reads the sources: one read at a time each, bounded by the source's own timeout, shared by requests that come close
//! together.

mod body;
mod cached_reading;
mod partial_view;
mod shared_once;
mod source;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use crate::expose::metrics::Exposition;
use crate::expose::{Encoding, Format};
use crate::lease::SourceEvaluator;
use crate::store::Store;

pub use body::{EncodedText, LazyText, Retained, encoded, json};
pub use cached_reading::CachedReading;
pub use partial_view::{PartialView, WaitLimit};
use source::{PendingOrCached, Source};

/// Which sources to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceSelection {
    /// All of them.
    All,
    /// Those of these names, in the order in which they are configured, each once.
    Named(Vec<String>),
}

/// A source was asked for that is not configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no source of that name is configured")]
pub struct NotConfigured;

/// A source that goes on is still being read, long after that should have ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("source `{source_name}`: the read under way does not end, long after its timeout; look at its store")]
pub struct ReadOverrun {
    /// Its name.
    pub source_name: Arc<str>,
}

/// A source and what it takes to observe it.
#[derive(Debug)]
pub struct SourceSetup {
    /// Its name.
    pub name: Arc<str>,
    /// Where it is read.
    pub store: Box<dyn Store>,
    /// Turns its readings into snapshots.
    pub evaluator: SourceEvaluator,
    /// How long a read may take, whoever asked for it.
    pub timeout: Duration,
    /// For how long scrapes share one reading.
    pub reuse_for: Duration,
}

/// How a source of another configuration begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continuity {
    /// As one that was never read.
    Restart,
    /// It is read as its namesake was before: what is known of its leases still holds, and what is open stays open.
    Continue,
}

/// All sources. A clone looks at the same ones and shares their readings.
#[derive(Clone, Debug)]
pub struct Observer {
    exposition: Exposition,
    sources: Vec<Arc<Source>>,
}

impl Observer {
    /// An observer of these sources. Nothing is read yet.
    #[must_use]
    pub fn new(exposition: Exposition, sources: Vec<SourceSetup>) -> Self {
        let sources = sources.into_iter().map(|source| Arc::new(Source::new(source)));
        Self { sources: sources.collect(), exposition }
    }

    /// The observer that follows this one under another configuration. A source that is not continued begins anew, and
    /// one that is no longer there is forgotten.
    ///
    /// It waits until none of the sources that are continued is being read. Looks through this observer, then, are still
    /// answered, by the new limits.
    ///
    /// # Errors
    /// When one of them is read for long beyond its timeout. This observer goes on as it was then.
    pub async fn followed_by(
        &self,
        exposition: Exposition,
        sources: Vec<(SourceSetup, Continuity)>,
    ) -> Result<Self, ReadOverrun> {
        let began = Instant::now();
        let mut continued = Vec::with_capacity(sources.len());
        for (source, beginning) in sources {
            let namesake = self.sources.iter().find(|before| *before.name() == *source.name);
            let before = match namesake.filter(|_| beginning == Continuity::Continue) {
                Some(before) => Some((before, before.held_still(began).await?)),
                None => None,
            };
            continued.push((source, before));
        }
        // Nothing is waited for from here on, so that all sources change at once.
        let sources = continued.into_iter().map(|(source, before)| match before {
            Some((before, mut reader)) => before.followed_by(&mut reader, source),
            None => Source::new(source),
        });
        Ok(Self { sources: sources.map(Arc::new).collect(), exposition })
    }

    /// The one that looks at these sources alone.
    ///
    /// # Errors
    /// When one of them is not configured.
    pub fn chosen(self, chosen: &SourceSelection) -> Result<Self, NotConfigured> {
        let SourceSelection::Named(names) = chosen else { return Ok(self) };
        if names.iter().any(|name| self.sources.iter().all(|source| source.name() != name)) {
            return Err(NotConfigured);
        }
        let sources = self.sources.into_iter().filter(|source| names.iter().any(|name| name == source.name()));
        Ok(Self { sources: sources.collect(), exposition: self.exposition })
    }

    /// Each source by its name, and the observer that looks at it alone.
    pub fn apart(&self) -> impl Iterator<Item = (&str, Self)> {
        let alone =
            |source: &Arc<Source>| Self { exposition: self.exposition.clone(), sources: vec![Arc::clone(source)] };
        self.sources.iter().map(move |source| (source.name(), alone(source)))
    }

    /// Reads every source, side by side, and answers by `deadline` whatever they do. A reading that takes longer goes on.
    pub async fn observe(&self, deadline: Instant) -> Vec<Arc<CachedReading>> {
        let joined: Vec<_> = self.sources.iter().map(|source| (source, source.join())).collect();
        let mut readings = Vec::with_capacity(joined.len());
        for (source, joined) in joined {
            readings.push(match joined {
                PendingOrCached::Cached(reading) => reading,
                PendingOrCached::Pending(reading) => source.landed(reading, deadline).await,
            });
        }
        readings
    }

    /// Reads every source, side by side, and waits for none as long as [`Self::observe`] does.
    pub async fn partial_views(&self, waiting: WaitLimit, deadline: Instant) -> Vec<PartialView> {
        let joined: Vec<_> = self.sources.iter().map(|source| (source, source.join())).collect();
        let mut views = Vec::with_capacity(joined.len());
        for (source, joined) in joined {
            views.push(source.partial_view(joined, waiting, deadline).await);
        }
        views
    }

    /// The names of the sources, in the order in which they are configured.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.sources.iter().map(|source| source.name())
    }

    /// The metrics of these readings, and then `rest`.
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
