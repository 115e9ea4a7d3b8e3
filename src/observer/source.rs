//! One source: its reader, its latest reading, and the one on its way.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedMutexGuard, watch};
use tokio::time::{Instant, timeout_at};
use tracing::{info, warn};

use super::glance::{Glance, Waiting};
use super::once::Once;
use super::{Observable, Observed, StillRead};
use crate::clock;
use crate::expose::metrics::{Exposition, Renderer};
use crate::history::History;
use crate::lease::{Memory, ReadFailure, SourceSnapshot};
use crate::store::Store;

/// How long a read that ends at its deadline may take to be given up, judged and rendered.
const RESERVE: Duration = Duration::from_secs(10);

/// A reading on its way.
#[derive(Clone, Debug)]
pub(super) struct InFlight {
    began: Instant,
    landing: watch::Receiver<Option<Arc<Observed>>>,
    /// What to say meanwhile: that nothing is known. Made for whoever first needs it.
    unread: Arc<Once<Arc<SourceSnapshot>>>,
}

/// What a scrape gets: a reading that is young enough, or one on its way.
pub(super) enum Look {
    Shared(Arc<Observed>),
    InFlight(InFlight),
}

/// For how long what the last look showed stands while the next reading is on its way. An open page counts as not live
/// after as long.
const STANDS: Duration = Duration::from_secs(6);

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
    /// When the last look ended, and what its time is on the clock of looks; `None` before the first.
    looked: Option<(Instant, Duration)>,
    /// Since when it has been asked without answering, if it was asked.
    asked: Instant,
    /// The last reading and when it ended, until the next one begins.
    reading: Option<(Instant, Arc<Observed>)>,
    in_flight: Option<InFlight>,
    /// Whether the last read failed, and why: so that the log tells changes alone.
    failing: Option<ReadFailure>,
}

impl Latest {
    /// When the last look was, if what it showed still stands.
    fn standing(&self) -> Option<Duration> {
        self.looked.filter(|(ended, _)| ended.elapsed() <= STANDS).map(|(_, at)| at)
    }
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
                looked: None,
                asked: Instant::now(),
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
        let (failing, asked, history) = {
            let latest = self.latest();
            (latest.failing, latest.asked, reader.history.clone())
        };
        Self {
            name,
            timeout,
            reuse_for,
            exposition,
            reader: Arc::clone(&self.reader),
            renderer: Mutex::default(),
            latest: Mutex::new(Latest { known, history, looked: None, asked, reading: None, in_flight: None, failing }),
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
            && reading.landing.has_changed().is_ok()
        {
            return Look::InFlight(reading.clone());
        }
        if let Some((ended, observed)) = &latest.reading
            && ended.elapsed() < self.reuse_for
        {
            return Look::Shared(Arc::clone(observed));
        }
        let (sender, landing) = watch::channel(None);
        let reading = InFlight { began: Instant::now(), landing, unread: Arc::default() };
        latest.in_flight = Some(reading.clone());
        if latest.failing != Some(ReadFailure::Timeout) {
            latest.asked = reading.began;
        }
        let stale = latest.reading.take().map(|(_, observed)| observed);
        let deadline = deadline.min(reading.began + self.timeout);
        tokio::spawn(Arc::clone(self).read(deadline, stale, sender));
        Look::InFlight(reading)
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
        // The ages of a reading are as of its snapshot, and so is what comes of it.
        let at = taken.as_ref().map_or_else(|_| clock::monotonic(), |taken| taken.at.ended);
        let failure = taken.as_ref().err().map(|error| (error.failure(), error.to_string()));
        // Judging and rendering many leases takes a while too, and must not hold up other requests.
        let source = Arc::clone(&self);
        let observed = tokio::task::spawn_blocking(move || {
            let snapshot = match taken {
                Ok(taken) => reader.memory.take_in(taken.reading, taken.at, took, taken.clock_offset),
                Err(error) => reader.memory.failed(error.failure(), took),
            };
            reader.history.take_in(&snapshot, at);
            source.rendered(snapshot, reader.history.clone(), at, stale)
        });
        // If that panicked, the sender goes unsent and everyone who waits says that nothing is known.
        let Ok(observed) = observed.await else { return };
        let mut latest = self.latest();
        latest.known = Arc::clone(&observed.snapshot);
        latest.history = observed.history.clone();
        let ended = Instant::now();
        latest.looked = Some((ended, at));
        latest.reading = Some((ended, Arc::clone(&observed)));
        latest.in_flight = None;
        self.tell(&mut latest, failure);
        drop(latest);
        sender.send_replace(Some(observed));
    }

