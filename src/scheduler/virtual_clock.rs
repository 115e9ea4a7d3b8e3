//! A clock that stands still until it is moved, in place of the one that SQLite reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;

use super::authority::StoreTime;

/// The Julian day of 1970-01-01T00:00:00Z.
const UNIX_EPOCH_JULIAN_DAY: f64 = 2_440_587.5;
const MILLIS_PER_DAY: f64 = 86_400_000.0;

/// The store's clock of every connection it is installed on. Clones are the same clock.
#[derive(Clone, Debug)]
pub struct VirtualClock(Arc<AtomicI64>);

impl VirtualClock {
    /// A clock that shows this time.
    #[must_use]
    pub fn at(time: StoreTime) -> Self {
        Self(Arc::new(AtomicI64::new(time.unix_millis())))
    }

    /// What it shows.
    #[must_use]
    pub fn now(&self) -> StoreTime {
        StoreTime::from_unix_millis(self.0.load(Ordering::SeqCst))
    }

    /// Sets it, forwards or backwards.
    pub fn set(&self, time: StoreTime) {
        self.0.store(time.unix_millis(), Ordering::SeqCst);
    }

    /// Moves it forwards by whole milliseconds; what is finer is cut off.
    pub fn advance(&self, by: Duration) {
        let millis = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        self.0.fetch_add(millis, Ordering::SeqCst);
    }

    /// Makes a connection's `julianday()` this clock, whatever its arguments. To be done before the connection prepares
    /// a statement that tells the time: a prepared one keeps the function that it was prepared with.
    ///
    /// # Errors
    /// When SQLite refuses the function.
    pub fn install(&self, connection: &Connection) -> rusqlite::Result<()> {
        let clock = Arc::clone(&self.0);
        connection.create_scalar_function("julianday", -1, FunctionFlags::SQLITE_UTF8, move |_| {
            // A day as a double resolves 0.05 ms in this century, so rounding gives the very millisecond back.
            #[expect(clippy::cast_precision_loss, reason = "milliseconds stay below 2^53")]
            let millis = clock.load(Ordering::SeqCst) as f64;
            Ok(UNIX_EPOCH_JULIAN_DAY + millis / MILLIS_PER_DAY)
        })
    }
}
