//! Reads the sources: one read at a time each, by a deadline, shared by scrapes that come close together.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};
use tracing::{info, warn};

use crate::expose::metrics::{Exposition, Rendered, Renderer};
use crate::lease::{Memory, ReadFailure, SourceSnapshot};
use crate::store::Store;

/// One source's latest look, and its metrics, rendered once.
#[derive(Debug)]
pub struct Observed {
    /// What the look showed.
    pub snapshot: Arc<SourceSnapshot>,
    /// The same as metrics.
    pub text: Rendered,
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
        let sources = sources.into_iter().map(|source| Arc::new(Source::new(source, &exposition)));
        Self { sources: sources.collect(), exposition }
    }

    /// The families that are exposed.
    #[must_use]
    pub const fn exposition(&self) -> &Exposition {
        &self.exposition
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
}

/// A reading on its way.
type InFlight = watch::Receiver<Option<Arc<Observed>>>;

/// What a scrape gets: a reading that is young enough, or one on its way.
enum Look {
    Shared(Arc<Observed>),
    InFlight(InFlight),
}

#[derive(Debug)]
struct Source {
    name: Arc<str>,
    timeout: Duration,
    reuse_for: Duration,
    exposition: Exposition,
    /// What only one read at a time may use.
    reader: Arc<tokio::sync::Mutex<Reader>>,
    latest: Mutex<Latest>,
}

#[derive(Debug)]
struct Reader {
    store: Box<dyn Store>,
    memory: Memory,
    renderer: Renderer,
}

#[derive(Debug)]
struct Latest {
    /// The leases that are known, to say of them that nothing is known now.
    known: Arc<SourceSnapshot>,
    /// The last reading and when it ended, until the next one begins.
    reading: Option<(Instant, Arc<Observed>)>,
    in_flight: Option<InFlight>,
    /// Whether the last read failed, and why: so that the log tells changes alone.
    failing: Option<ReadFailure>,
}

impl Source {
    fn new(source: Observable, exposition: &Exposition) -> Self {
        let Observable { name, store, memory, timeout, reuse_for } = source;
        let known = Arc::new(memory.unread(ReadFailure::Timeout, Duration::ZERO));
        let renderer = Renderer::new(exposition.clone());
        Self {
            name,
            timeout,
            reuse_for,
            exposition: exposition.clone(),
            reader: Arc::new(tokio::sync::Mutex::new(Reader { store, memory, renderer })),
            latest: Mutex::new(Latest { known, reading: None, in_flight: None, failing: None }),
        }
    }

    fn latest(&self) -> MutexGuard<'_, Latest> {
        // Every change to it is a single assignment, so a panic elsewhere leaves nothing half done.
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Joins what is there or on its way, or else starts a read.
    fn look(self: &Arc<Self>, deadline: Instant) -> Look {
        let mut latest = self.latest();
        if let Some(reading) = &latest.in_flight
            && reading.has_changed().is_ok()
        {
            return Look::InFlight(reading.clone());
        }
        if let Some((ended, observed)) = &latest.reading
            && ended.elapsed() < self.reuse_for
        {
            return Look::Shared(Arc::clone(observed));
        }
        let (sender, receiver) = watch::channel(None);
        latest.in_flight = Some(receiver.clone());
        let stale = latest.reading.take().map(|(_, observed)| observed);
        let deadline = deadline.min(Instant::now() + self.timeout);
        tokio::spawn(Arc::clone(self).read(deadline, stale, sender));
        Look::InFlight(receiver)
    }

    /// Reads, relates, judges and renders, and hands the result to all who wait for it.
    async fn read(
        self: Arc<Self>,
        deadline: Instant,
        stale: Option<Arc<Observed>>,
        sender: watch::Sender<Option<Arc<Observed>>>,
    ) {
        let mut reader = Arc::clone(&self.reader).lock_owned().await;
        let began = Instant::now();
        let taken = reader.store.read(deadline).await;
        let took = began.elapsed();
        let failure = taken.as_ref().err().map(|error| (error.failure(), error.to_string()));
        // Judging and rendering many leases takes a while too, and must not hold up other requests.
        let observed = tokio::task::spawn_blocking(move || {
            let Reader { memory, renderer, .. } = &mut *reader;
            if let Some(Observed { text, .. }) = stale.and_then(Arc::into_inner) {
                renderer.take_back(text);
            }
            let snapshot = match taken {
                Ok(taken) => memory.take_in(taken.reading, taken.at, took, taken.clock_offset),
                Err(error) => memory.failed(error.failure(), took),
            };
            let text = renderer.render(&snapshot);
            Arc::new(Observed { snapshot: Arc::new(snapshot), text })
        });
        // If that panicked, the sender goes unsent and everyone who waits says that nothing is known.
        let Ok(observed) = observed.await else { return };
        let mut latest = self.latest();
        latest.known = Arc::clone(&observed.snapshot);
        latest.reading = Some((Instant::now(), Arc::clone(&observed)));
        latest.in_flight = None;
        self.tell(&mut latest, failure);
        drop(latest);
        sender.send_replace(Some(observed));
    }

    /// Logs a source that begins or ceases to fail, once.
    fn tell(&self, latest: &mut Latest, failure: Option<(ReadFailure, String)>) {
        let source = &*self.name;
        match (latest.failing, failure) {
            (before, Some((failure, error))) if before != Some(failure) => {
                warn!(source, reason = failure.as_str(), error, "the source cannot be read: its leases are unknown");
                latest.failing = Some(failure);
            }
            (Some(_), None) => {
                info!(source, "the source can be read again");
                latest.failing = None;
            }
            _ => {}
        }
    }

    /// Waits for a reading on its way. Whoever cannot wait any longer learns that nothing is known now.
    async fn landed(&self, mut reading: InFlight, deadline: Instant) -> Arc<Observed> {
        let began = Instant::now();
        let failure = match timeout_at(deadline, reading.wait_for(Option::is_some)).await {
            Ok(Ok(landed)) => match &*landed {
                Some(observed) => return Arc::clone(observed),
                None => ReadFailure::Refused,
            },
            Ok(Err(_)) => ReadFailure::Refused,
            Err(_) => ReadFailure::Timeout,
        };
        let known = Arc::clone(&self.latest().known);
        let snapshot = Arc::new(known.unread(failure, began.elapsed()));
        let text = Renderer::new(self.exposition.clone()).render(&snapshot);
        Arc::new(Observed { snapshot, text })
    }
}

#[cfg(test)]
mod tests;
