//! The history of one source: the states of its leases over time, and the gaps in which they are not known.
//!
//! A source is read only by a scrape or an open page, so the state between two readings is known only if they are no further
//! apart than twice the typical interval. The memory is bounded by [`MAX_CHANGES`] for each lease and [`MAX_GAPS`] for each
//! source. A reading that changes no state needs no memory.

mod observation_log;
mod period;
mod state_log;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use crate::lease::SourceSnapshot;

use observation_log::{ObservationLog, Tick};
use state_log::StateLog;

pub use observation_log::{GapCause, MAX_GAPS};
pub use period::{Period, PeriodKind, PriorState, StateSince};
pub use state_log::MAX_CHANGES;

/// The history of one source.
#[derive(Clone, Debug, Default)]
pub struct History {
    observations: ObservationLog,
    /// The states of each lease, by name.
    states: Arc<Vec<StateLog>>,
}

impl History {
    /// Records a snapshot that was made at `at` on a monotonic clock.
    pub fn record(&mut self, snapshot: &SourceSnapshot, at: Duration) {
        let at = Tick::new(at).max(self.observations.last().unwrap_or_default());
        let last_success = self.observations.last_success;
        self.observations.record(snapshot.health.outcome, at);
        if snapshot.health.outcome.is_ok() {
            self.record_states(snapshot, last_success.unwrap_or(at), at);
        }
    }

    fn record_states(&mut self, snapshot: &SourceSnapshot, last_success: Tick, at: Tick) {
        let names = snapshot.leases.iter().map(|status| &status.lease);
        if !self.states.iter().map(|log| &log.lease).eq(names) {
            let known = std::mem::take(&mut self.states);
            let mut known = Arc::unwrap_or_clone(known).into_iter().peekable();
            let states = snapshot.leases.iter().map(|status| {
                while known.next_if(|log| log.lease < status.lease).is_some() {}
                let known = known.next_if(|log| log.lease == status.lease);
                known.unwrap_or_else(|| StateLog::new(Arc::clone(&status.lease), &status.verdict, at))
            });
            self.states = Arc::new(states.collect());
        }
        let changed = |log: &StateLog, state| log.state() != Some(state);
        let any = self.states.iter().zip(&snapshot.leases).any(|(log, status)| changed(log, status.verdict.state));
        if any {
            for (log, status) in Arc::make_mut(&mut self.states).iter_mut().zip(&snapshot.leases) {
                if changed(log, status.verdict.state) {
                    log.push(&status.verdict, last_success, at);
                }
            }
        }
    }

    /// The periods of a lease, oldest first. The state between two periods is not known.
    #[must_use]
    pub fn periods(&self, lease: &str) -> Vec<Period> {
        period::periods(self.log(lease), &self.observations)
    }

    /// Since when a lease has been in the state of the last reading; `None` if it was never observed.
    #[must_use]
    pub fn state_since(&self, lease: &str) -> Option<StateSince> {
        StateSince::new(&self.periods(lease), self.is_truncated(lease))
    }

    /// Whether older periods of a lease were discarded.
    #[must_use]
    pub fn is_truncated(&self, lease: &str) -> bool {
        self.observations.discarded_until.is_some() || self.log(lease).is_some_and(StateLog::is_truncated)
    }

    fn log(&self, lease: &str) -> Option<&StateLog> {
        let at = self.states.binary_search_by(|log| (*log.lease).cmp(lease)).ok()?;
        self.states.get(at)
    }
}
