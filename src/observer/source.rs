//! One source: its reader, its latest reading, and the one on its way.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedMutexGuard, watch};
use tokio::time::{Instant, timeout_at};
use tracing::{info, warn};

use super::{Observable, Observed, StillRead};
use crate::clock;
use crate::expose::metrics::{Exposition, Renderer};
use crate::history::History;
use crate::lease::{Memory, ReadFailure, SourceSnapshot};
use crate::store::Store;

/// How long a read that ends at its deadline may take to be given up, judged and rendered.
const RESERVE: Duration = Duration::from_secs(10);

/// A reading on its way.
pub(super) type InFlight = watch::Receiver<Option<Arc<Observed>>>;

/// What a scrape gets: a reading that is young enough, or one on its way.
pub(super) enum Look {
    Shared(Arc<Observed>),
    InFlight(InFlight),
}

/// One source.
#[derive(Debug)]
pub(super) struct Source {
    name: Arc<str>,
    timeout: Duration,
    reuse_for: Duration,
    exposition: Exposition,
    /// What only one read at a time may use. Those who come after this one share it.
    reader: Arc<tokio::sync::Mutex<Reader>>,
    /// Between two reads; a panic while it renders leaves none, and the next read begins with a new one.
    renderer: Mutex<Option<Renderer>>,
    latest: Mutex<Latest>,
}

/// A store, and what its readings have shown so far.
#[derive(Debug)]
pub(super) struct Reader {
    store: Box<dyn Store>,
    memory: Memory,
    history: History,
}

#[derive(Debug)]
struct Latest {
    /// The leases that are known, to say of them that nothing is known now.
    known: Arc<SourceSnapshot>,
    /// What the looks until now showed.
    history: History,
    /// The last reading and when it ended, until the next one begins.
    reading: Option<(Instant, Arc<Observed>)>,
    in_flight: Option<InFlight>,
    /// Whether the last read failed, and why: so that the log tells changes alone.
    failing: Option<ReadFailure>,
}

impl Source {
    /// A source that was never read.
    pub(super) fn new(source: Observable, exposition: Exposition) -> Self {
        let Observable { name, store, memory, timeout, reuse_for } = source;
        let known = Arc::new(memory.unread(ReadFailure::Timeout, Duration::ZERO));
        Self {
            name,
            timeout,
            reuse_for,
            exposition,
            reader: Arc::new(tokio::sync::Mutex::new(Reader { store, memory, history: History::default() })),
            renderer: Mutex::default(),
            latest: Mutex::new(Latest {
                known,
                history: History::default(),
                reading: None,
                in_flight: None,
                failing: None,
            }),
        }
    }

    /// Its name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Waits for the read under way, for as long after `began` as one may take, and keeps the next one from beginning.
    pub(super) async fn held_still(&self, began: Instant) -> Result<OwnedMutexGuard<Reader>, StillRead> {
        let ended = timeout_at(began + self.timeout + RESERVE, Arc::clone(&self.reader).lock_owned()).await;
        ended.map_err(|_| StillRead { source_name: Arc::clone(&self.name) })
    }

    /// What follows this source, which is read as before: it keeps the store, with what that has open, and what is known.
    /// `reader` is this source's own, held still.
    pub(super) fn followed_by(&self, reader: &mut Reader, source: Observable, exposition: Exposition) -> Self {
        let Observable { name, store: _, mut memory, timeout, reuse_for } = source;
        memory.inherit(&mut reader.memory);
        reader.memory = memory;
        let known = Arc::new(reader.memory.unread(ReadFailure::Timeout, Duration::ZERO));
        let (failing, history) = (self.latest().failing, reader.history.clone());
        Self {
            name,
            timeout,
            reuse_for,
            exposition,
            reader: Arc::clone(&self.reader),
            renderer: Mutex::default(),
            latest: Mutex::new(Latest { known, history, reading: None, in_flight: None, failing }),
        }
    }

    fn latest(&self) -> MutexGuard<'_, Latest> {
        // Every change to it is a single assignment, so a panic elsewhere leaves nothing half done.
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Joins what is there or on its way, or else starts a read.
    pub(super) fn look(self: &Arc<Self>, deadline: Instant) -> Look {
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
        let (took, looked) = (began.elapsed(), clock::monotonic());
        let failure = taken.as_ref().err().map(|error| (error.failure(), error.to_string()));
        // Judging and rendering many leases takes a while too, and must not hold up other requests.
        let source = Arc::clone(&self);
        let observed = tokio::task::spawn_blocking(move || {
            let snapshot = match taken {
                Ok(taken) => reader.memory.take_in(taken.reading, taken.at, took, taken.clock_offset),
                Err(error) => reader.memory.failed(error.failure(), took),
            };
            reader.history.take_in(&snapshot, looked);
            source.rendered(snapshot, reader.history.clone(), stale)
        });
        // If that panicked, the sender goes unsent and everyone who waits says that nothing is known.
        let Ok(observed) = observed.await else { return };
        let mut latest = self.latest();
        latest.known = Arc::clone(&observed.snapshot);
        latest.history = observed.history.clone();
        latest.reading = Some((Instant::now(), Arc::clone(&observed)));
        latest.in_flight = None;
        self.tell(&mut latest, failure);
        drop(latest);
        sender.send_replace(Some(observed));
    }

    /// Renders a snapshot into the pieces of a reading that is no longer served, as far as no scrape still holds them.
    fn rendered(&self, snapshot: SourceSnapshot, history: History, stale: Option<Arc<Observed>>) -> Arc<Observed> {
        let between_reads = || self.renderer.lock().unwrap_or_else(PoisonError::into_inner);
        let renderer = between_reads().take();
        let mut renderer = renderer.unwrap_or_else(|| Renderer::new(self.exposition.clone()));
        if let Some(Observed { text, .. }) = stale.and_then(Arc::into_inner) {
            renderer.take_back(text);
        }
        let text = renderer.render(&snapshot);
        *between_reads() = Some(renderer);
        Arc::new(Observed::new(Arc::new(snapshot), history, text))
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
    pub(super) async fn landed(&self, mut reading: InFlight, deadline: Instant) -> Arc<Observed> {
        let began = Instant::now();
        let failure = match timeout_at(deadline, reading.wait_for(Option::is_some)).await {
            Ok(Ok(landed)) => match &*landed {
                Some(observed) => return Arc::clone(observed),
                None => ReadFailure::Refused,
            },
            Ok(Err(_)) => ReadFailure::Refused,
            Err(_) => ReadFailure::Timeout,
        };
        let (known, history) = {
            let latest = self.latest();
            (Arc::clone(&latest.known), latest.history.clone())
        };
        let (took, exposition) = (began.elapsed(), self.exposition.clone());
        let unread = move || {
            let snapshot = Arc::new(known.unread(failure, took));
            let text = Renderer::new(exposition).render(&snapshot);
            Arc::new(Observed::new(snapshot, history, text))
        };
        // Of many leases, that takes a while too.
        match tokio::task::spawn_blocking(unread.clone()).await {
            Ok(observed) => observed,
            // It panicked, and what it says of nothing is to be said all the same.
            Err(_) => unread(),
        }
    }
}
