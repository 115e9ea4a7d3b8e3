//! One source: its store, its evaluator, the latest reading and the pending one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use tokio::sync::{OwnedMutexGuard, watch};
use tokio::time::{Instant, timeout_at};
use tracing::{info, warn};

use super::cached_reading::{CachedReading, LatestCompressed};
use super::shared_once::SharedOnce;
use super::{ReadOverrun, SourceSetup, WaitLimit};
use crate::clock;
use crate::expose::page::ObservedSource;
use crate::history::History;
use crate::lease::{ReadFailure, SourceEvaluator, SourceSnapshot};
use crate::store::{ReadError, ReadResult, Store};

/// The time that is allowed for a read to end and to be evaluated after its deadline.
const OVERRUN_ALLOWANCE: Duration = Duration::from_secs(10);

/// How long a page shows the latest reading while the next one is pending. An open page without an update for as long is
/// marked as not live.
const DISPLAY_PERIOD: Duration = Duration::from_secs(6);

/// Readings of up to this many leases are evaluated on the task that read them. A change of threads would take longer.
const MAX_LEASES_EVALUATED_ON_TASK: usize = 500;

/// A reading that has not ended yet. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct PendingRead {
    started: Instant,
    result: watch::Receiver<Option<Arc<CachedReading>>>,
    /// The view for requests that cannot wait, in which every lease is unknown. Made once, for the first of them.
    unread: Arc<SharedOnce<Arc<CachedReading>>>,
}

impl PendingRead {
    /// Waits for the reading until `deadline`.
    async fn wait(&mut self, deadline: Instant) -> Result<Arc<CachedReading>, ReadFailure> {
        match timeout_at(deadline, self.result.wait_for(Option::is_some)).await {
            Ok(Ok(reading)) => reading.clone().ok_or(ReadFailure::Refused),
            // The task that reads has panicked.
            Ok(Err(_)) => Err(ReadFailure::Refused),
            Err(_) => Err(ReadFailure::Timeout),
        }
    }
}

/// A reading that a request has joined.
pub(super) enum PendingOrCached {
    /// A reading that is recent enough to be shared.
    Cached(Arc<CachedReading>),
    /// A reading that has not ended yet.
    Pending(PendingRead),
}

/// One source.
#[derive(Debug)]
pub(super) struct Source {
    name: Arc<str>,
    timeout: Duration,
    reuse_for: Duration,
    /// Locked by one read at a time. Requests that arrive during a read share it.
    reader: Arc<tokio::sync::Mutex<Reader>>,
    latest: Mutex<LatestReading>,
    compressed: Arc<LatestCompressed>,
}

/// A store, and the state that is kept between its readings.
#[derive(Debug)]
pub(super) struct Reader {
    store: Box<dyn Store>,
    evaluator: SourceEvaluator,
    history: History,
}

#[derive(Debug)]
struct LatestReading {
    /// The latest reading; before the first one, the expected leases, every one unknown.
    reading: Arc<CachedReading>,
    /// When the latest reading ended; `None` before the first one.
    ended: Option<Instant>,
    pending: Option<PendingRead>,
    /// When the oldest request was sent to which the store has not responded.
    unanswered_since: Instant,
    /// The failure of the last read, so that only changes are logged.
    failure: Option<ReadFailure>,
}

impl LatestReading {
    /// Whether a page may show the latest reading while the next one is pending.
    fn is_displayable(&self) -> bool {
        self.ended.is_some_and(|ended| ended.elapsed() <= DISPLAY_PERIOD)
    }
}

