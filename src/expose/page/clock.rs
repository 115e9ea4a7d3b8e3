//! Times in the form that people compare with their logs.

use std::time::{Duration, UNIX_EPOCH};

use super::ObservedSource;

/// One moment on both clocks.
#[derive(Clone, Copy, Debug)]
pub struct PageClock {
    /// The wall clock, which is shown.
    pub unix_seconds: f64,
    /// The monotonic clock, on which snapshots are timed.
    pub monotonic: Duration,
}

impl PageClock {
    pub(super) const fn since(self, at: Duration) -> Duration {
        self.monotonic.saturating_sub(at)
    }

    pub(super) fn as_of(self, at: Duration) -> Self {
        Self { unix_seconds: self.unix_seconds - self.since(at).as_secs_f64(), monotonic: at }
    }

    /// The time of a page of these sources: the latest successful read or, if there is none, the latest attempt.
    pub(super) fn of_page(self, sources: &[ObservedSource]) -> Self {
        let is_read = |source: &&ObservedSource| source.snapshot.health.outcome.is_ok();
        let latest_read = sources.iter().filter(is_read).map(|source| source.observed_at).max();
        let latest = sources.iter().map(|source| source.observed_at).max();
        latest_read.or(latest).map_or(self, |at| self.as_of(at))
    }

    /// The time of a source that was read, if it is at least a second before that of the page.
    pub(super) fn older_time(self, source: &ObservedSource) -> Option<String> {
        let is_read = source.snapshot.health.outcome.is_ok();
        (is_read && self.since(source.observed_at) >= Duration::from_secs(1))
            .then(|| self.time_of_day(source.observed_at))
    }

    /// The wall-clock time of a snapshot, for example `08:00:00`, with the date if it is not today's.
    pub(super) fn time_of_day(self, at: Duration) -> String {
        let then = date_and_time(self.as_of(at).unix_seconds);
        let then = then.trim_end_matches(" UTC");
        match (then.split_once(' '), date_and_time(self.unix_seconds).split_once(' ')) {
            (Some((day, time)), Some((today, _))) if day == today => time.to_owned(),
            _ => then.to_owned(),
        }
    }
}

/// A Unix time as text, for example `2027-01-15 08:00:00 UTC`. A time before 1970 or after 9999 becomes the start of 1970.
pub(super) fn date_and_time(unix_seconds: f64) -> String {
    let time = UNIX_EPOCH.checked_add(Duration::try_from_secs_f64(unix_seconds).unwrap_or_default());
    let time = time.filter(|_| unix_seconds < 253_402_300_800.0).unwrap_or(UNIX_EPOCH);
    humantime::format_rfc3339_seconds(time).to_string().replace('T', " ").replace('Z', " UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_today_is_shown_without_its_date() {
        let now = PageClock { unix_seconds: 1_800_000_000.0, monotonic: Duration::from_secs(100_000) };
        assert_eq!(date_and_time(now.unix_seconds), "2027-01-15 08:00:00 UTC");
        for (at, shown) in
            [(100_000, "08:00:00"), (99_985, "07:59:45"), (71_200, "00:00:00"), (71_199, "2027-01-14 23:59:59")]
        {
            assert_eq!(now.time_of_day(Duration::from_secs(at)), shown);
        }
    }

    #[test]
    fn a_time_out_of_range_is_shown_as_the_start_of_1970() {
        for seconds in [-1.0, f64::NAN, f64::INFINITY, 1e300, 253_402_300_800.0] {
            assert_eq!(date_and_time(seconds), "1970-01-01 00:00:00 UTC");
        }
    }
}
