//! A clock for tests and simulations that replaces the clock of SQLite.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;

use crate::StoreTime;

/// The Julian day of 1970-01-01T00:00:00Z.
const UNIX_EPOCH_JULIAN_DAY: f64 = 2_440_587.5;
const MILLIS_PER_DAY: f64 = 86_400_000.0;

/// A clock that moves only when it is told to. It becomes the clock of each connection that it is installed on. Clones
/// share one clock.
#[derive(Clone, Debug)]
pub struct VirtualClock(Arc<AtomicI64>);

impl VirtualClock {
    /// A clock that is set to this time.
    #[must_use]
    pub fn at(time: StoreTime) -> Self {
        Self(Arc::new(AtomicI64::new(time.unix_millis())))
    }

    /// The present time of the clock.
    #[must_use]
    pub fn now(&self) -> StoreTime {
        StoreTime::from_unix_millis(self.0.load(Ordering::SeqCst))
    }

    /// Sets the clock forwards or backwards.
    pub fn set(&self, time: StoreTime) {
        self.0.store(time.unix_millis(), Ordering::SeqCst);
    }

    /// Moves the clock forwards by whole milliseconds; the rest is cut off.
    pub fn advance(&self, by: Duration) {
        let millis = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        self.0.fetch_add(millis, Ordering::SeqCst);
    }

    /// Makes `julianday()` of a connection return this clock, whatever its arguments. Install the clock before the
    /// connection prepares statements: a prepared statement keeps the function that it was prepared with.
    ///
    /// # Errors
    /// If SQLite refuses the function.
    pub fn install(&self, connection: &Connection) -> rusqlite::Result<()> {
        let clock = Arc::clone(&self.0);
        connection.create_scalar_function("julianday", -1, FunctionFlags::SQLITE_UTF8, move |_| {
            // A Julian day as a double resolves 0.05 ms in this century, so that rounding restores the millisecond.
            #[expect(clippy::cast_precision_loss, reason = "milliseconds stay below 2^53")]
            let millis = clock.load(Ordering::SeqCst) as f64;
            Ok(UNIX_EPOCH_JULIAN_DAY + millis / MILLIS_PER_DAY)
        })
    }
}
