//! When a source was observed, the typical interval between two readings, and the gaps.

use std::collections::VecDeque;
use std::time::Duration;

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
    pub(super) last_success: Option<Tick>,
    typical_interval: TypicalInterval,
    /// Oldest first, without overlaps.
    pub(super) gaps: VecDeque<Gap>,
    /// The end of the last gap that was discarded. The time before it cannot be described.
    pub(super) discarded_until: Option<Tick>,
}

impl ObservationLog {
    pub(super) fn last(&self) -> Option<Tick> {
        self.last.map(|(at, _)| at)
    }

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

/// The typical interval before the first reading.
const INITIAL_INTERVAL: Duration = Duration::from_secs(30);
/// The shortest typical interval, so that a person who reloads a page often does not turn every scrape interval into a gap.
const MIN_INTERVAL: Duration = Duration::from_secs(5);
/// The longest typical interval. A lease that is read once an hour is not observed continuously.
const MAX_INTERVAL: Duration = Duration::from_secs(5 * 60);
/// How many gaps in a row make their length the typical interval.
const GAPS_IN_A_ROW: u8 = 3;
/// How long shorter intervals have to continue until the typical interval is about as short. An open page reads a source
/// far more often than Prometheus does, and must not turn the scrape interval into a gap when it is closed.
const DECAY: Duration = Duration::from_secs(60 * 60);

/// The typical interval between two readings: about the longest of the recent intervals that were no gaps.
#[derive(Clone, Copy, Debug, Default)]
struct TypicalInterval {
    interval: Option<Duration>,
    gaps_in_a_row: u8,
}

impl TypicalInterval {
    /// Records the next interval. Returns whether it is a gap: longer than twice the typical interval.
    fn is_gap(&mut self, next: Duration) -> bool {
        let typical = self.interval.unwrap_or(INITIAL_INTERVAL);
        if next > typical.saturating_mul(2) {
            self.gaps_in_a_row += 1;
            if self.gaps_in_a_row == GAPS_IN_A_ROW {
                self.gaps_in_a_row = 0;
                self.interval = Some(next.clamp(MIN_INTERVAL, MAX_INTERVAL));
            }
            return true;
        }
        self.gaps_in_a_row = 0;
        let interval = match self.interval {
            Some(typical) if next < typical => {
                let share = (next.as_secs_f64() / DECAY.as_secs_f64()).min(1.0);
                typical - (typical - next).mul_f64(share)
            }
            _ => next,
        };
        self.interval = Some(interval.clamp(MIN_INTERVAL, MAX_INTERVAL));
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of these intervals, in seconds, are gaps.
    fn gaps(intervals: &[u64]) -> Vec<usize> {
        let mut typical = TypicalInterval::default();
        let gap = intervals.iter().map(|seconds| typical.is_gap(Duration::from_secs(*seconds)));
        gap.enumerate().filter(|(_, gap)| *gap).map(|(at, _)| at).collect()
    }

    #[test]
    fn an_interval_is_a_gap_if_it_is_longer_than_twice_the_typical_interval() {
        for (what, intervals, expected) in [
            ("the first interval is a minute", &[60][..], &[][..]),
            ("the first interval is over a minute", &[61], &[0]),
            ("a steady interval", &[15, 15, 15], &[]),
            ("one missed scrape", &[15, 15, 30, 15], &[]),
            ("two missed scrapes", &[15, 15, 45, 15], &[2]),
            ("readings become rarer", &[2, 2, 15, 15, 15, 15, 15], &[2, 3, 4]),
            ("a page that is reloaded", &[1, 1, 1, 10, 1], &[]),
            ("ten seconds is the shortest interval that is no gap", &[1, 1, 1, 11, 1], &[3]),
            ("every other interval is long", &[2, 60, 2, 60, 2, 60, 2, 60], &[1, 3, 5, 7]),
            ("an hour is always a gap", &[3600, 3600, 3600, 3600, 3600], &[0, 1, 2, 3, 4]),
            ("ten minutes is the longest interval that is no gap", &[300, 300, 300, 300, 600, 601], &[0, 1, 2, 5]),
        ] {
            assert_eq!(gaps(intervals), expected, "{what}");
        }
    }

    #[test]
    fn a_page_that_was_open_for_minutes_does_not_turn_scrape_intervals_into_gaps() {
        let mut intervals = vec![15; 4];
        intervals.extend([2; 300]);
        intervals.extend([15; 4]);
        assert_eq!(gaps(&intervals), [] as [usize; 0], "ten minutes");
        intervals.splice(4..304, [2; 10_000]);
        assert_eq!(gaps(&intervals).len(), 3, "many hours without a scrape");
    }
}
