//! Changes and interruptions put together into one line.

use std::time::Duration;

use super::looks::{Interrupted, Interruption, Looks, Tick};
use super::track::Track;
use crate::lease::{Reason, State};

/// What was seen for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The first look that showed it or, for an interruption, the last one before it.
    pub from: Duration,
    /// The first look that showed it.
    pub shown: Duration,
    /// The last look that showed it or, for an interruption, the first one after it.
    pub to: Duration,
    /// What was seen.
    pub seen: Seen,
}

/// What was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// This state, at first for this reason.
    State(State, Reason),
    /// Nothing.
    Nothing(Interruption),
}

/// What was seen of a lease, the oldest first.
pub(super) fn of(track: Option<&Track>, looks: &Looks) -> Vec<Stretch> {
    let changes = track.map(Track::changes).unwrap_or_default();
    let begins = changes.first().map_or(Tick::default(), |first| first.from).max(looks.kept_from());
    let mut interruptions = looks.interruptions().filter(|interrupted| interrupted.to > begins || changes.is_empty());
    let mut next = interruptions.next();
    let mut stretches = Vec::new();
    for (at, change) in changes.iter().enumerate() {
        let last = changes.get(at + 1).map_or_else(|| looks.last_read(), |next| Some(next.last_before));
        let last = last.unwrap_or(change.from);
        if last < begins {
            continue;
        }
        // From when on it was seen, if it was.
        let mut from = Some(change.from.max(begins));
        let seen = Seen::State(change.state, change.reason);
        while let Some(interrupted) = next.filter(|interrupted| interrupted.from <= last) {
            if let Some(from) = from.filter(|from| *from <= interrupted.from) {
                stretches.push(Stretch::of(from, interrupted.from, seen));
            }
            stretches.push(interrupted.into());
            from = interrupted.read_after.then_some(interrupted.to);
            next = interruptions.next();
        }
        if let Some(from) = from.filter(|from| *from <= last) {
            stretches.push(Stretch::of(from, last, seen));
        }
    }
    stretches.extend(next.into_iter().chain(interruptions).map(Stretch::from));
    stretches
}

impl Stretch {
    fn of(from: Tick, to: Tick, seen: Seen) -> Self {
        Self { from: from.time(), shown: from.time(), to: to.time(), seen }
    }
}

impl From<&Interrupted> for Stretch {
    fn from(interrupted: &Interrupted) -> Self {
        let Interrupted { from, shown, to, why, .. } = *interrupted;
        Self { from: from.time(), shown: shown.time(), to: to.time(), seen: Seen::Nothing(why) }
    }
}
