//! The only place that asks what time it is.

use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Time since the process first asked, on the monotonic clock: it never steps, whatever happens to the wall clock.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is the place")]
pub fn monotonic() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed()
}

/// Seconds since the Unix epoch, on this machine's wall clock. Only ever shown, never used to judge.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is the place")]
pub fn unix_seconds() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}
