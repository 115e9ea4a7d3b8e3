//! Periods: the state changes of a lease and the gaps of its source in one sequence.

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
    let changes = log.map(StateLog::changes).unwrap_or_default();
    let start = changes.first().map_or(Tick::default(), |first| first.at).max(observations.complete_from());
    let mut gaps = observations.gaps().filter(|gap| gap.end > start || changes.is_empty());
    let mut next_gap = gaps.next();
    let mut periods = Vec::new();
    for (index, change) in changes.iter().enumerate() {
        let last = match changes.get(index + 1) {
            Some(next) => Some(next.previous_reading),
            None => observations.last_success(),
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
