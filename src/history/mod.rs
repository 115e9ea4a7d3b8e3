//! What the looks at one source showed over time: in which state each lease was seen, and when nobody could tell.
//!
//! Pure, like the domain that it looks at, and fed with each snapshot. The exporter looks only while it is scraped or its
//! page is open, so most of the time nobody looks, and what was between two looks is not known. A stretch is drawn where
//! looks that showed one state came no further apart than twice the usual interval. Anything else is left open: between
//! two states, while nobody looked, and while the store could not be read.
//!
//! What is kept is bounded: [`CHANGES`] changes a lease, and [`INTERRUPTIONS`] a source. Looks that change nothing cost
//! nothing, and a copy shares what did not change.

mod looks;
mod since;
mod stretch;
mod track;
mod usual;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use crate::lease::SourceSnapshot;

use looks::{Looks, Tick};
use track::Track;

pub use looks::{INTERRUPTIONS, Interruption};
pub use since::{Before, Since};
pub use stretch::{Seen, Stretch};
pub use track::CHANGES;

/// What the looks at one source showed over time.
#[derive(Clone, Debug, Default)]
pub struct History {
    looks: Looks,
    /// By name.
    tracks: Arc<Vec<Track>>,
}

impl History {
    /// Takes in what a look showed. `at` is on a clock that never steps.
    pub fn take_in(&mut self, snapshot: &SourceSnapshot, at: Duration) {
        let at = Tick::of(at).max(self.looks.last().unwrap_or_default());
        let last_read = self.looks.last_read();
        self.looks.take_in(snapshot.health.outcome, at);
        if snapshot.health.outcome.is_ok() {
            self.follow(snapshot, last_read.unwrap_or(at), at);
        }
    }

    fn follow(&mut self, snapshot: &SourceSnapshot, last_read: Tick, at: Tick) {
        let names = snapshot.leases.iter().map(|status| &status.lease);
        if !self.tracks.iter().map(Track::lease).eq(names) {
            let before = std::mem::take(&mut self.tracks);
            let mut before = Arc::unwrap_or_clone(before).into_iter().peekable();
            let tracks = snapshot.leases.iter().map(|status| {
                while before.next_if(|track| *track.lease() < status.lease).is_some() {}
                let known = before.next_if(|track| *track.lease() == status.lease);
                known.unwrap_or_else(|| Track::beginning(Arc::clone(&status.lease), &status.verdict, at))
            });
            self.tracks = Arc::new(tracks.collect());
        }
        let changed = |track: &Track, state| track.state() != Some(state);
        let any = self.tracks.iter().zip(&snapshot.leases).any(|(track, status)| changed(track, status.verdict.state));
        if any {
            for (track, status) in Arc::make_mut(&mut self.tracks).iter_mut().zip(&snapshot.leases) {
                if changed(track, status.verdict.state) {
                    track.change(&status.verdict, last_read, at);
                }
            }
        }
    }

    /// What was seen of a lease, the oldest first. What lies between two stretches is not known.
    #[must_use]
    pub fn of(&self, lease: &str) -> Vec<Stretch> {
        stretch::of(self.track(lease), &self.looks)
    }

    /// Since when a lease has been seen in the state that the last look showed; `None` for one never seen.
    #[must_use]
    pub fn since(&self, lease: &str) -> Option<Since> {
        since::of(&self.of(lease), self.is_cut(lease))
    }

    /// Whether more was seen of a lease than is kept.
    #[must_use]
    pub fn is_cut(&self, lease: &str) -> bool {
        self.looks.is_cut() || self.track(lease).is_some_and(Track::is_cut)
    }

    fn track(&self, lease: &str) -> Option<&Track> {
        let at = self.tracks.binary_search_by(|track| (**track.lease()).cmp(lease)).ok()?;
        self.tracks.get(at)
    }
}
