//! How far apart looks usually are.

use std::time::Duration;

/// Before anything is usual, looks no further apart than twice this are taken as following each other.
const AT_FIRST: Duration = Duration::from_secs(30);
/// Nothing shorter is: somebody who reloads a page does not make a scrape a gap.
const AT_LEAST: Duration = Duration::from_secs(5);
/// Nothing longer is ever usual: a look every hour does not watch a lease.
const AT_MOST: Duration = Duration::from_secs(5 * 60);
/// An interval becomes usual once it came so often in a row.
const IN_A_ROW: u8 = 3;
/// How long shorter intervals have to go on until the usual one is about as short. An open page looks far more often than
/// Prometheus does; what is usual between two scrapes had better not be forgotten meanwhile.
const FADES_IN: Duration = Duration::from_secs(60 * 60);

/// The usual interval between two looks: about the longest of late that was no gap.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usual {
    interval: Option<Duration>,
    gaps_in_a_row: u8,
}

impl Usual {
    /// Takes in the next interval, and says whether it is too long to tell what was in it.
    pub(super) fn is_gap(&mut self, next: Duration) -> bool {
        let usual = self.interval.unwrap_or(AT_FIRST);
        if next > usual.saturating_mul(2) {
            self.gaps_in_a_row += 1;
            if self.gaps_in_a_row == IN_A_ROW {
                self.gaps_in_a_row = 0;
                self.interval = Some(next.clamp(AT_LEAST, AT_MOST));
            }
            return true;
        }
        self.gaps_in_a_row = 0;
        let interval = match self.interval {
            Some(usual) if next < usual => {
                let share = (next.as_secs_f64() / FADES_IN.as_secs_f64()).min(1.0);
                usual - (usual - next).mul_f64(share)
            }
            _ => next,
        };
        self.interval = Some(interval.clamp(AT_LEAST, AT_MOST));
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of these intervals, in seconds, are gaps.
    fn gaps(intervals: &[u64]) -> Vec<usize> {
        let mut usual = Usual::default();
        let gap = intervals.iter().map(|seconds| usual.is_gap(Duration::from_secs(*seconds)));
        gap.enumerate().filter(|(_, gap)| *gap).map(|(at, _)| at).collect()
    }

    #[test]
    fn an_interval_is_a_gap_where_it_is_more_than_twice_the_usual() {
        for (what, intervals, expected) in [
            ("nothing is usual yet", &[60][..], &[][..]),
            ("nothing is usual yet, and it is long", &[61], &[0]),
            ("as always", &[15, 15, 15], &[]),
            ("a scrape was missed", &[15, 15, 30, 15], &[]),
            ("two were", &[15, 15, 45, 15], &[2]),
            ("looks come more rarely from now on", &[2, 2, 15, 15, 15, 15, 15], &[2, 3, 4]),
            ("reloading", &[1, 1, 1, 10, 1], &[]),
            ("ten seconds is the least", &[1, 1, 1, 11, 1], &[3]),
            ("now and then is not usual", &[2, 60, 2, 60, 2, 60, 2, 60], &[1, 3, 5, 7]),
            ("an hour is never usual", &[3600, 3600, 3600, 3600, 3600], &[0, 1, 2, 3, 4]),
            ("ten minutes is the most", &[300, 300, 300, 300, 600, 601], &[0, 1, 2, 5]),
        ] {
            assert_eq!(gaps(intervals), expected, "{what}");
        }
    }

    #[test]
    fn a_page_that_was_open_for_a_while_does_not_make_scrapes_look_like_gaps() {
        let mut intervals = vec![15; 4];
        intervals.extend([2; 300]);
        intervals.extend([15; 4]);
        assert_eq!(gaps(&intervals), [] as [usize; 0], "ten minutes");
        intervals.splice(4..304, [2; 10_000]);
        assert_eq!(gaps(&intervals).len(), 3, "many hours, as if nobody had scraped meanwhile");
    }
}
