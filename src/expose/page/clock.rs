//! Times as people compare them with their logs.

use std::time::{Duration, UNIX_EPOCH};

use super::ObservedSource;

/// When a page is made, on both clocks.
#[derive(Clone, Copy, Debug)]
pub struct PageClock {
    /// On the wall clock, which is shown.
    pub unix_seconds: f64,
    /// On the clock of looks, which never steps.
    pub monotonic: Duration,
}

impl PageClock {
    /// How long ago a look was.
    pub(super) const fn since(self, at: Duration) -> Duration {
        self.monotonic.saturating_sub(at)
    }

    /// The same clocks as they were at a look.
    pub(super) fn at(self, at: Duration) -> Self {
        Self { unix_seconds: self.unix_seconds - self.since(at).as_secs_f64(), monotonic: at }
    }

    /// As of when a page of these looks is: the latest reading, or look where no store could be read.
    pub(super) fn of(self, looks: &[ObservedSource<'_>]) -> Self {
        let read = looks.iter().filter(|look| look.snapshot.health.outcome.is_ok()).map(|look| look.at).max();
        let looked = looks.iter().map(|look| look.at).max();
        read.or(looked).map_or(self, |at| self.at(at))
    }

    /// As of when a look is, where a page that is of this time has to say it. Times are given to the second.
    pub(super) fn other_than(self, look: &ObservedSource<'_>) -> Option<String> {
        let read = look.snapshot.health.outcome.is_ok();
        (read && self.since(look.at) >= Duration::from_secs(1)).then(|| self.clock(look.at))
    }

    /// `2027-01-15 08:00:00 UTC`
    pub(super) fn date_and_time(self) -> String {
        date_and_time(self.unix_seconds)
    }

    /// When a look was, as the wall clock now has it: `08:00:00`, with the date where that is not today's.
    pub(super) fn clock(self, at: Duration) -> String {
        let then = date_and_time(self.unix_seconds - self.since(at).as_secs_f64());
        let then = then.trim_end_matches(" UTC");
        match (then.split_once(' '), self.date_and_time().split_once(' ')) {
            (Some((day, time)), Some((today, _))) if day == today => time.to_owned(),
            _ => then.to_owned(),
        }
    }
}

/// A time of a store's or of this machine's clock.
pub(super) fn date_and_time(unix_seconds: f64) -> String {
    let time = UNIX_EPOCH.checked_add(Duration::try_from_secs_f64(unix_seconds).unwrap_or_default());
    let time = time.filter(|_| unix_seconds < 253_402_300_800.0).unwrap_or(UNIX_EPOCH);
    humantime::format_rfc3339_seconds(time).to_string().replace('T', " ").replace('Z', " UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_today_goes_without_its_date() {
        let now = PageClock { unix_seconds: 1_800_000_000.0, monotonic: Duration::from_secs(100_000) };
        assert_eq!(now.date_and_time(), "2027-01-15 08:00:00 UTC");
        for (at, shown) in
            [(100_000, "08:00:00"), (99_985, "07:59:45"), (71_200, "00:00:00"), (71_199, "2027-01-14 23:59:59")]
        {
            assert_eq!(now.clock(Duration::from_secs(at)), shown);
        }
    }

    #[test]
    fn a_time_that_no_calendar_has_is_still_a_text() {
        for seconds in [-1.0, f64::NAN, f64::INFINITY, 1e300, 253_402_300_800.0] {
            assert_eq!(date_and_time(seconds), "1970-01-01 00:00:00 UTC");
        }
    }
}
