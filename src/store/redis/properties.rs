//! Replies of a server with known leases, unchanged and changed.

use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::Index;
use redis::Value as Reply;

use super::tests::{any_reply, bulk, clock, decoded, hello, layout, subject};
use super::*;
use crate::lease::{Column, LeaseRecord, RecordFault, RejectedRecord, StoreTime};
use crate::store::column::Value;
use crate::store::properties::expected::{doubles, integers};
use crate::store::rows::decode;
use crate::testing::{cases, hostile};
use schedule::DueScheduleTracker;

const LAYOUT: &str = "{lock: 'lock:*', ttl: 30s, epoch: '{key}:e', progress: '{key}:p', fields: [progress_at, \
    progress_epoch, progress_cursor], due_set: '{key}:d'}";
const FIELDS: [Column; 3] = [Column::ProgressAt, Column::ProgressEpoch, Column::ProgressCursor];
/// The server's clock in milliseconds, as in the reply `clock(1_000)`.
const NOW: i64 = 1_000_250;

/// The keys of one lease on the server.
#[derive(Clone, Debug)]
struct StoredLease {
    millis: i64,
    holder: Vec<u8>,
    epoch: Vec<u8>,
    fields: [Option<Vec<u8>>; 3],
    lowest: Option<f64>,
    count: i64,
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        3 => integers().prop_map(|number| number.to_string().into_bytes()),
        1 => doubles().prop_map(|number| number.to_string().into_bytes()),
        1 => Just(Vec::new()),
        1 => hostile::text().prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..6),
        1 => (1_020_usize..1_030).prop_map(|length| vec![b'1'; length]),
    ]
}

fn stored_lease() -> impl Strategy<Value = StoredLease> {
    let millis = prop_oneof![6 => NOW - 40_000..NOW + 40_000, 1 => Just(-1), 1 => Just(-2), 1 => any::<i64>()];
    let field = || prop::option::of(text());
    let lowest = prop::option::of(prop_oneof![3 => 900.0..1_100.0, 1 => doubles()]);
    let count = prop_oneof![8 => 0_i64..50, 1 => any::<i64>()];
    (millis, text(), text(), [field(), field(), field()], lowest, count).prop_map(
        |(millis, holder, epoch, fields, lowest, count)| StoredLease { millis, holder, epoch, fields, lowest, count },
    )
}

impl StoredLease {
    fn replies(&self) -> Vec<Reply> {
        let fields = self.fields.iter().map(|field| field.clone().map_or(Reply::Nil, Reply::BulkString)).collect();
        let lowest = self.lowest.map(|score| Reply::Array(vec![bulk("m"), Reply::Double(score)]));
        vec![
            Reply::Int(self.millis),
            Reply::BulkString(self.holder.clone()),
            Reply::BulkString(self.epoch.clone()),
            Reply::Array(fields),
            Reply::Array(lowest.into_iter().collect()),
            Reply::Int(self.count),
        ]
    }

    /// The expected record: `None` if the lease does not exist, an error if its record is rejected.
    fn record(&self, name: &str) -> Result<Option<LeaseRecord>, ()> {
        let mut row = LeaseRecord { lease: Some(name.into()), ..LeaseRecord::default() };
        let untyped =
            |row: &mut LeaseRecord, column, bytes: &[u8]| decode(row, column, Value::Untyped(bytes)).map_err(drop);
        untyped(&mut row, Column::Holder, &self.holder)?;
        match self.millis {
            -2 => {}
            -1 => row.persistent = true,
            millis => {
                let expires = millis.checked_mul(1_000).and_then(|micros| StoreTime::from_unix_micros(micros).ok());
                row.expires_at = Some(expires.ok_or(())?);
                let renewed = (millis - 30_000) * 1_000;
                row.renewed_at = StoreTime::from_unix_micros(renewed).ok();
                if renewed > (NOW + 2_000) * 1_000 {
                    return Err(());
                }
            }
        }
        if self.millis != -2 && row.holder.is_none() {
            return Err(());
        }
        if self.millis != -2 && !self.epoch.is_empty() {
            if self.epoch.len() > 1_024 {
                return Err(());
            }
            untyped(&mut row, Column::Epoch, &self.epoch)?;
        }
        for (column, field) in FIELDS.into_iter().zip(&self.fields) {
            if let Some(field) = field {
                untyped(&mut row, column, field)?;
            }
        }
        row.due = Some(0);
        if let Some(score) = self.lowest.filter(|score| *score != f64::INFINITY) {
            let oldest = StoreTime::from_unix_seconds_f64(score).map_err(drop)?;
            if oldest.unix_micros() <= NOW * 1_000 {
                row.due = Some(self.count.unsigned_abs().max(1));
                row.oldest_due_at = Some(oldest);
            }
        }
        Ok((self.millis != -2).then_some(row))
    }
}

