//! One source: its store and tracker, its latest reading, and the reading in flight.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use tokio::sync::{OwnedMutexGuard, watch};
use tokio::time::{Instant, timeout_at};
use tracing::{info, warn};

use super::cached_reading::LatestCompressed;
use super::partial_view::{PartialView, WaitLimit};
use super::shared_once::SharedOnce;
use super::{CachedReading, ReadOverrun, SourceSetup};
use crate::clock;
use crate::history::History;
use crate::lease::{ReadFailure, SourceEvaluator, SourceSnapshot};
use crate::store::{ReadError, ReadResult, Store};

/// How long a read that ends at its deadline may take to be given up, tracked and judged.
const RESERVE: Duration = Duration::from_secs(10);

/// For how long the latest reading is shown to people while the next one is in flight. An open page counts as not live
/// after as long.
const STANDS: Duration = Duration::from_secs(6);

/// Up to so many leases, a reading is judged on the task that took it: handing it to another thread would take longer.
const FEW: u64 = 500;

/// A reading in flight.
#[derive(Clone, Debug)]
pub(super) struct PendingRead {
    began: Instant,
    landing: watch::Receiver<Option<Arc<CachedReading>>>,
    /// The view for those who cannot wait: that nothing is known. Made once, when the first of them needs it.
    unread: Arc<SharedOnce<Arc<CachedReading>>>,
}

/// What a request gets at once.
pub(super) enum PendingOrCached {
    /// A reading that is young enough to be shared.
    Cached(Arc<CachedReading>),
    /// A reading in flight.
    Pending(PendingRead),
}

/// One source.
#[derive(Debug)]
pub(super) struct Source {
    name: Arc<str>,
    timeout: Duration,
    reuse_for: Duration,
    /// Used by one read at a time. Requests that come meanwhile share that read.
    reader: Arc<tokio::sync::Mutex<Reader>>,
    latest: Mutex<LatestReading>,
    compressed: Arc<LatestCompressed>,
}

/// A store, and what its readings have shown so far.
#[derive(Debug)]
pub(super) struct Reader {
    store: Box<dyn Store>,
    evaluator: SourceEvaluator,
    history: History,
}

#[derive(Debug)]
struct LatestReading {
    /// The leases that are known.
    known: Arc<SourceSnapshot>,
    history: History,
    /// When the latest reading ended, and what its time is on the exporter's monotonic clock; `None` before the first.
    read: Option<(Instant, Duration)>,
    /// Since when the store has been asked without answering, if it was asked.
    asked: Instant,
    /// The latest reading and when it ended, until the next one begins.
    reading: Option<(Instant, Arc<CachedReading>)>,
    in_flight: Option<PendingRead>,
    /// Whether the last read failed, and why: so that the log tells changes alone.
    failing: Option<ReadFailure>,
}

impl LatestReading {
    fn new(known: SourceSnapshot, history: History, asked: Instant, failing: Option<ReadFailure>) -> Mutex<Self> {
        let known = Arc::new(known);
        Mutex::new(Self { known, history, read: None, asked, reading: None, in_flight: None, failing })
    }

    /// When the latest reading was, if it may still be shown.
    fn standing(&self) -> Option<Duration> {
        self.read.filter(|(ended, _)| ended.elapsed() <= STANDS).map(|(_, at)| at)
    }
}

impl Source {
    /// A source that was never read.
    pub(super) fn new(source: SourceSetup) -> Self {
        let SourceSetup { name, store, evaluator, timeout, reuse_for } = source;
        let known = evaluator.unread(ReadFailure::Timeout, Duration::ZERO);
        Self {
            name,
            timeout,
            reuse_for,
            reader: Arc::new(tokio::sync::Mutex::new(Reader { store, evaluator, history: History::default() })),
            latest: LatestReading::new(known, History::default(), Instant::now(), None),
            compressed: Arc::default(),
        }
    }

    /// Its name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Waits for the read in flight, for as long after `began` as one may take, and keeps the next one from beginning.
    pub(super) async fn held_still(&self, began: Instant) -> Result<OwnedMutexGuard<Reader>, ReadOverrun> {
        let ended = timeout_at(began + self.timeout + RESERVE, Arc::clone(&self.reader).lock_owned()).await;
        ended.map_err(|_| ReadOverrun { source_name: Arc::clone(&self.name) })
    }

