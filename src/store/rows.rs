//! Decodes the rows of a result into a reading, for every store with columns.

use std::sync::Arc;

use super::column::{Value, reported};
use super::{ReadError, RecordLimiter, Scope};
use crate::lease::{Column, LeaseRecord, ReadInterval, Reading, RecordFault, RejectedRecord, StoreTime};

#[derive(Debug)]
pub(super) struct Decoder {
    columns: Vec<Column>,
    store_now_at: usize,
    lease_at: Option<usize>,
    /// The name of the only lease, if there is no column `lease`.
    only_lease: Arc<str>,
    store_now: Option<StoreTime>,
    rows: RecordLimiter,
}

pub(super) fn no_row() -> ReadError {
    ReadError::InvalidRecord(
        "the query returned no row, so it has no clock: select from the clock, LEFT JOIN the leases".into(),
    )
}

impl Decoder {
    pub(super) fn new(columns: Vec<Column>, scope: &Scope) -> Self {
        let position = |wanted| columns.iter().position(|column| *column == wanted);
        Self {
            store_now_at: position(Column::StoreNow).unwrap_or_default(),
            lease_at: position(Column::Lease),
            only_lease: Arc::clone(&scope.only_lease),
            store_now: None,
            rows: RecordLimiter::new(scope.max_leases),
            columns,
        }
    }

    /// Decodes a row, whose values `value_at` returns by column. A row that breaks the contract is rejected, and no other.
    ///
    /// # Errors
    /// The first row does not give the store's clock.
    pub(super) fn row<'v>(&mut self, value_at: impl Fn(usize) -> Value<'v>) -> Result<(), ReadError> {
        if self.store_now.is_none() {
            self.store_now = Some(store_now(value_at(self.store_now_at))?);
        }
        let lease = match self.lease_at {
            None => Some(Arc::clone(&self.only_lease)),
            Some(at) => match value_at(at).name() {
                Ok(Some(name)) if !self.rows.admits(&name) => return Ok(()),
                Ok(name) => name.map(Arc::from),
                Err(fault) => {
                    self.rows.reject(RejectedRecord { lease: None, column: Column::Lease, fault });
                    return Ok(());
                }
            },
        };
        let mut decoded = LeaseRecord { lease, ..LeaseRecord::default() };
        for (at, column) in self.columns.iter().enumerate() {
            if let Err(fault) = decode(&mut decoded, *column, value_at(at)) {
                self.rows.reject(RejectedRecord { lease: decoded.lease, column: *column, fault });
                return Ok(());
            }
        }
        match decoded {
            LeaseRecord { lease: Some(_), .. } => self.rows.push(decoded),
            // A source without leases returns one row with the clock alone.
            LeaseRecord {
                holder: None, epoch: None, acquired_at: None, renewed_at: None, expires_at: None, ..
            } => {}
            _ => self.rows.reject(RejectedRecord { lease: None, column: Column::Lease, fault: RecordFault::NoName }),
        }
        Ok(())
    }

    /// All rows as one reading, whose snapshot was made within `interval`, when the exporter's clock showed `wall_clock`.
    ///
    /// # Errors
    /// There was no row, so there is no clock.
    pub(super) fn finish(self, interval: ReadInterval, wall_clock: f64) -> Result<Reading, ReadError> {
        let store_now = self.store_now.ok_or_else(no_row)?;
        Ok(Reading {
            interval,
            store_now,
            clock_offset: store_now.unix_seconds() - wall_clock,
            columns: reported(&self.columns),
            records: self.rows.finish(),
        })
    }
}

fn store_now(value: Value<'_>) -> Result<StoreTime, ReadError> {
    let invalid = |what: &str| {
        ReadError::InvalidRecord(format!("`store_now` is {what}; it must be Unix seconds, or text in UTC"))
    };
    value.time().map_err(|fault| invalid(fault.as_str()))?.ok_or_else(|| invalid("NULL"))
}

/// Decodes a value into its field of the record.
pub(super) fn decode(row: &mut LeaseRecord, column: Column, value: Value<'_>) -> Result<(), RecordFault> {
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
