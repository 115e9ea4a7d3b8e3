//! The order of states by severity, and how many leases are in each state.

use std::cmp::Reverse;
use std::time::Duration;

use crate::lease::{SourceSnapshot, State, Status};

/// The states from worst to best, which is the order of the status page.
///
/// `stalled` is the worst: the holder keeps renewing, so no other process can take over. A lease without a leader can
/// still be acquired. An unknown state may turn out to be healthy.
pub const SEVERITY: [State; State::ALL.len()] =
    [State::Stalled, State::NoLeader, State::Unknown, State::Active, State::Idle];

/// The sort key of a lease in lists for people: the worst state first. Stalled leases and leases without a leader are then
/// ordered by how long their work has not moved, longest first. All others keep a stable place, by source and name.
pub fn severity_key<'a>(snapshot: &'a SourceSnapshot, status: &'a Status) -> impl Ord + use<'a> {
    let severity = SEVERITY.into_iter().position(|state| state == status.verdict.state);
    (severity, Reverse(inactive_for(status)), &snapshot.source, &status.lease)
}

/// The lower bound of the time without progress, for states that need action. `None` sorts last.
fn inactive_for(status: &Status) -> Option<Duration> {
    if !matches!(status.verdict.state, State::Stalled | State::NoLeader) {
        return None;
    }
    let last = status.evidence()?.progress.age()?;
    last.display_age().or_else(|| Some(last.age.lower()).filter(|age| !age.is_zero()))
}

/// The number of leases in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateCounts([usize; State::ALL.len()]);

impl StateCounts {
    /// Counts the leases of all these sources.
    #[must_use]
    pub fn of(snapshots: &[&SourceSnapshot]) -> Self {
        let mut counts = Self::default();
        for status in snapshots.iter().flat_map(|snapshot| &snapshot.leases) {
            counts.add(status.verdict.state);
        }
        counts
    }

    pub(super) const fn add(&mut self, state: State) {
        self.0[state as usize] += 1;
    }

    /// The number of leases in this state.
    #[must_use]
    pub const fn in_state(&self, state: State) -> usize {
        self.0[state as usize]
    }

    /// The number of all leases.
    #[must_use]
    pub fn total(&self) -> usize {
        self.0.iter().sum()
    }

    /// The worst state of any lease; `None` if there are no leases.
    #[must_use]
    pub fn worst(&self) -> Option<State> {
        SEVERITY.into_iter().find(|state| self.in_state(*state) > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expose::testing::snapshots;

    #[test]
    fn every_lease_is_counted_once() {
        let snapshots = snapshots::all();
        let snapshots: Vec<_> = snapshots.iter().collect();
        let counts = StateCounts::of(&snapshots);
        assert_eq!(counts.total(), snapshots.iter().map(|snapshot| snapshot.leases.len()).sum::<usize>());
        for state in State::ALL {
            assert!(counts.in_state(state) > 0, "the sample has no {state} lease");
        }
        assert_eq!(counts.worst(), Some(State::Stalled));
        assert_eq!(StateCounts::default().worst(), None);
    }
}