    /// The source that follows this one and is read as before: it keeps the store, with its open connection, and what is
    /// known. `reader` is this source's own, held still.
    pub(super) fn followed_by(&self, reader: &mut Reader, source: SourceSetup) -> Self {
        let SourceSetup { name, store: _, mut evaluator, timeout, reuse_for } = source;
        evaluator.inherit(&mut reader.evaluator);
        reader.evaluator = evaluator;
        let known = reader.evaluator.unread(ReadFailure::Timeout, Duration::ZERO);
        let (failing, asked) = {
            let latest = self.latest();
            (latest.failing, latest.asked)
        };
        Self {
            name,
            timeout,
            reuse_for,
            reader: Arc::clone(&self.reader),
            latest: LatestReading::new(known, reader.history.clone(), asked, failing),
            compressed: Arc::default(),
        }
    }

    fn latest(&self) -> MutexGuard<'_, LatestReading> {
        // Every change to it is a single assignment, so a panic elsewhere leaves nothing half done.
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Joins the cached reading or the one in flight, or else starts a read, which has until the source's own timeout
    /// whoever asked for it.
    pub(super) fn join(self: &Arc<Self>) -> PendingOrCached {
        let mut latest = self.latest();
        if let Some(reading) = &latest.in_flight
            && reading.landing.has_changed().is_ok()
        {
            return PendingOrCached::Pending(reading.clone());
        }
        if let Some((ended, reading)) = &latest.reading
            && ended.elapsed() < self.reuse_for
        {
            return PendingOrCached::Cached(Arc::clone(reading));
        }
        let (sender, landing) = watch::channel(None);
        let reading = PendingRead { began: Instant::now(), landing, unread: Arc::default() };
        latest.in_flight = Some(reading.clone());
        if latest.failing != Some(ReadFailure::Timeout) {
            latest.asked = reading.began;
        }
        latest.reading = None;
        tokio::spawn(Arc::clone(self).read(reading.began + self.timeout, sender));
        PendingOrCached::Pending(reading)
    }

    /// Reads, tracks and judges, and hands the reading to all who wait for it.
    async fn read(self: Arc<Self>, deadline: Instant, sender: watch::Sender<Option<Arc<CachedReading>>>) {
        let mut reader = Arc::clone(&self.reader).lock_owned().await;
        let began = Instant::now();
        let result = read_contained(&mut *reader.store, deadline).await;
        let took = began.elapsed();
        let failure = result.as_ref().err().map(|error| (error.failure(), error.to_string()));
        let leases = result.as_ref().map_or(reader.evaluator.leases(), |taken| taken.records.accepted.len()) as u64;
        let source = Arc::clone(&self);
        let take_in = move || source.taken_in(&mut reader, result, took);
        let reading = if leases <= FEW {
            take_in()
        } else {
            // Judging many leases takes a while, and must not hold up other requests. If that panics, the sender is
            // dropped and everyone who waits is told that nothing is known.
            let Ok(reading) = tokio::task::spawn_blocking(take_in).await else { return };
            reading
        };
        let mut latest = self.latest();
        latest.known = Arc::clone(&reading.snapshot);
        latest.history = reading.history.clone();
        let ended = Instant::now();
        latest.read = Some((ended, reading.at));
        latest.reading = Some((ended, Arc::clone(&reading)));
        latest.in_flight = None;
        self.tell(&mut latest, failure);
        drop(latest);
        sender.send_replace(Some(reading));
    }

    fn taken_in(&self, reader: &mut Reader, result: ReadResult, took: Duration) -> Arc<CachedReading> {
        // The ages of a reading are as of its snapshot.
        let at = result.as_ref().map_or_else(|_| clock::monotonic(), |taken| taken.interval.end);
        let snapshot = match result {
            Ok(taken) => reader.evaluator.evaluate(taken, took),
            Err(error) => reader.evaluator.fail(error.failure(), took),
        };
        reader.history.record(&snapshot, at);
        let latest = Arc::clone(&self.compressed);
        Arc::new(CachedReading::of_source(Arc::new(snapshot), reader.history.clone(), at, latest))
    }

