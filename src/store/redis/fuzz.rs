//! Answers: those of a server that has these leases, whole and changed.

use proptest::prelude::*;
use proptest::sample::Index;
use redis::Value as Reply;

use super::tests::{any_reply, bulk, clock, decoded, hello, layout, subject};
use super::*;
use crate::fuzz::REDIS;
use crate::lease::{Column, LeaseRecord, RecordFault, RejectedRecord, StoreTime};
use crate::store::column::Value;
use crate::store::fuzz::truth::{doubles, integers};
use crate::store::rows::decode;
use schedule::Schedules;

const LAYOUT: &str = "{lock: 'lock:*', ttl: 30s, epoch: '{key}:e', progress: '{key}:p', fields: [progress_at, \
    progress_epoch, progress_cursor], due_set: '{key}:d'}";
const FIELDS: [Column; 3] = [Column::ProgressAt, Column::ProgressEpoch, Column::ProgressCursor];
/// The server's clock, in milliseconds: that of `clock(1_000)`.
const NOW: i64 = 1_000_250;

/// A lease as a server has it.
#[derive(Clone, Debug)]
struct Kept {
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
        1 => crate::fuzz::hostile::text().prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..6),
        1 => (1_020_usize..1_030).prop_map(|length| vec![b'1'; length]),
    ]
}

fn kept() -> impl Strategy<Value = Kept> {
    let millis = prop_oneof![6 => NOW - 40_000..NOW + 40_000, 1 => Just(-1), 1 => Just(-2), 1 => any::<i64>()];
    let field = || prop::option::of(text());
    let lowest = prop::option::of(prop_oneof![3 => 900.0..1_100.0, 1 => doubles()]);
    let count = prop_oneof![8 => 0_i64..50, 1 => any::<i64>()];
    (millis, text(), text(), [field(), field(), field()], lowest, count).prop_map(
        |(millis, holder, epoch, fields, lowest, count)| Kept { millis, holder, epoch, fields, lowest, count },
    )
}

impl Kept {
    fn answers(&self) -> Vec<Reply> {
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

    /// The row, nothing for a lease that is gone, or what is wrong with it.
    fn row(&self, name: &str) -> Result<Option<LeaseRecord>, ()> {
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
    let (layout, mut schedules) = (layout(LAYOUT), Schedules::new(10));
    let subjects: Vec<_> = (0..leases).map(|at| subject(&at.to_string())).collect();
    decoded(Decoder::new(&layout, Expiry::Time, &mut schedules), replies, &subjects, RecordLimiter::new(10))
}

fn answers(leases: &[Kept]) -> Vec<Reply> {
    [hello("master"), clock(1_000)].into_iter().chain(leases.iter().flat_map(Kept::answers)).collect()
}

/// What stands for what no server can have: an end before all time, a count of less than none.
fn is_possible(lease: &Kept) -> bool {
    lease.millis >= -2 && lease.count >= 0
}

#[test]
fn redis_answers_are_the_leases_that_are_there_or_faults() {
    REDIS.run(prop::collection::vec(kept(), 1..4), |leases| {
        let reading = read(answers(&leases), leases.len());
        if !leases.iter().all(is_possible) {
            prop_assert!(reading.is_err(), "{reading:?}");
            return Ok(());
        }
        let reading = reading.map_err(|error| TestCaseError::fail(error.to_string()))?;
        for (at, lease) in leases.iter().enumerate() {
            let name = at.to_string();
            let is = |lease: &Option<std::sync::Arc<str>>| lease.as_deref() == Some(&*name);
            let row = reading.rows.iter().find(|row| is(&row.lease));
            let rejected = reading.rejected.iter().find(|row: &&RejectedRecord| is(&row.lease));
            match lease.row(&name) {
                Ok(expected) => prop_assert_eq!((row, rejected), (expected.as_ref(), None)),
                Err(()) => prop_assert!(row.is_none() && rejected.is_some(), "{row:?}"),
            }
        }
        Ok(())
    });
}

/// One answer in the place of another, one too many, one too few: the leases that it does not concern are as they were,
/// or nothing is believed.
#[test]
fn redis_answers_changed_are_refused_or_cost_their_own_lease_alone() {
    let change = (any::<Index>(), 0_u8..3, any_reply());
    REDIS.run(
        (prop::collection::vec(kept().prop_filter("possible", is_possible), 1..4), change),
        |(leases, (at, how, reply))| {
            let mut replies = answers(&leases);
            let sound = read(replies.clone(), leases.len()).map_err(|error| TestCaseError::fail(error.to_string()))?;
            let at = at.index(replies.len());
            let longer_or_shorter = how > 0 && matches!(&replies[at], Reply::Array(_)) && (at + 6 - 2) % 6 == 3;
            match (&mut replies[at], how) {
                (Reply::Array(parts), 1) => _ = parts.pop(),
                (Reply::Array(parts), 2) => parts.push(reply),
                (other, _) => *other = reply,
            }
            let Ok(reading) = read(replies, leases.len()) else { return Ok(()) };
            prop_assert!(!longer_or_shorter, "not as many fields as were asked for: {reading:?}");
            prop_assert!(at > 0, "nobody said hello");
            let concerned = at.checked_sub(2).map(|at| (at / 6).to_string());
            if concerned.is_none() {
                return Ok(());
            }
            let others = |reading: &crate::lease::Reading| -> Vec<LeaseRecord> {
                reading.rows.iter().filter(|row| row.lease.as_deref() != concerned.as_deref()).cloned().collect()
            };
            prop_assert_eq!(others(&reading), others(&sound));
            let faults = |reading: &crate::lease::Reading| -> Vec<(Column, RecordFault)> {
                let others = reading.rejected.iter().filter(|row| row.lease.as_deref() != concerned.as_deref());
                others.map(|row| (row.column, row.fault)).collect()
            };
            prop_assert_eq!(faults(&reading), faults(&sound));
            Ok(())
        },
    );
}
