//! The reading contract as types: the output of a store and the input of the tracker.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::age::ReadInterval;
use super::label::{Column, RecordFault};

/// An instant on the store's clock: microseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoreTime(i64);

/// The error of a time before the year 1 or after 9999, an infinity, or not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeOutOfRange;

impl StoreTime {
    const MICROS: i64 = 1_000_000;
    /// 0001-01-01 and 10000-01-01 in Unix seconds. Milliseconds taken for seconds are mostly outside this range.
    const YEAR_1: i64 = -62_135_596_800;
    const YEAR_10000: i64 = 253_402_300_800;

    /// A whole number of seconds since the Unix epoch.
    ///
    /// # Errors
    /// The year is before 1 or after 9999.
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
    /// The year is before 1 or after 9999, or `seconds` is infinite or not a number.
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
    /// The year is before 1 or after 9999.
    pub fn from_unix_micros(micros: i64) -> Result<Self, TimeOutOfRange> {
        Self::from_unix_seconds(micros.div_euclid(Self::MICROS)).map(|_| Self(micros))
    }

    /// Microseconds since the Unix epoch.
    #[must_use]
    pub const fn unix_micros(self) -> i64 {
        self.0
    }

    /// Seconds since the Unix epoch, the unit of times in Prometheus.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "microseconds of these years fit 53 bits to within one")]
    pub fn unix_seconds(self) -> f64 {
        self.0 as f64 / Self::MICROS as f64
    }

    /// The microseconds from `earlier` to this time; negative if `earlier` is later.
    #[must_use]
    pub const fn micros_since(self, earlier: Self) -> i64 {
        // The range of a StoreTime makes the difference fit.
        self.0 - earlier.0
    }

    /// The time `less` before this one; `None` if it is out of range.
    #[must_use]
    pub fn minus(self, less: Duration) -> Option<Self> {
        let micros = i64::try_from(less.as_micros()).ok()?;
        Self::from_unix_micros(self.0.checked_sub(micros)?).ok()
    }

    /// The time `more` after this one, limited to the end of the year 9999.
    #[must_use]
    pub fn plus(self, more: Duration) -> Self {
        let micros = i64::try_from(more.as_micros()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(micros).min(Self::YEAR_10000 * Self::MICROS - 1))
    }
}

/// The authority epoch, also called fencing token: grows by one with each acquisition and is never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u64);

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A value that changes with each progress. Cursors are compared for equality only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cursor {
    /// A number.
    Number(i64),
    /// Any other text.
    Text(Box<str>),
}

/// The record of one lease and one of its holders in a reading. `None` means "not known", never zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseRecord {
    /// The lease's name; `None` in a record that only carries the store's clock.
    pub lease: Option<Arc<str>>,
    /// The holder's name, which is never shown; `None` or empty after a release.
    pub holder: Option<Box<str>>,
    /// The authority epoch.
    pub epoch: Option<Epoch>,
    /// When the holder acquired the lease.
    pub acquired_at: Option<StoreTime>,
    /// When the holder last renewed the lease.
    pub renewed_at: Option<StoreTime>,
    /// When the lease expires.
    pub expires_at: Option<StoreTime>,
    /// How long after a renewal the lease expires.
    pub ttl: Option<Duration>,
    /// Whether the record has no TTL in a store whose records should have one, so that the lease never expires.
    pub persistent: bool,
    /// When the last progress was made.
    pub progress_at: Option<StoreTime>,
    /// The epoch under which the last progress was made.
    pub progress_epoch: Option<Epoch>,
    /// A value that changes with each progress.
    pub progress_cursor: Option<Cursor>,
    /// How much work is due now.
    pub due: Option<u64>,
    /// Since when the oldest due work has been due.
    pub oldest_due_at: Option<StoreTime>,
}

/// A record that cannot be used, and why. It affects no lease but its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedRecord {
    /// The lease, if the record names it.
    pub lease: Option<Arc<str>>,
    /// The column at fault.
    pub column: Column,
    /// The fault.
    pub fault: RecordFault,
}

/// The columns of the contract that a source returns. A column that the source does not return is not reported; a NULL
/// in a column that it returns is not known.
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

    /// Whether the source reports when a lease expires.
    #[must_use]
    pub const fn has_expiry(self) -> bool {
        self.has(Column::ExpiresAt) || self.has(Column::TtlSeconds)
    }

    /// Whether the source reports progress.
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

/// The records of a reading, within the limits of the source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordSet {
    /// The usable records, by lease name.
    pub accepted: Vec<LeaseRecord>,
    /// The unusable records. One with [`RecordFault::OverLimit`] stands for records of its lease that were left out.
    pub rejected: Vec<RejectedRecord>,
    /// How many other records were left out because they are over a limit.
    pub over_limit: u64,
    /// The last lease by name that was kept, if the leases after it were left out.
    pub last_kept: Option<Arc<str>>,
}

/// One reading of a source: all its records and the store's clock, from one snapshot of the store.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// When the snapshot was made, on the exporter's monotonic clock.
    pub interval: ReadInterval,
    /// The store's clock in the snapshot.
    pub store_now: StoreTime,
    /// The difference between the store's clock and the exporter's, in seconds; positive if the store's is ahead.
    pub clock_offset: f64,
    /// The columns that the source returns.
    pub columns: Columns,
    /// The records.
    pub records: RecordSet,
}