    /// Logs a source that begins or ceases to fail, once.
    fn tell(&self, latest: &mut LatestReading, failure: Option<(ReadFailure, String)>) {
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

    /// Waits for a reading in flight until `deadline`. A request that cannot wait any longer is told that nothing is known;
    /// the reading goes on, and nothing of this is counted or kept.
    pub(super) async fn landed(&self, mut reading: PendingRead, deadline: Instant) -> Arc<CachedReading> {
        let landed = timeout_at(deadline, reading.landing.wait_for(Option::is_some)).await;
        match landed.map(|landed| landed.ok().and_then(|reading| reading.clone())) {
            Ok(Some(landed)) => landed,
            Ok(None) => self.unread(&reading, ReadFailure::Refused).await,
            Err(_) => self.unread(&reading, ReadFailure::Timeout).await,
        }
    }

    /// The view that nothing is known, made once for each reading in flight and shared by all who cannot wait for it.
    async fn unread(&self, reading: &PendingRead, failure: ReadFailure) -> Arc<CachedReading> {
        let (known, history) = {
            let latest = self.latest();
            (Arc::clone(&latest.known), latest.history.clone())
        };
        let (took, compressed) = (reading.began.elapsed(), Arc::clone(&self.compressed));
        let unread = move || {
            let snapshot = Arc::new(known.unread(failure, took));
            Arc::new(CachedReading::of_source(snapshot, history, clock::monotonic(), compressed))
        };
        match reading.unread.get_or_make(unread.clone()).await {
            Some(unread) => Arc::clone(unread),
            // Making it panicked, and it has to be answered all the same.
            None => unread(),
        }
    }

    /// What there is to show to people, who wait only so long for a reading in flight.
    pub(super) async fn partial_view(
        &self,
        joined: PendingOrCached,
        waiting: WaitLimit,
        deadline: Instant,
    ) -> PartialView {
        let mut reading = match joined {
            PendingOrCached::Cached(reading) => return self.view(&reading),
            PendingOrCached::Pending(reading) => reading,
        };
        let limit = {
            let latest = self.latest();
            let waiting = if latest.standing().is_some() { WaitLimit::Short } else { waiting };
            waiting.limit(latest.known.health.read_duration())
        };
        let landing = timeout_at(deadline.min(reading.began + limit), reading.landing.wait_for(Option::is_some));
        match landing.await.map(|landed| landed.ok().and_then(|reading| reading.clone())) {
            Ok(Some(landed)) => self.view(&landed),
            Ok(None) => self.view(&*self.unread(&reading, ReadFailure::Refused).await),
            Err(_) => self.view_in_flight(&reading).await,
        }
    }

    /// The view of a reading that has ended.
    fn view(&self, reading: &CachedReading) -> PartialView {
        let timed_out = reading.snapshot.health.outcome == Err(ReadFailure::Timeout);
        PartialView {
            snapshot: Arc::clone(&reading.snapshot),
            history: reading.history.clone(),
            at: reading.at,
            unanswered: timed_out.then(|| self.latest().asked.elapsed()),
        }
    }

    /// The view while a reading takes longer: the reading before it, for a while, and then that nothing is known.
    async fn view_in_flight(&self, reading: &PendingRead) -> PartialView {
        let unanswered = {
            let latest = self.latest();
            let unanswered = Some(latest.asked.elapsed());
            if let Some(at) = latest.standing() {
                let (snapshot, history) = (Arc::clone(&latest.known), latest.history.clone());
                return PartialView { snapshot, history, at, unanswered };
            }
            unanswered
        };
        let unread = self.unread(reading, ReadFailure::Timeout).await;
        let (snapshot, history) = (Arc::clone(&unread.snapshot), unread.history.clone());
        PartialView { snapshot, history, at: clock::monotonic(), unanswered }
    }
}

/// Reads a store. A panic of the client library counts as a failure of this source.
async fn read_contained(store: &mut dyn Store, deadline: Instant) -> ReadResult {
    let mut read = pin!(store.read(deadline));
    // A store that panicked has given its connection up, so nothing half done is used again.
    std::future::poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| read.as_mut().poll(context))) {
        Ok(poll) => poll,
        Err(_) => Poll::Ready(Err(ReadError::Refused(
            "reading the store panicked, which is a bug of the exporter or of the library that it reads with"
                .to_owned(),
        ))),
    })
    .await
}
