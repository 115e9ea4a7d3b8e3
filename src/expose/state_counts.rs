//! How many leases are in each state.

use crate::lease::{SourceSnapshot, State};

/// States from worst to best: the order of the status page.
///
/// Stalled comes first because nobody else will take over from a holder that keeps renewing; without a leader another
/// one may still step in; unknown may be nothing.
pub const SEVERITY: [State; State::ALL.len()] =
    [State::Stalled, State::NoLeader, State::Unknown, State::Active, State::Idle];

/// How many leases are in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateCounts([usize; State::ALL.len()]);

impl StateCounts {
    /// Counts the leases of all these sources.
    #[must_use]
    pub fn of(snapshots: &[&SourceSnapshot]) -> Self {
        snapshots.iter().flat_map(|snapshot| &snapshot.leases).map(|status| status.verdict.state).collect()
    }

    /// How many are in this state.
    #[must_use]
    pub const fn in_state(&self, state: State) -> usize {
        self.0[state as usize]
    }

    /// How many there are.
    #[must_use]
    pub fn total(&self) -> usize {
        self.0.iter().sum()
    }

    /// The worst state that any lease is in; `None` where there is no lease.
    #[must_use]
    pub fn worst(&self) -> Option<State> {
        SEVERITY.into_iter().find(|state| self.in_state(*state) > 0)
    }
}

impl FromIterator<State> for StateCounts {
    fn from_iter<I: IntoIterator<Item = State>>(states: I) -> Self {
        let mut counts = Self::default();
        for state in states {
            counts.0[state as usize] += 1;
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expose::sample;

    #[test]
    fn every_lease_is_counted_once() {
        let snapshots = sample::snapshots();
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
