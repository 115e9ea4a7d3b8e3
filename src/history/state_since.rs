//! Since when a lease has been in its current state.

use std::time::Duration;

use super::observation_log::GapCause;
use super::period::{Period, PeriodKind};
use crate::lease::State;

/// Since when a lease has been in its current state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateSince {
    /// The current state or gap.
    pub kind: PeriodKind,
    /// The first reading that showed it, with no other state or gap since.
    pub at: Duration,
    /// The state before.
    pub prior: PriorState,
}

/// The state before the current one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriorState {
    /// Not known, because the lease was not observed before.
    NotObserved,
    /// Not known any more, because older periods were discarded.
    Discarded,
    /// Another state.
    Known {
        /// The state.
        state: State,
        /// The last reading that showed it.
        last: Duration,
    },
    /// Not known, because of a gap.
    Gap {
        /// The cause of the gap; `None` if it has several causes.
        cause: Option<GapCause>,
        /// The last reading before the gap.
        start: Duration,
        /// The state that this reading showed, if any.
        state: Option<State>,
    },
}

impl StateSince {
    pub(super) fn new(periods: &[Period], truncated: bool) -> Option<Self> {
        let (current, earlier) = periods.split_last()?;
        let known = earlier.iter().enumerate().rev().find_map(|(at, period)| match period.kind {
            PeriodKind::State(state, _) => Some((at, state, period.end)),
            PeriodKind::Gap(_) => None,
        });
        let gaps = &earlier[known.map_or(0, |(at, ..)| at + 1)..];
        let prior = match (gaps, known) {
            ([first, others @ ..], known) => PriorState::Gap {
                cause: match first.kind {
                    PeriodKind::Gap(cause) if others.iter().all(|other| other.kind == first.kind) => Some(cause),
                    _ => None,
                },
                start: first.start,
                state: known.map(|(_, state, _)| state),
            },
            ([], Some((_, state, last))) => PriorState::Known { state, last },
            ([], None) if truncated => PriorState::Discarded,
            ([], None) => PriorState::NotObserved,
        };
        Some(Self { kind: current.kind, at: current.first_observed, prior })
    }

    /// Whether the current state may have begun before the first reading that showed it.
    #[must_use]
    pub const fn is_at_least(&self) -> bool {
        !matches!(self.prior, PriorState::Known { .. })
    }
}
