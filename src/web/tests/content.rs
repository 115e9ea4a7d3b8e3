//! Content that does what a test needs.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::expose::metrics::Rendered;
use crate::expose::sample;
use crate::history::History;
use crate::observer::Observed;
use crate::web::Content;

/// The sample, with metrics as given.
#[derive(Debug)]
pub(super) struct Fake {
    metrics: Vec<Bytes>,
    panics: bool,
    /// Metrics are only given for each permit of the second, and each request adds one to the first.
    gate: Option<(Arc<Semaphore>, Arc<Semaphore>)>,
    /// How much time the last request left.
    pub(super) allowed: Arc<Mutex<Option<Duration>>>,
}

impl Fake {
    pub(super) fn giving(metrics: Vec<Bytes>) -> Self {
        Self { metrics, panics: false, gate: None, allowed: Arc::default() }
    }

    pub(super) fn plain() -> Self {
        Self::giving(vec![Bytes::from_static(b"a 1\n"), Bytes::new(), Bytes::from_static(b"b 2\n")])
    }

    pub(super) fn panicking() -> Self {
        Self { panics: true, ..Self::plain() }
    }

    /// Content that waits in `metrics`; the first semaphore tells of each that waits, the second lets one go on.
    pub(super) fn waiting() -> (Self, Arc<Semaphore>, Arc<Semaphore>) {
        let (entered, go) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let gate = Some((Arc::clone(&entered), Arc::clone(&go)));
        (Self { gate, ..Self::plain() }, entered, go)
    }
}

impl Content for Fake {
    async fn metrics(&self, deadline: Instant) -> Vec<Bytes> {
        *self.allowed.lock().unwrap() = Some(deadline - Instant::now());
        assert!(!self.panics, "as asked for");
        if let Some((entered, go)) = &self.gate {
            entered.add_permits(1);
            go.acquire().await.unwrap().forget();
        }
        self.metrics.clone()
    }

    async fn snapshots(&self, _deadline: Instant) -> Vec<Arc<Observed>> {
        sample::snapshots()
            .into_iter()
            .map(|snapshot| {
                let (snapshot, history) = (Arc::new(snapshot), History::default());
                Arc::new(Observed { snapshot, history, text: Rendered::default() })
            })
            .collect()
    }
}
