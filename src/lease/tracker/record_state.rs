//! The records of one lease in a reading, combined into one.

use std::borrow::Cow;
use std::time::Duration;

use super::context::ReadContext;
use crate::lease::evidence::ObservationFailure;
use crate::lease::policy::{Clock, LeaseKind};
use crate::lease::record::{LeaseRecord, StoreTime};

/// The record of one lease in a reading.
pub(super) enum RecordState<'a> {
    /// There is no record.
    Absent,
    /// There is a record.
    Present {
        record: Cow<'a, LeaseRecord>,
        /// In a registry, the holders of the other records that have not certainly expired.
        other_holders: Vec<&'a str>,
    },
    /// There is a record that cannot be used.
    Unusable(ObservationFailure),
}

impl<'a> RecordState<'a> {
    /// Combines the records of one lease, of which there is at least one.
    ///
    /// In a registry, the result is the record with the latest expiry, with the latest progress of all records and the
    /// greatest amount of due work. Several records are unusable if the source has one holder at a time.
    pub(super) fn from_records(records: &'a [LeaseRecord], reading: &ReadContext<'_>) -> Self {
        if let [record] = records {
            return Self::Present { record: Cow::Borrowed(record), other_holders: Vec::new() };
        }
        let latest = records.iter().max_by_key(|record| (expiry(record), record.renewed_at));
        let (Some(latest), LeaseKind::Registry) = (latest, reading.rules.kind) else {
            return Self::Unusable(ObservationFailure::DuplicateRecord);
        };
        let progress = records.iter().max_by_key(|record| (record.progress_at, record.progress_epoch));
        let record = LeaseRecord {
            epoch: records.iter().filter_map(|record| record.epoch).max(),
            progress_at: progress.and_then(|record| record.progress_at),
            progress_epoch: progress.and_then(|record| record.progress_epoch),
            progress_cursor: records.iter().find_map(|record| record.progress_cursor.clone()),
            due: records.iter().filter_map(|record| record.due).max(),
            oldest_due_at: records.iter().filter_map(|record| record.oldest_due_at).min(),
            ..latest.clone()
        };
        let others = records.iter().filter(|record| !std::ptr::eq(*record, latest));
        let other_holders = others
            .filter(|record| !is_expired(record, reading))
            .filter_map(|record| record.holder.as_deref().filter(|holder| !holder.is_empty()))
            .collect();
        Self::Present { record: Cow::Owned(record), other_holders }
    }
}

/// When the lease of a record expires, according to its stored times alone.
fn expiry(record: &LeaseRecord) -> Option<StoreTime> {
    record.expires_at.or_else(|| Some(record.renewed_at?.plus(record.ttl?)))
}

/// Whether the lease of a record has certainly expired.
fn is_expired(record: &LeaseRecord, reading: &ReadContext<'_>) -> bool {
    let allowance = match reading.rules.clock {
        Clock::Store => Duration::ZERO,
        Clock::Holder => reading.rules.clock_skew,
    };
    expiry(record).is_some_and(|expiry| expiry.plus(allowance) <= reading.store_now)
}
