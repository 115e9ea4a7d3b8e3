//! Reads all sources concurrently, once or repeatedly.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::super::terminal::ProgressLine;
use crate::expose::DisplayName;
use crate::observer::{CachedReading, Observer};

/// The deadline of a reading. Each source has a shorter timeout.
const READ_TIMEOUT: Duration = Duration::from_secs(120);

/// The beginning or the end of a reading.
#[derive(Debug)]
pub(super) struct ReadEvent {
    /// The index of the source in the configuration.
    pub(super) source: usize,
    /// The reading; `None` when it begins.
    pub(super) reading: Option<Arc<CachedReading>>,
}

/// Reads each source in a separate task, at intervals if there are any, until the receiver is dropped. A reading that
/// exceeds the interval is followed by the next one without a pause.
pub(super) fn read_sources(observer: &Observer, every: Option<Duration>) -> mpsc::Receiver<ReadEvent> {
    let (sender, receiver) = mpsc::channel(16);
    for (source, (_, observer)) in observer.per_source().enumerate() {
        tokio::spawn(read_source(source, observer, every, sender.clone()));
    }
    receiver
}

async fn read_source(source: usize, observer: Observer, every: Option<Duration>, sender: mpsc::Sender<ReadEvent>) {
    let mut ticks = every.map(interval);
    if let Some(ticks) = &mut ticks {
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    }
    loop {
        if let Some(ticks) = &mut ticks {
            ticks.tick().await;
        }
        if sender.send(ReadEvent { source, reading: None }).await.is_err() {
            return;
        }
        for reading in observer.observe(Instant::now() + READ_TIMEOUT).await {
            if sender.send(ReadEvent { source, reading: Some(reading) }).await.is_err() {
                return;
            }
        }
        if ticks.is_none() {
            return;
        }
    }
}

/// Reads every source once, and returns the readings in the order of the configuration.
pub(super) async fn read_once(observer: &Observer) -> Vec<Arc<CachedReading>> {
    let names: Vec<_> = observer.per_source().map(|(name, _)| DisplayName(name).to_string()).collect();
    let progress = ProgressLine::start("reading", names.iter().cloned());
    let mut readings = vec![None; names.len()];
    let mut events = read_sources(observer, None);
    while let Some(ReadEvent { source, reading }) = events.recv().await {
        if reading.is_some() {
            progress.remove(&names[source]);
            readings[source] = reading;
        }
    }
    readings.into_iter().flatten().collect()
}
