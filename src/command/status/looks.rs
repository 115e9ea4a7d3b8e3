//! Looks at each source, all of them side by side, once or again and again.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::super::terminal::Waiting;
use crate::expose::DisplayName;
use crate::observer::{CachedReading, Observer};

/// Longer than any source's own limit need be.
const PATIENCE: Duration = Duration::from_secs(120);

/// Something happened to a source, which is told by its place in the configuration.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) source: usize,
    pub(super) event: Event,
}

/// What happened.
#[derive(Debug)]
pub(super) enum Event {
    /// It is being looked at.
    Began,
    /// It was, and this was seen.
    Landed(Arc<CachedReading>),
}

/// How often to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Often {
    Once,
    Every(Duration),
}

/// Looks at each source by itself, so that none waits for another. Looks that take longer than the interval follow each
/// other without a pause. It goes on until the receiver is dropped.
pub(super) fn begin(observer: &Observer, often: Often) -> mpsc::Receiver<Look> {
    let (sender, receiver) = mpsc::channel(16);
    for (source, (_, observer)) in observer.apart().enumerate() {
        tokio::spawn(look(source, observer, often, sender.clone()));
    }
    receiver
}

async fn look(source: usize, observer: Observer, often: Often, sender: mpsc::Sender<Look>) {
    let mut pace = match often {
        Often::Once => None,
        Often::Every(every) => Some(interval(every)),
    };
    loop {
        if let Some(pace) = &mut pace {
            pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
            pace.tick().await;
        }
        if sender.send(Look { source, event: Event::Began }).await.is_err() {
            return;
        }
        for observed in observer.observe(Instant::now() + PATIENCE).await {
            if sender.send(Look { source, event: Event::Landed(observed) }).await.is_err() {
                return;
            }
        }
        if pace.is_none() {
            return;
        }
    }
}

/// One look at every source, in the order in which they are configured.
pub(super) async fn once(observer: &Observer) -> Vec<Arc<CachedReading>> {
    let names: Vec<_> = observer.apart().map(|(name, _)| DisplayName(name).to_string()).collect();
    let waiting = Waiting::begin("reading", names.iter().cloned());
    let mut seen = vec![None; names.len()];
    let mut looks = begin(observer, Often::Once);
    while let Some(Look { source, event }) = looks.recv().await {
        if let Event::Landed(observed) = event {
            waiting.done(&names[source]);
            seen[source] = Some(observed);
        }
    }
    seen.into_iter().flatten().collect()
}
