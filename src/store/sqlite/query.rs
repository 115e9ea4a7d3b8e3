//! Runs one statement and decodes its rows into a reading.

use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::failure::Failure;
use crate::clock;
use crate::lease::{ReadInterval, Reading};
use crate::store::column::{Value, columns};
use crate::store::rows::{Decoder, no_row};
use crate::store::sql::{HAS_PARAMETERS, WOULD_WRITE};
use crate::store::{ReadError, Scope};

/// The number of steps of SQLite's virtual machine between two checks of the deadline: some tens of microseconds.
const STEPS_BETWEEN_CHECKS: i32 = 10_000;

/// A statement that returns columns of the reading contract.
#[derive(Debug)]
pub struct SqliteQuery {
    sql: Arc<str>,
    scope: Scope,
}

impl SqliteQuery {
    /// A statement, and which of its leases are kept.
    #[must_use]
    pub const fn new(sql: Arc<str>, scope: Scope) -> Self {
        Self { sql, scope }
    }

    /// Runs the query and decodes its rows.
    ///
    /// `now` is the monotonic clock of `deadline`. It is a parameter, so that a simulation can use a clock without real time.
    ///
    /// # Errors
    /// An error of SQLite, or a result that breaks the reading contract.
    pub fn read(
        &self,
        connection: &Connection,
        deadline: Duration,
        now: &(impl Fn() -> Duration + Copy + Send + 'static),
    ) -> Result<Reading, Failure> {
        let now = *now;
        connection.progress_handler(STEPS_BETWEEN_CHECKS, Some(move || now() >= deadline))?;
        let mut statement = connection.prepare_cached(&self.sql)?;
        if !statement.readonly() {
            return Err(ReadError::SchemaMismatch(WOULD_WRITE.into()).into());
        }
        if statement.parameter_count() > 0 {
            return Err(ReadError::SchemaMismatch(HAS_PARAMETERS.into()).into());
        }
        columns(statement.column_names().into_iter())?;

        let began = now();
        let mut rows = statement.query([])?;
        let first = rows.next()?;
        // The snapshot and the store's clock are fixed when the first row is returned.
        let (at, wall_clock) = (ReadInterval { start: began, end: now() }, clock::unix_seconds());
        let first = first.ok_or_else(no_row)?;
        // If the schema changed after the statement was prepared, the columns of a `SELECT *` moved.
        let columns = columns(first.as_ref().column_names().into_iter())?;
        let mut decoder = Decoder::new(columns, &self.scope);
        take(&mut decoder, first)?;
        while let Some(row) = rows.next()? {
            take(&mut decoder, row)?;
        }
        Ok(decoder.finish(at, wall_clock)?)
    }
}

fn take(decoder: &mut Decoder, row: &rusqlite::Row<'_>) -> Result<(), Failure> {
    decoder.row(|at| row.get_ref(at).map_or(Value::Other, value)).map_err(Failure::from)
}

fn value(value: ValueRef<'_>) -> Value<'_> {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number.into()),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(bytes) => Value::Text(bytes),
        ValueRef::Blob(_) => Value::Other,
    }
}
