//! What a store says of its leases: the reading contract as types.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::label::{Column, RecordFault};

/// An instant on the store's clock: microseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoreTime(i64);

/// A time that no clock shows: before the year 1 or after 9999, infinite, or not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeOutOfRange;

impl StoreTime {
    const MICROS: i64 = 1_000_000;
    /// 0001-01-01 and 10000-01-01, in Unix seconds. Milliseconds read as seconds land beyond the second.
    const YEAR_1: i64 = -62_135_596_800;
    const YEAR_10000: i64 = 253_402_300_800;

    /// A whole number of seconds since the Unix epoch.
    ///
    /// # Errors
    /// A year before 1 or after 9999.
    pub fn from_unix_seconds(seconds: i64) -> Result<Self, TimeOutOfRange> {
        if (Self::YEAR_1..Self::YEAR_10000).contains(&seconds) {
            Ok(Self(seconds * Self::MICROS))
        } else {
            Err(TimeOutOfRange)
        }
    }

    /// Seconds since the Unix epoch with a fraction, rounded to the microsecond.
    ///
    /// # Errors
    /// A year before 1 or after 9999, an infinity, or not a number.
    pub fn from_unix_seconds_f64(seconds: f64) -> Result<Self, TimeOutOfRange> {
        #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "the range is checked first")]
        if seconds >= Self::YEAR_1 as f64 && seconds < Self::YEAR_10000 as f64 {
            Ok(Self((seconds * Self::MICROS as f64).round() as i64))
        } else {
            Err(TimeOutOfRange)
        }
    }

    /// Microseconds since the Unix epoch.
    ///
    /// # Errors
    /// A year before 1 or after 9999.
    pub fn from_unix_micros(micros: i64) -> Result<Self, TimeOutOfRange> {
        Self::from_unix_seconds(micros.div_euclid(Self::MICROS)).map(|_| Self(micros))
    }

    /// Microseconds since the Unix epoch.
    #[must_use]
    pub const fn unix_micros(self) -> i64 {
        self.0
    }

    /// Seconds since the Unix epoch, as Prometheus writes times.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "microseconds of these years fit 53 bits to within one")]
    pub fn unix_seconds(self) -> f64 {
        self.0 as f64 / Self::MICROS as f64
    }

    /// How many microseconds this lies after `earlier`; negative if before.
    #[must_use]
    pub const fn micros_since(self, earlier: Self) -> i64 {
        // The range of a StoreTime makes the difference fit.
        self.0 - earlier.0
    }

    /// This instant less some time; `None` if that is before all years.
    #[must_use]
    pub fn minus(self, less: Duration) -> Option<Self> {
        let micros = i64::try_from(less.as_micros()).ok()?;
        Self::from_unix_micros(self.0.checked_sub(micros)?).ok()
    }

    /// This instant and some time more; the end of time if that is beyond it.
    #[must_use]
    pub fn plus(self, more: Duration) -> Self {
        let micros = i64::try_from(more.as_micros()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(micros).min(Self::YEAR_10000 * Self::MICROS - 1))
    }
}

/// The authority epoch, the fencing token: grows by one with each acquisition, never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u64);

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How far the work has come, as the store writes it. Only whether it changed matters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cursor {
    /// A number.
    Number(i64),
    /// Any other text.
    Text(Box<str>),
}

/// One row of a reading: a lease and one of its holders. What is `None` is not known, never zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseRecord {
    /// The lease's name; `None` in the row that only carries the clock.
    pub lease: Option<Arc<str>>,
    /// The holder's name, never shown; `None` or empty once released.
    pub holder: Option<Box<str>>,
    /// The authority epoch.
    pub epoch: Option<Epoch>,
    /// When this holder acquired the lease.
    pub acquired_at: Option<StoreTime>,
    /// When this holder last renewed it.
    pub renewed_at: Option<StoreTime>,
    /// When it expires.
    pub expires_at: Option<StoreTime>,
    /// How long after a renewal it expires.
    pub ttl: Option<Duration>,
    /// Whether the store lets the record stay for ever, though those of its source should go with their time to live.
    pub persistent: bool,
    /// When progress was last made.
    pub progress_at: Option<StoreTime>,
    /// Under which epoch it was made.
    pub progress_epoch: Option<Epoch>,
    /// How far the work has come.
    pub progress_cursor: Option<Cursor>,
    /// How much should be done now.
    pub due: Option<u64>,
    /// Since when the oldest due work has waited.
    pub oldest_due_at: Option<StoreTime>,
}

/// A row that could not be used, and why. It costs its own lease alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedRecord {
    /// The lease, where the row still told its name.
    pub lease: Option<Arc<str>>,
    /// The column at fault.
    pub column: Column,
    /// What is wrong with it.
    pub fault: RecordFault,
}

/// Which columns of the contract a source returns. A column that it never returns is not reported; a NULL in one that
/// it does is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Columns(u16);

impl Columns {
    /// Every column of the contract.
    #[must_use]
    pub fn all() -> Self {
        Column::ALL.into_iter().collect()
    }

    /// Whether the source returns this column.
    #[must_use]
    pub const fn has(self, column: Column) -> bool {
        self.0 & (1 << column as u16) != 0
    }

    /// Whether the source says anything of when a lease expires.
    #[must_use]
    pub const fn has_expiry(self) -> bool {
        self.has(Column::ExpiresAt) || self.has(Column::TtlSeconds)
    }

    /// Whether the source says anything of progress.
    #[must_use]
    pub const fn has_progress(self) -> bool {
        self.has(Column::ProgressAt) || self.has(Column::ProgressCursor)
    }
}

impl FromIterator<Column> for Columns {
    fn from_iter<I: IntoIterator<Item = Column>>(columns: I) -> Self {
        Self(columns.into_iter().fold(0, |set, column| set | 1 << column as u16))
    }
}

/// All records of one source from one snapshot, with the store's own clock in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The store's clock, in the same snapshot.
    pub store_now: StoreTime,
    /// The columns that the source returns.
    pub columns: Columns,
    /// The leases and their holders, by the lease's name.
    pub rows: Vec<LeaseRecord>,
    /// Rows that could not be used. One with [`RecordFault::OverLimit`] says that its lease has more rows than are here.
    pub rejected: Vec<RejectedRecord>,
    /// How many other rows were left out, because they are beyond a limit.
    pub over_limit: u64,
    /// The last lease by name that was looked at, if others after it were left out.
    pub last_kept: Option<Arc<str>>,
}
