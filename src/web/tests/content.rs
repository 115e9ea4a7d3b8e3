//! Test content.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::expose::gzip;
use crate::expose::page::ObservedSource;
use crate::expose::testing::snapshots;
use crate::expose::{Encoding, Format};
use crate::history::History;
use crate::observer::{CachedReading, EncodedText, NotConfigured, SourceSelection, WaitLimit};
use crate::web::Content;

/// Sample snapshots, with the given metrics.
#[derive(Debug)]
pub(super) struct Fake {
    metrics: Vec<Bytes>,
    /// Whether each request gets a copy of the metrics, as after a new reading.
    copies: bool,
    panics: bool,
    /// Each request for metrics adds a permit to the first, and waits for a permit of the second.
    gate: Option<(Arc<Semaphore>, Arc<Semaphore>)>,
    /// Requests for readings add a permit and never complete.
    reading_calls: Option<Arc<Semaphore>>,
    /// The time limit of the last request.
    pub(super) time_limit: Arc<Mutex<Option<Duration>>>,
    /// The parameters of the last scrape.
    pub(super) last: Arc<Mutex<Option<(SourceSelection, Format, Encoding)>>>,
}

impl Fake {
    pub(super) fn with_metrics(metrics: Vec<Bytes>) -> Self {
        Self {
            metrics,
            copies: false,
            panics: false,
            gate: None,
            reading_calls: None,
            time_limit: Arc::default(),
            last: Arc::default(),
        }
    }

    pub(super) fn plain() -> Self {
        Self::with_metrics(vec![Bytes::from_static(b"a 1\n"), Bytes::new(), Bytes::from_static(b"b 2\n")])
    }

    /// Metrics of this many chunks of this many bytes, copied for each request.
    pub(super) fn with_copied_metrics(pieces: usize, bytes: usize) -> Self {
        Self { copies: true, ..Self::with_metrics(vec![Bytes::from(vec![b'x'; bytes]); pieces]) }
    }

    /// Content whose `readings` never completes; the semaphore gets a permit for each call.
    pub(super) fn with_pending_readings() -> (Self, Arc<Semaphore>) {
        let reading_calls = Arc::new(Semaphore::new(0));
        (Self { reading_calls: Some(Arc::clone(&reading_calls)), ..Self::plain() }, reading_calls)
    }

    pub(super) fn panicking() -> Self {
        Self { panics: true, ..Self::plain() }
    }

    /// Content whose `metrics` blocks; the first semaphore gets a permit for each call, and each permit of the second completes one.
    pub(super) fn with_blocked_metrics() -> (Self, Arc<Semaphore>, Arc<Semaphore>) {
        let (entered, go) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let gate = Some((Arc::clone(&entered), Arc::clone(&go)));
        (Self { gate, ..Self::plain() }, entered, go)
    }
}

impl Content for Fake {
    fn configured(&self, sources: &SourceSelection) -> Result<(), NotConfigured> {
        let snapshots = snapshots::all();
        let is = |name: &String| snapshots.iter().any(|snapshot| **name == *snapshot.source);
        match sources {
            SourceSelection::Named(names) if !names.iter().all(is) => Err(NotConfigured),
            SourceSelection::All | SourceSelection::Named(_) => Ok(()),
        }
    }

    async fn metrics(
        &self,
        sources: SourceSelection,
        format: Format,
        encoding: Encoding,
        deadline: Instant,
    ) -> Result<EncodedText, NotConfigured> {
        *self.time_limit.lock().unwrap() = Some(deadline - Instant::now());
        assert!(!self.panics, "as asked for");
        if let Some((entered, go)) = &self.gate {
            entered.add_permits(1);
            go.acquire().await.unwrap().forget();
        }
        if let SourceSelection::Named(names) = &sources
            && !names.iter().all(|name| name == "documents")
        {
            return Err(NotConfigured);
        }
        *self.last.lock().unwrap() = Some((sources, format, encoding));
        match encoding {
            Encoding::GzipRequired => Ok(EncodedText::Gzip(gzip::stream([], &self.metrics).unwrap())),
            Encoding::Gzip | Encoding::Identity if self.copies => {
                Ok(EncodedText::Plain(self.metrics.iter().map(|piece| Bytes::copy_from_slice(piece)).collect()))
            }
            Encoding::Gzip | Encoding::Identity => Ok(EncodedText::Plain(self.metrics.clone())),
        }
    }

    async fn readings(
        &self,
        sources: SourceSelection,
        _deadline: Instant,
    ) -> Result<Vec<Arc<CachedReading>>, NotConfigured> {
        if let Some(reading_calls) = &self.reading_calls {
            reading_calls.add_permits(1);
            std::future::pending::<()>().await;
        }
        let (history, at) = (History::default(), Duration::ZERO);
        let reading = |snapshot| Arc::new(CachedReading::new(Arc::new(snapshot), history.clone(), at, Arc::default()));
        let snapshots = snapshots::all();
        match sources {
            SourceSelection::All => Ok(snapshots.into_iter().map(reading).collect()),
            SourceSelection::Named(names) => {
                let all: Vec<_> = snapshots.iter().map(|snapshot| snapshot.source.to_string()).collect();
                if names.iter().any(|name| !all.contains(name)) {
                    return Err(NotConfigured);
                }
                let chosen =
                    snapshots.into_iter().filter(|snapshot| names.iter().any(|name| **name == *snapshot.source));
                Ok(chosen.map(reading).collect())
            }
        }
    }

    async fn observed_sources(
        &self,
        sources: SourceSelection,
        _wait_limit: WaitLimit,
        deadline: Instant,
    ) -> Result<Vec<ObservedSource>, NotConfigured> {
        let view = |reading: Arc<CachedReading>| ObservedSource {
            snapshot: Arc::clone(&reading.snapshot),
            history: reading.history.clone(),
            observed_at: reading.at,
            unanswered_for: None,
        };
        Ok(self.readings(sources, deadline).await?.into_iter().map(view).collect())
    }

    fn sources(&self) -> Vec<String> {
        snapshots::all().iter().map(|snapshot| snapshot.source.to_string()).collect()
    }
}
