//! A view of a source for people, who would rather see what is known than wait for the rest.

use std::sync::Arc;
use std::time::Duration;

use crate::history::History;
use crate::lease::SourceSnapshot;

/// The knowledge of a source that there is without waiting for its store for long.
#[derive(Clone, Debug)]
pub struct PartialView {
    /// The latest reading; or, once that is too long ago, that nothing is known.
    pub snapshot: Arc<SourceSnapshot>,
    /// The history up to that reading.
    pub history: History,
    /// When that was, on the exporter's monotonic clock.
    pub at: Duration,
    /// For how long the store has not answered, if it is being read now or did not answer the last read.
    pub unanswered: Option<Duration>,
}

/// How long to wait for a reading in flight, from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitLimit {
    /// For a second: a client that asks again soon misses nothing.
    Short,
    /// For a second longer than the last reading took, where that is too old to be shown: a client that does not ask
    /// again would never see a slow source.
    LastReadDuration,
}

/// A reading may take as long without anybody wondering.
const MOMENT: Duration = Duration::from_secs(1);

impl WaitLimit {
    /// For how long, where the last reading took `usual`, if it succeeded.
    pub(super) fn limit(self, usual: Option<Duration>) -> Duration {
        match self {
            Self::Short => MOMENT,
            Self::LastReadDuration => MOMENT.saturating_add(usual.unwrap_or_default()),
        }
    }
}
