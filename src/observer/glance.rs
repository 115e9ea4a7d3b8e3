//! What there is to show of a source at once, to people: they would rather see what is known than wait for what is not.

use std::sync::Arc;
use std::time::Duration;

use crate::history::History;
use crate::lease::SourceSnapshot;

/// What is known of a source without waiting for it for long.
#[derive(Clone, Debug)]
pub struct Glance {
    /// What the last look showed that ended; or, once that is too long ago, that nothing is known.
    pub snapshot: Arc<SourceSnapshot>,
    /// What the looks until then showed.
    pub history: History,
    /// When that was, on the clock of looks.
    pub at: Duration,
    /// For how long the store has not answered, if it is being asked now or did not answer when it last was.
    pub unanswered: Option<Duration>,
}

/// How long to wait for a reading on its way, from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// For a moment: who looks again soon misses nothing.
    Briefly,
    /// For a moment longer than the last reading took, where what that showed no longer stands: who does not look again would
    /// never see a slow source.
    AsLongAsUsual,
}

/// What a reading may take without anybody wondering.
const MOMENT: Duration = Duration::from_secs(1);

impl Waiting {
    /// For how long, where the last reading took `usual`, if it went well.
    pub(super) fn patience(self, usual: Option<Duration>) -> Duration {
        match self {
            Self::Briefly => MOMENT,
            Self::AsLongAsUsual => MOMENT.saturating_add(usual.unwrap_or_default()),
        }
    }
}
