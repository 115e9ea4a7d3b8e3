//! The state changes of one lease.

use std::sync::Arc;

use super::observation_log::Tick;
use crate::lease::{Reason, State, Verdict};

/// How many state changes of a lease are kept.
pub const MAX_CHANGES: usize = 32;

/// A state that differs from the state of the reading before.
#[derive(Clone, Copy, Debug)]
pub(super) struct StateChange {
    pub(super) state: State,
    pub(super) reason: Reason,
    /// The last reading that showed the state before; equal to `at` for the first state.
    pub(super) previous_reading: Tick,
    /// The first reading that showed this state.
    pub(super) at: Tick,
}

/// The states of one lease, oldest first. Never empty.
#[derive(Clone, Debug)]
pub(super) struct StateLog {
    pub(super) lease: Arc<str>,
    /// A slice rather than a vector, so that it has no spare capacity and copies of the history share it.
    pub(super) changes: Arc<[StateChange]>,
}

impl StateLog {
    /// The log of a lease that was not observed before.
    pub(super) fn new(lease: Arc<str>, verdict: &Verdict, at: Tick) -> Self {
        Self { lease, changes: [StateChange::new(verdict, at, at)].into() }
    }

    pub(super) fn state(&self) -> Option<State> {
        self.changes.last().map(|change| change.state)
    }

    pub(super) fn is_truncated(&self) -> bool {
        self.changes.first().is_some_and(|first| first.previous_reading < first.at)
    }

    pub(super) fn push(&mut self, verdict: &Verdict, previous_reading: Tick, at: Tick) {
        let kept = &self.changes[self.changes.len().saturating_sub(MAX_CHANGES - 1)..];
        self.changes = kept.iter().copied().chain([StateChange::new(verdict, previous_reading, at)]).collect();
    }
}

impl StateChange {
    const fn new(verdict: &Verdict, previous_reading: Tick, at: Tick) -> Self {
        Self { state: verdict.state, reason: verdict.reason, previous_reading, at }
    }
}
