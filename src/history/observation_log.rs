//! When a source was observed, and the gaps in which it was not.

use std::collections::VecDeque;
use std::time::Duration;

use super::typical_interval::TypicalInterval;
use crate::lease::ReadFailure;

/// How many gaps of a source are kept.
pub const MAX_GAPS: usize = 64;

/// A time in tenths of a second, in four bytes because a lease has up to 64 of them. The range is 13 years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Tick(u32);

impl Tick {
    pub(super) fn new(time: Duration) -> Self {
        Self(u32::try_from(time.as_millis() / 100).unwrap_or(u32::MAX))
    }

    pub(super) fn time(self) -> Duration {
        Duration::from_millis(u64::from(self.0) * 100)
    }

    fn since(self, earlier: Self) -> Duration {
        Self(self.0.saturating_sub(earlier.0)).time()
    }
}

/// Why nothing is known of a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GapCause {
    /// The source was not read, because there was no scrape and no open page.
    NotObserved,
    /// The store could not be read.
    ReadFailed(ReadFailure),
}

/// A period of which nothing is known, from the last reading before it to the first reading after it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gap {
    pub(super) start: Tick,
    /// The first reading that showed the gap.
    pub(super) first_observed: Tick,
    pub(super) end: Tick,
    /// Whether the reading at the end succeeded.
    pub(super) read_after: bool,
    pub(super) cause: GapCause,
}

/// The readings of a source, failed ones included.
#[derive(Clone, Debug, Default)]
pub(super) struct ObservationLog {
    last: Option<(Tick, Result<(), ReadFailure>)>,
    last_success: Option<Tick>,
    typical_interval: TypicalInterval,
    gaps: VecDeque<Gap>,
    /// The end of the last gap that was discarded. The time before it cannot be described.
    discarded_until: Option<Tick>,
}

impl ObservationLog {
    /// The last reading.
    pub(super) fn last(&self) -> Option<Tick> {
        self.last.map(|(at, _)| at)
    }

    /// The last successful reading.
    pub(super) const fn last_success(&self) -> Option<Tick> {
        self.last_success
    }

    /// The time from which on no gap was discarded.
    pub(super) fn complete_from(&self) -> Tick {
        self.discarded_until.unwrap_or_default()
    }

    pub(super) const fn is_truncated(&self) -> bool {
        self.discarded_until.is_some()
    }

    /// The gaps, oldest first. They do not overlap.
    pub(super) fn gaps(&self) -> impl Iterator<Item = &Gap> {
        self.gaps.iter()
    }

    /// Records a reading.
    pub(super) fn record(&mut self, outcome: Result<(), ReadFailure>, at: Tick) {
        let mut start = at;
        if let Some((last, last_outcome)) = self.last.replace((at, outcome)) {
            if self.typical_interval.is_gap(at.since(last)) {
                let cause = GapCause::NotObserved;
                self.push(Gap { start: last, first_observed: at, end: at, read_after: outcome.is_ok(), cause });
            } else if let Err(failure) = last_outcome {
                // The gap of a failed reading lasts until the next reading.
                if let Some(gap) = self.gaps.back_mut() {
                    gap.end = at;
                    gap.read_after = outcome.is_ok();
                }
                if outcome == Err(failure) {
                    return;
                }
            } else {
                start = last;
            }
        }
        match outcome {
            Ok(()) => self.last_success = Some(at),
            Err(failure) => {
                let cause = GapCause::ReadFailed(failure);
                self.push(Gap { start, first_observed: at, end: at, read_after: false, cause });
            }
        }
    }

    fn push(&mut self, gap: Gap) {
        if self.gaps.len() == MAX_GAPS {
            self.discarded_until = self.gaps.pop_front().map(|discarded| discarded.end);
        }
        self.gaps.push_back(gap);
    }
}
