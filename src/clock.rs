//! The only module that reads the clocks.

use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The time since the first call in this process, on the monotonic clock.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this module reads the clocks")]
pub fn monotonic() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed()
}

/// Seconds since the Unix epoch, on the wall clock. Only for display; states are judged by other clocks.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this module reads the clocks")]
pub fn unix_seconds() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}
