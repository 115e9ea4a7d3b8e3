//! One statement made into one reading.

use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::failure::Failure;
use crate::clock;
use crate::lease::{At, Column, Reading, RejectedRow, Row, RowFault, StoreTime};
use crate::store::column::{Value, columns, reported};
use crate::store::{Kept, Limited, ReadError, Taken};

/// How many steps of SQLite's virtual machine pass between two looks at the clock: some tens of microseconds.
const STEPS_BETWEEN_LOOKS: i32 = 10_000;

/// A query that keeps the reading contract, and what it is asked for.
#[derive(Debug)]
pub struct Query {
    sql: Arc<str>,
    /// The name of the only lease, where the query returns no column `lease`.
    only_lease: Arc<str>,
    max_leases: usize,
}

impl Query {
    /// A query of the source named `source`, whose first `max_leases` leases by name are kept.
    #[must_use]
    pub const fn new(sql: Arc<str>, source: Arc<str>, max_leases: usize) -> Self {
        Self { sql, only_lease: source, max_leases }
    }

    /// Runs the query and makes a reading of its rows.
    ///
    /// `now` is the monotonic clock that `deadline` is on: passed in, so that a simulation can bring its own.
    ///
    /// # Errors
    /// SQLite's, or a deviation from the contract; both by name.
    pub fn read(
        &self,
        connection: &Connection,
        deadline: Duration,
        now: &(impl Fn() -> Duration + Copy + Send + 'static),
    ) -> Result<Taken, Failure> {
        let now = *now;
        connection.progress_handler(STEPS_BETWEEN_LOOKS, Some(move || now() >= deadline))?;
        let mut statement = connection.prepare_cached(&self.sql)?;
        if !statement.readonly() {
            return Err(ReadError::SchemaMismatch("the query would write; it must be one SELECT".to_owned()).into());
        }
        if statement.parameter_count() > 0 {
            return Err(ReadError::SchemaMismatch("the query has parameters; nothing fills them".to_owned()).into());
        }
        columns(statement.column_names().into_iter())?;

        let began = now();
        let mut rows = statement.query([])?;
        let first = rows.next()?;
        // The snapshot and the store's clock are fixed once the first row is there.
        let (at, wall_clock) = (At { began, ended: now() }, clock::unix_seconds());
        let Some(first) = first else {
            return Err(ReadError::InvalidRecord(
                "the query returned no row, so it has no clock: select from the clock, LEFT JOIN the leases".to_owned(),
            )
            .into());
        };
        // A schema that changed meanwhile moves the columns of a `SELECT *`: only from here on do they stay where they are.
        let columns = columns(first.as_ref().column_names().into_iter())?;
        let mut decoder = Decoder::new(&columns, &self.only_lease, self.max_leases);
        let store_now = decoder.store_now(first)?;
        decoder.row(first)?;
        while let Some(row) = rows.next()? {
            decoder.row(row)?;
        }
        let Kept { rows, rejected, over_limit } = decoder.rows.finish();
        Ok(Taken {
            reading: Reading { store_now, columns: reported(&columns), rows, rejected, over_limit },
            at,
            clock_offset: store_now.unix_seconds() - wall_clock,
        })
    }
}

/// Rows as they are decoded.
struct Decoder<'a> {
    columns: &'a [Column],
    lease_at: Option<usize>,
    only_lease: &'a Arc<str>,
    rows: Limited,
}

impl<'a> Decoder<'a> {
    fn new(columns: &'a [Column], only_lease: &'a Arc<str>, max_leases: usize) -> Self {
        let lease_at = columns.iter().position(|column| *column == Column::Lease);
        Self { columns, lease_at, only_lease, rows: Limited::new(max_leases) }
    }

    fn store_now(&self, row: &rusqlite::Row<'_>) -> Result<StoreTime, Failure> {
        let invalid = |what: &str| {
            Failure::from(ReadError::InvalidRecord(format!(
                "`store_now` is {what}; it must be Unix seconds, or text in UTC"
            )))
        };
        let at = self.columns.iter().position(|column| *column == Column::StoreNow);
        let value = value(row.get_ref(at.unwrap_or_default())?);
        value.time().map_err(|fault| invalid(fault.as_str()))?.ok_or_else(|| invalid("NULL"))
    }

    /// Takes in one row. A row that breaks the contract costs itself alone.
    fn row(&mut self, row: &rusqlite::Row<'_>) -> Result<(), Failure> {
        let lease = match self.lease_at {
            None => Some(Arc::clone(self.only_lease)),
            Some(at) => match value(row.get_ref(at)?).name() {
                Ok(Some(name)) if !self.rows.admits(&name) => return Ok(()),
                Ok(name) => name.map(Arc::from),
                Err(fault) => {
                    self.rows.reject(RejectedRow { lease: None, column: Column::Lease, fault });
                    return Ok(());
                }
            },
        };
        let mut decoded = Row { lease, ..Row::default() };
        for (at, column) in self.columns.iter().enumerate() {
            if let Err(fault) = decode(&mut decoded, *column, value(row.get_ref(at)?)) {
                self.rows.reject(RejectedRow { lease: decoded.lease, column: *column, fault });
                return Ok(());
            }
        }
        match decoded {
            Row { lease: Some(_), .. } => self.rows.push(decoded),
            // The one row of a source without leases, which carries the clock alone.
            Row { holder: None, epoch: None, acquired_at: None, renewed_at: None, expires_at: None, .. } => {}
            _ => self.rows.reject(RejectedRow { lease: None, column: Column::Lease, fault: RowFault::NoName }),
        }
        Ok(())
    }
}

fn decode(row: &mut Row, column: Column, value: Value<'_>) -> Result<(), RowFault> {
    match column {
        Column::StoreNow | Column::Lease => {}
        Column::Holder => row.holder = value.name()?.map(|name| name.into_owned().into()),
        Column::Epoch => row.epoch = value.epoch()?,
        Column::AcquiredAt => row.acquired_at = value.time()?,
        Column::RenewedAt => row.renewed_at = value.time()?,
        Column::ExpiresAt => row.expires_at = value.time()?,
        Column::TtlSeconds => row.ttl = value.seconds()?,
        Column::ProgressAt => row.progress_at = value.time()?,
        Column::ProgressEpoch => row.progress_epoch = value.epoch()?,
        Column::ProgressCursor => row.progress_cursor = value.cursor()?,
        Column::Due => row.due = value.count()?,
        Column::OldestDueAt => row.oldest_due_at = value.time()?,
    }
    Ok(())
}

fn value(value: ValueRef<'_>) -> Value<'_> {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(bytes) => Value::Text(bytes),
        ValueRef::Blob(_) => Value::Blob,
    }
}
