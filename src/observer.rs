//! Reads the sources: one read at a time each, by a deadline, shared by scrapes that come close together.

mod exposed;
mod glance;
mod listed;
mod once;
mod source;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use crate::expose::metrics::Exposition;
use crate::expose::{Encoding, Format};
use crate::lease::Memory;
use crate::store::Store;

pub use exposed::{Encoded, Observed};
pub use glance::{Glance, Waiting};
pub use listed::listed;
use source::{Look, Source};

/// Which sources to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chosen {
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
pub struct StillRead {
    /// Its name.
    pub source_name: Arc<str>,
}

/// A source and what it takes to observe it.
#[derive(Debug)]
pub struct Observable {
    /// Its name.
    pub name: Arc<str>,
    /// Where it is read.
    pub store: Box<dyn Store>,
    /// What is known of it so far.
    pub memory: Memory,
    /// How long a read may take at the most.
    pub timeout: Duration,
    /// For how long scrapes share one reading.
    pub reuse_for: Duration,
}

/// How a source of another configuration begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// As one that was never read.
    Anew,
    /// It is read as its namesake was before: what is known of its leases still holds, and what is open stays open.
    Continued,
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
    pub fn new(exposition: Exposition, sources: Vec<Observable>) -> Self {
        let sources = sources.into_iter().map(|source| Arc::new(Source::new(source, exposition.clone())));
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
        sources: Vec<(Observable, Beginning)>,
    ) -> Result<Self, StillRead> {
        let began = Instant::now();
        let mut continued = Vec::with_capacity(sources.len());
        for (source, beginning) in sources {
            let namesake = self.sources.iter().find(|before| *before.name() == *source.name);
            let before = match namesake.filter(|_| beginning == Beginning::Continued) {
                Some(before) => Some((before, before.held_still(began).await?)),
                None => None,
            };
            continued.push((source, before));
        }
        // Nothing is waited for from here on, so that all sources change at once.
        let sources = continued.into_iter().map(|(source, before)| match before {
            Some((before, mut reader)) => before.followed_by(&mut reader, source, exposition.clone()),
            None => Source::new(source, exposition.clone()),
        });
        Ok(Self { sources: sources.map(Arc::new).collect(), exposition })
    }

    /// The one that looks at these sources alone.
    ///
    /// # Errors
    /// When one of them is not configured.
    pub fn chosen(self, chosen: &Chosen) -> Result<Self, NotConfigured> {
        let Chosen::Named(names) = chosen else { return Ok(self) };
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

    /// Looks at every source, side by side, and answers by `deadline` whatever they do.
    pub async fn observe(&self, deadline: Instant) -> Vec<Arc<Observed>> {
        let looks: Vec<_> = self.sources.iter().map(|source| (source, source.look(deadline))).collect();
        let mut observed = Vec::with_capacity(looks.len());
        for (source, look) in looks {
            observed.push(match look {
                Look::Shared(observed) => observed,
                Look::InFlight(reading) => source.landed(reading, deadline).await,
            });
        }
        observed
    }

    /// Looks at every source, side by side, and waits for none as long as [`Self::observe`] does. A reading that is begun for
    /// it has until `deadline` all the same.
    pub async fn glance(&self, waiting: Waiting, deadline: Instant) -> Vec<Glance> {
        let looks: Vec<_> = self.sources.iter().map(|source| (source, source.look(deadline))).collect();
        let mut glances = Vec::with_capacity(looks.len());
        for (source, look) in looks {
            glances.push(source.glanced(look, waiting, deadline).await);
        }
        glances
    }

    /// The names of the sources, in the order in which they are configured.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.sources.iter().map(|source| source.name())
    }

    /// The metrics of what was observed, and then `rest`. Nothing is rendered or copied for it, and each source's text is
    /// compressed when that is first asked for, by one of those who do.
    pub async fn exposed(
        &self,
        observed: &[Arc<Observed>],
        format: Format,
        encoding: Encoding,
        rest: &[Bytes],
    ) -> Encoded {
        exposed::exposed(&self.exposition, observed, format, encoding, rest).await
    }
}

#[cfg(test)]
mod tests;
