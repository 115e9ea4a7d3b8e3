//! In which states one lease was seen.

use std::sync::Arc;

use super::looks::Tick;
use crate::lease::{Reason, State, Verdict};

/// How many changes of a lease are kept.
pub const CHANGES: usize = 32;

/// A state that was seen where another was before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    pub(super) state: State,
    pub(super) reason: Reason,
    /// The last look that showed the state before; the same as `from`, where there was none.
    pub(super) last_before: Tick,
    /// The first look that showed this one.
    pub(super) from: Tick,
}

/// The states of one lease, the oldest first. Never empty.
#[derive(Clone, Debug)]
pub(super) struct Track {
    lease: Arc<str>,
    /// Shared by copies of the history, and no longer than it has to be.
    changes: Arc<[Change]>,
}

impl Track {
    /// A lease that was never looked at before.
    pub(super) fn beginning(lease: Arc<str>, verdict: &Verdict, at: Tick) -> Self {
        Self { lease, changes: [Change::to(verdict, at, at)].into() }
    }

    pub(super) const fn lease(&self) -> &Arc<str> {
        &self.lease
    }

    pub(super) fn changes(&self) -> &[Change] {
        &self.changes
    }

    pub(super) fn state(&self) -> Option<State> {
        self.changes.last().map(|change| change.state)
    }

    pub(super) fn is_cut(&self) -> bool {
        self.changes.first().is_some_and(|first| first.last_before < first.from)
    }

    pub(super) fn change(&mut self, verdict: &Verdict, last_before: Tick, from: Tick) {
        let kept = &self.changes[self.changes.len().saturating_sub(CHANGES - 1)..];
        self.changes = kept.iter().copied().chain([Change::to(verdict, last_before, from)]).collect();
    }
}

impl Change {
    const fn to(verdict: &Verdict, last_before: Tick, from: Tick) -> Self {
        Self { state: verdict.state, reason: verdict.reason, last_before, from }
    }
}