fn read(replies: Vec<Reply>, leases: usize) -> Result<crate::lease::Reading, ReadError> {
    let (layout, mut schedules) = (layout(LAYOUT), DueScheduleTracker::new(10));
    let leases: Vec<_> = (0..leases).map(|at| subject(&at.to_string())).collect();
    decoded(
        Decoder { layout: &layout, expiry: Expiry::Time, schedules: &mut schedules, start: Duration::ZERO },
        replies,
        &leases,
        RecordLimiter::new(10),
    )
}

fn replies(leases: &[StoredLease]) -> Vec<Reply> {
    [hello("master"), clock(1_000)].into_iter().chain(leases.iter().flat_map(StoredLease::replies)).collect()
}

/// Whether a server can return this lease. It returns neither a TTL below -2 nor a negative count.
fn is_possible(lease: &StoredLease) -> bool {
    lease.millis >= -2 && lease.count >= 0
}

proptest! {
    #![proptest_config(cases(10_000))]

    #[test]
    fn each_stored_lease_is_read_exactly_or_rejected(leases in prop::collection::vec(stored_lease(), 1..4)) {
        let reading = read(replies(&leases), leases.len());
        if !leases.iter().all(is_possible) {
            prop_assert!(reading.is_err(), "{reading:?}");
            return Ok(());
        }
        let reading = reading.map_err(|error| TestCaseError::fail(error.to_string()))?;
        for (index, lease) in leases.iter().enumerate() {
            let name = index.to_string();
            let is_named = |lease: &Option<std::sync::Arc<str>>| lease.as_deref() == Some(&*name);
            let record = reading.records.accepted.iter().find(|record| is_named(&record.lease));
            let rejected = reading.records.rejected.iter().find(|record: &&RejectedRecord| is_named(&record.lease));
            match lease.record(&name) {
                Ok(expected) => prop_assert_eq!((record, rejected), (expected.as_ref(), None)),
                Err(()) => prop_assert!(record.is_none() && rejected.is_some(), "{record:?}"),
            }
        }
    }

    /// A reply that is replaced, or has one element too many or too few, fails the reading or changes its own lease only.
    #[test]
    fn changed_reply_fails_the_reading_or_affects_only_its_own_lease(
        leases in prop::collection::vec(stored_lease().prop_filter("possible", is_possible), 1..4),
        index in any::<Index>(),
        change in 0_u8..3,
        other in any_reply(),
    ) {
        let mut replies = replies(&leases);
        let unchanged = read(replies.clone(), leases.len()).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let index = index.index(replies.len());
        let length_changed = change > 0 && matches!(&replies[index], Reply::Array(_)) && (index + 6 - 2) % 6 == 3;
        match (&mut replies[index], change) {
            (Reply::Array(parts), 1) => _ = parts.pop(),
            (Reply::Array(parts), 2) => parts.push(other),
            (reply, _) => *reply = other,
        }
        let Ok(reading) = read(replies, leases.len()) else { return Ok(()) };
        prop_assert!(!length_changed, "the number of fields differs from the request: {reading:?}");
        prop_assert!(index > 0, "the server did not answer HELLO");
        let Some(affected) = index.checked_sub(2).map(|index| (index / 6).to_string()) else { return Ok(()) };
        let other_records = |reading: &crate::lease::Reading| -> Vec<LeaseRecord> {
            reading.records.accepted.iter().filter(|record| record.lease.as_deref() != Some(&*affected)).cloned().collect()
        };
        prop_assert_eq!(other_records(&reading), other_records(&unchanged));
        let other_faults = |reading: &crate::lease::Reading| -> Vec<(Column, RecordFault)> {
            let others = reading.records.rejected.iter().filter(|record| record.lease.as_deref() != Some(&*affected));
            others.map(|record| (record.column, record.fault)).collect()
        };
        prop_assert_eq!(other_faults(&reading), other_faults(&unchanged));
    }
}
