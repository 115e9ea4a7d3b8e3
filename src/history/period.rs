//! Periods: the state changes of a lease and the gaps of its source in one sequence, and the period that lasts.

use std::time::Duration;

use super::observation_log::{Gap, GapCause, ObservationLog, Tick};
use super::state_log::StateLog;
use crate::lease::{Reason, State};

/// A period in which a lease was in one state, or in which nothing is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// The first reading that showed the state, or the last reading before the gap.
    pub start: Duration,
    /// The first reading that showed the state or the gap.
    pub first_observed: Duration,
    /// The last reading that showed the state, or the first reading after the gap.
    pub end: Duration,
    /// The state or the gap.
    pub kind: PeriodKind,
}

/// The content of a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeriodKind {
    /// A state, with its reason at the first reading.
    State(State, Reason),
    /// Nothing is known.
    Gap(GapCause),
}

/// The periods of a lease, oldest first.
pub(super) fn periods(log: Option<&StateLog>, observations: &ObservationLog) -> Vec<Period> {
    let changes = log.map(|log| &*log.changes).unwrap_or_default();
    let start =
        changes.first().map_or(Tick::default(), |first| first.at).max(observations.discarded_until.unwrap_or_default());
    let mut gaps = observations.gaps.iter().filter(|gap| gap.end > start || changes.is_empty());
    let mut next_gap = gaps.next();
    let mut periods = Vec::new();
    for (index, change) in changes.iter().enumerate() {
        let last = match changes.get(index + 1) {
            Some(next) => Some(next.previous_reading),
            None => observations.last_success,
        };
        let last = last.unwrap_or(change.at);
        if last < start {
            continue;
        }
        // The start of the state's next period; `None` until a reading after a gap shows the state again.
        let mut from = Some(change.at.max(start));
        let kind = PeriodKind::State(change.state, change.reason);
        while let Some(gap) = next_gap.filter(|gap| gap.start <= last) {
            if let Some(from) = from.filter(|from| *from <= gap.start) {
                periods.push(Period::new(from, gap.start, kind));
            }
            periods.push(gap.into());
            from = gap.read_after.then_some(gap.end);
            next_gap = gaps.next();
        }
        if let Some(from) = from.filter(|from| *from <= last) {
            periods.push(Period::new(from, last, kind));
        }
    }
    periods.extend(next_gap.into_iter().chain(gaps).map(Period::from));
    periods
}

impl Period {
    fn new(start: Tick, end: Tick, kind: PeriodKind) -> Self {
        Self { start: start.time(), first_observed: start.time(), end: end.time(), kind }
    }
}

impl From<&Gap> for Period {
    fn from(gap: &Gap) -> Self {
        Self {
            start: gap.start.time(),
            first_observed: gap.first_observed.time(),
            end: gap.end.time(),
            kind: PeriodKind::Gap(gap.cause),
        }
    }
}

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
