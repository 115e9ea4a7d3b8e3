//! One statement made into one reading.

use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::failure::Failure;
use crate::clock;
use crate::lease::{ReadInterval, Reading};
use crate::store::column::{Value, columns};
use crate::store::rows::{Decoder, no_row};
use crate::store::{ReadError, Scope};

/// How many steps of SQLite's virtual machine pass between two looks at the clock: some tens of microseconds.
const STEPS_BETWEEN_LOOKS: i32 = 10_000;

/// A query that keeps the reading contract, and what it is asked for.
#[derive(Debug)]
pub struct SqliteQuery {
    sql: Arc<str>,
    scope: Scope,
}

impl SqliteQuery {
    /// A query, and which leases are kept of what it returns.
    #[must_use]
    pub const fn new(sql: Arc<str>, scope: Scope) -> Self {
        Self { sql, scope }
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
    ) -> Result<Reading, Failure> {
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
        let (at, wall_clock) = (ReadInterval { start: began, end: now() }, clock::unix_seconds());
        let Some(first) = first else {
            return Err(no_row().into());
        };
        // A schema that changed meanwhile moves the columns of a `SELECT *`: only from here on do they stay where they are.
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
    // Every column of a row that is there can be looked at, whatever it holds.
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
