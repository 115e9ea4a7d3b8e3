//! The view of a source for a page, which shows the latest reading rather than wait for a slow store.

use std::sync::Arc;
use std::time::Duration;

use super::cached_reading::CachedReading;
use crate::history::History;
use crate::lease::SourceSnapshot;

/// The latest reading of a source, without a long wait for the pending one.
#[derive(Clone, Debug)]
pub struct PartialView {
    /// The latest reading, or the leases without their status if the reading is too old.
    pub snapshot: Arc<SourceSnapshot>,
    /// The history up to the latest reading.
    pub history: History,
    /// When the snapshot was made, on the exporter's monotonic clock.
    pub at: Duration,
    /// How long the store has not responded; `None` if no read is pending and the last one did not time out.
    pub unanswered: Option<Duration>,
}

impl PartialView {
    pub(super) fn new(reading: &CachedReading, at: Duration, unanswered: Option<Duration>) -> Self {
        Self { snapshot: Arc::clone(&reading.snapshot), history: reading.history.clone(), at, unanswered }
    }
}

/// How long to wait for a pending reading, from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitLimit {
    /// One second, for a client that will ask again.
    Short,
    /// One second longer than the last reading took if that reading is too old to be shown, for a client that asks once.
    LastReadDuration,
}

const SHORT_WAIT: Duration = Duration::from_secs(1);

impl WaitLimit {
    /// The time to wait. `last_read` is the duration of the last reading, if it succeeded.
    pub(super) fn duration(self, last_read: Option<Duration>) -> Duration {
        match self {
            Self::Short => SHORT_WAIT,
            Self::LastReadDuration => SHORT_WAIT.saturating_add(last_read.unwrap_or_default()),
        }
    }
}