impl Source {
    /// A source that was never read.
    pub(super) fn new(setup: SourceSetup) -> Self {
        let SourceSetup { name, store, evaluator, timeout, reuse_for } = setup;
        let reader = Reader { store, evaluator, history: History::default() };
        let latest = reader.initial_reading(Instant::now(), None);
        let reader = Arc::new(tokio::sync::Mutex::new(reader));
        Self { name, timeout, reuse_for, reader, latest, compressed: Arc::default() }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Waits until no read is pending and prevents the next one. `started` is when the caller began to wait.
    pub(super) async fn lock_reader(&self, started: Instant) -> Result<OwnedMutexGuard<Reader>, ReadOverrun> {
        let deadline = started + self.timeout + OVERRUN_ALLOWANCE;
        let reader = timeout_at(deadline, Arc::clone(&self.reader).lock_owned()).await;
        reader.map_err(|_| ReadOverrun { source_name: Arc::clone(&self.name) })
    }

    /// This source with other policies and limits. It keeps the store with its open connection, the tracked leases and the
    /// history. `reader` is the locked reader of this source.
    pub(super) fn reconfigure(&self, reader: &mut Reader, setup: SourceSetup) -> Self {
        let SourceSetup { name, store: _, mut evaluator, timeout, reuse_for } = setup;
        evaluator.inherit(&mut reader.evaluator);
        reader.evaluator = evaluator;
        let (unanswered_since, failure) = {
            let latest = self.latest();
            (latest.unanswered_since, latest.failure)
        };
        let latest = reader.initial_reading(unanswered_since, failure);
        Self { name, timeout, reuse_for, reader: Arc::clone(&self.reader), latest, compressed: Arc::default() }
    }

    fn latest(&self) -> MutexGuard<'_, LatestReading> {
        // Each field is changed by one assignment, so a panic in another thread leaves the value usable.
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Joins the pending reading or the cached one, or else starts a read. The timeout of a read is the source's own,
    /// whatever the deadline of the request.
    pub(super) fn join(self: &Arc<Self>) -> PendingOrCached {
        let mut latest = self.latest();
        match &latest.pending {
            Some(pending) if pending.result.has_changed().is_ok() => return PendingOrCached::Pending(pending.clone()),
            // The task that reads has panicked.
            Some(_) => {}
            None if latest.ended.is_some_and(|ended| ended.elapsed() < self.reuse_for) => {
                return PendingOrCached::Cached(Arc::clone(&latest.reading));
            }
            None => {}
        }
        let (sender, result) = watch::channel(None);
        let pending = PendingRead { started: Instant::now(), result, unread: Arc::default() };
        latest.pending = Some(pending.clone());
        if latest.failure != Some(ReadFailure::Timeout) {
            latest.unanswered_since = pending.started;
        }
        tokio::spawn(Arc::clone(self).read(pending.started + self.timeout, sender));
        PendingOrCached::Pending(pending)
    }

    /// Reads and evaluates, and passes the reading to all requests that wait for it.
    async fn read(self: Arc<Self>, deadline: Instant, sender: watch::Sender<Option<Arc<CachedReading>>>) {
        let mut reader = Arc::clone(&self.reader).lock_owned().await;
        let started = Instant::now();
        let result = read_store(&mut *reader.store, deadline).await;
        let duration = started.elapsed();
        let failure = result.as_ref().err().map(|error| (error.failure(), error.to_string()));
        let leases = result.as_ref().map_or(reader.evaluator.leases(), |reading| reading.records.accepted.len());
        let compressed = Arc::clone(&self.compressed);
        let evaluate = move || {
            let (snapshot, at) = reader.evaluate(result, duration);
            Arc::new(CachedReading::new(Arc::new(snapshot), reader.history.clone(), at, compressed))
        };
        let reading = if leases <= MAX_LEASES_EVALUATED_ON_TASK {
            evaluate()
        } else {
            // The evaluation of many leases must not delay other requests. If it panics, the sender is dropped, and every
            // request that waits gets the view in which all leases are unknown.
            let Ok(reading) = tokio::task::spawn_blocking(evaluate).await else { return };
            reading
        };
        let mut latest = self.latest();
        latest.reading = Arc::clone(&reading);
        latest.ended = Some(Instant::now());
        latest.pending = None;
        self.log_change(&mut latest, failure);
        drop(latest);
        sender.send_replace(Some(reading));
    }

    /// Logs when the source starts or stops failing, or fails for another reason.
    fn log_change(&self, latest: &mut LatestReading, failure: Option<(ReadFailure, String)>) {
        let source = &*self.name;
        match (latest.failure, failure) {
            (before, Some((failure, error))) if before != Some(failure) => {
                warn!(source, reason = failure.as_str(), error, "the source cannot be read: its leases are unknown");
                latest.failure = Some(failure);
            }
            (Some(_), None) => {
                info!(source, "the source can be read again");
                latest.failure = None;
            }
            _ => {}
        }
    }

    /// Waits for a pending reading until `deadline`. After the deadline, the result is a view in which every lease is
    /// unknown, which is neither counted nor recorded. The read continues.
    pub(super) async fn wait(&self, mut pending: PendingRead, deadline: Instant) -> Arc<CachedReading> {
        match pending.wait(deadline).await {
            Ok(reading) => reading,
            Err(failure) => self.unread(&pending, failure).await,
        }
    }

    /// The view in which every lease is unknown, made once for each pending reading.
    async fn unread(&self, pending: &PendingRead, failure: ReadFailure) -> Arc<CachedReading> {
        let latest = Arc::clone(&self.latest().reading);
        let (duration, compressed) = (pending.started.elapsed(), Arc::clone(&self.compressed));
        let unread = move || {
            let snapshot = Arc::new(latest.snapshot.unread(failure, duration));
            Arc::new(CachedReading::new(snapshot, latest.history.clone(), clock::monotonic(), compressed))
        };
        match pending.unread.get_or_make(unread.clone()).await {
            Some(unread) => Arc::clone(unread),
            // The task that makes the view has panicked.
            None => unread(),
        }
    }

    /// The view for a page, which waits for a pending reading for a limited time only.
    pub(super) async fn observed_source(
        &self,
        joined: PendingOrCached,
        limit: WaitLimit,
        deadline: Instant,
    ) -> ObservedSource {
        let mut pending = match joined {
            PendingOrCached::Cached(reading) => return self.view(&reading),
            PendingOrCached::Pending(pending) => pending,
        };
        let wait = {
            let latest = self.latest();
            let limit = if latest.is_displayable() { WaitLimit::Short } else { limit };
            limit.duration(latest.reading.snapshot.health.read_duration())
        };
        match pending.wait(deadline.min(pending.started + wait)).await {
            Ok(reading) => self.view(&reading),
            Err(ReadFailure::Timeout) => self.view_pending(&pending).await,
            Err(failure) => self.view(&*self.unread(&pending, failure).await),
        }
    }

    /// The view of a reading that has ended.
    fn view(&self, reading: &CachedReading) -> ObservedSource {
        let timed_out = reading.snapshot.health.outcome == Err(ReadFailure::Timeout);
        let unanswered = timed_out.then(|| self.latest().unanswered_since.elapsed());
        reading.observed_source(reading.at, unanswered)
    }

    /// The view while a reading is pending: the reading before it for [`DISPLAY_PERIOD`], and then no known lease.
    async fn view_pending(&self, pending: &PendingRead) -> ObservedSource {
        let unanswered = {
            let latest = self.latest();
            let unanswered = Some(latest.unanswered_since.elapsed());
            if latest.is_displayable() {
                return latest.reading.observed_source(latest.reading.at, unanswered);
            }
            unanswered
        };
        let unread = self.unread(pending, ReadFailure::Timeout).await;
        unread.observed_source(clock::monotonic(), unanswered)
    }
}

impl Reader {
    /// The state of a source that has not been read since it was configured.
    fn initial_reading(&self, unanswered_since: Instant, failure: Option<ReadFailure>) -> Mutex<LatestReading> {
        let snapshot = Arc::new(self.evaluator.unread(ReadFailure::Timeout, Duration::ZERO));
        let reading = CachedReading::new(snapshot, self.history.clone(), clock::monotonic(), Arc::default());
        let reading = Arc::new(reading);
        Mutex::new(LatestReading { reading, ended: None, pending: None, unanswered_since, failure })
    }

    /// Evaluates a reading and records it in the history. Returns the snapshot and its time on the monotonic clock.
    fn evaluate(&mut self, result: ReadResult, duration: Duration) -> (SourceSnapshot, Duration) {
        let (snapshot, at) = match result {
            Ok(reading) => {
                let at = reading.interval.end;
                (self.evaluator.evaluate(reading, duration), at)
            }
            Err(error) => (self.evaluator.fail(error.failure(), duration), clock::monotonic()),
        };
        self.history.record(&snapshot, at);
        (snapshot, at)
    }
}

/// Reads a store. A panic of a client library counts as a failed read of this source.
async fn read_store(store: &mut dyn Store, deadline: Instant) -> ReadResult {
    let mut read = pin!(store.read(deadline));
    // A store gives its connection up before it uses it, so the connection of a read that panicked is not used again.
    std::future::poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| read.as_mut().poll(context))) {
        Ok(poll) => poll,
        Err(_) => Poll::Ready(Err(ReadError::Refused(
            "reading the store panicked, which is a bug of the exporter or of the library that it reads with"
                .to_owned(),
        ))),
    })
    .await
}
