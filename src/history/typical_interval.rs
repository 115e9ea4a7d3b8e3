//! The typical interval between two readings of a source.

use std::time::Duration;

/// The typical interval before the first reading.
const INITIAL: Duration = Duration::from_secs(30);
/// The shortest typical interval, so that a person who reloads a page often does not turn every scrape interval into a gap.
const MIN: Duration = Duration::from_secs(5);
/// The longest typical interval. A lease that is read once an hour is not observed continuously.
const MAX: Duration = Duration::from_secs(5 * 60);
/// How many gaps in a row make their length the typical interval.
const GAPS_IN_A_ROW: u8 = 3;
/// How long shorter intervals have to continue until the typical interval is about as short. An open page reads a source
/// far more often than Prometheus does, and must not turn the scrape interval into a gap when it is closed.
const DECAY: Duration = Duration::from_secs(60 * 60);

/// The typical interval between two readings: about the longest of the recent intervals that were no gaps.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TypicalInterval {
    interval: Option<Duration>,
    gaps_in_a_row: u8,
}

impl TypicalInterval {
    /// Records the next interval. Returns whether it is a gap: longer than twice the typical interval.
    pub(super) fn is_gap(&mut self, next: Duration) -> bool {
        let typical = self.interval.unwrap_or(INITIAL);
        if next > typical.saturating_mul(2) {
            self.gaps_in_a_row += 1;
            if self.gaps_in_a_row == GAPS_IN_A_ROW {
                self.gaps_in_a_row = 0;
                self.interval = Some(next.clamp(MIN, MAX));
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
        self.interval = Some(interval.clamp(MIN, MAX));
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