    /// Renders a snapshot into the pieces of a reading that is no longer served, as far as no scrape still holds them.
    fn rendered(
        &self,
        snapshot: SourceSnapshot,
        history: History,
        at: Duration,
        stale: Option<Arc<Observed>>,
    ) -> Arc<Observed> {
        let between_reads = || self.renderer.lock().unwrap_or_else(PoisonError::into_inner);
        let renderer = between_reads().take();
        let mut renderer = renderer.unwrap_or_else(|| Renderer::new(self.exposition.clone()));
        if let Some(Observed { text, .. }) = stale.and_then(Arc::into_inner) {
            renderer.take_back(text);
        }
        let text = renderer.render(&snapshot);
        *between_reads() = Some(renderer);
        Arc::new(Observed::new(Arc::new(snapshot), history, at, text))
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
        let failure = match timeout_at(deadline, reading.landing.wait_for(Option::is_some)).await {
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
            Arc::new(Observed::new(snapshot, history, clock::monotonic(), text))
        };
        // Of many leases, that takes a while too.
        match tokio::task::spawn_blocking(unread.clone()).await {
            Ok(observed) => observed,
            // It panicked, and what it says of nothing is to be said all the same.
            Err(_) => unread(),
        }
    }

    /// What there is to show to somebody who waits only so long for a reading on its way, and then takes what is known.
    pub(super) async fn glanced(&self, look: Look, waiting: Waiting, deadline: Instant) -> Glance {
        let mut reading = match look {
            Look::Shared(observed) => return self.seen(&observed),
            Look::InFlight(reading) => reading,
        };
        let patience = {
            let latest = self.latest();
            let waiting = if latest.standing().is_some() { Waiting::Briefly } else { waiting };
            waiting.patience(latest.known.health.read_in())
        };
        let landing = timeout_at(deadline.min(reading.began + patience), reading.landing.wait_for(Option::is_some));
        match landing.await.map(|landed| landed.ok().and_then(|observed| observed.clone())) {
            Ok(Some(observed)) => self.seen(&observed),
            Ok(None) => self.unread(&reading, ReadFailure::Refused, None).await,
            Err(_) => self.meanwhile(&reading).await,
        }
    }

    /// What a look showed that has ended.
    fn seen(&self, observed: &Observed) -> Glance {
        let timed_out = observed.snapshot.health.outcome == Err(ReadFailure::Timeout);
        Glance {
            snapshot: Arc::clone(&observed.snapshot),
            history: observed.history.clone(),
            at: observed.at,
            unanswered: timed_out.then(|| self.latest().asked.elapsed()),
        }
    }

    /// What is known while a reading takes longer: what the look before it showed, for a while, and then nothing.
    async fn meanwhile(&self, reading: &InFlight) -> Glance {
        let unanswered = {
            let latest = self.latest();
            let unanswered = Some(latest.asked.elapsed());
            if let Some(at) = latest.standing() {
                let (snapshot, history) = (Arc::clone(&latest.known), latest.history.clone());
                return Glance { snapshot, history, at, unanswered };
            }
            unanswered
        };
        self.unread(reading, ReadFailure::Timeout, unanswered).await
    }

    /// That nothing is known. Of many leases that takes a while to say, so it is said once for each reading.
    async fn unread(&self, reading: &InFlight, failure: ReadFailure, unanswered: Option<Duration>) -> Glance {
        let (known, history) = {
            let latest = self.latest();
            (Arc::clone(&latest.known), latest.history.clone())
        };
        let took = reading.began.elapsed();
        let unread = {
            let known = Arc::clone(&known);
            reading.unread.get_or_make(move || Arc::new(known.unread(failure, took))).await.map(Arc::clone)
        };
        let snapshot = unread.unwrap_or_else(|| Arc::new(known.unread(failure, took)));
        Glance { snapshot, history, at: clock::monotonic(), unanswered }
    }
}
