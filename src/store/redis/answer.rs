//! The answers of one transaction made into a reading.

use std::sync::Arc;
use std::time::Duration;

use redis::{ServerError, Value as Reply};

use super::failure::{answered, not_understood, of_role};
use super::request::{LEASES_A_LOOK, Subject};
use super::schedule::{Entry, Schedules};
use super::{Expiry, ReadError, RecordLimiter};
use crate::lease::{Column, Reading, RejectedRow, Row, RowFault, Rules, StoreTime};
use crate::store::CappedRecords;
use crate::store::column::{LONGEST_NAME, Value, reported};
use crate::store::keys::{DueKey, KeyLayout, Record};
use crate::store::rows::decode;

/// The answers, in the order of what was asked.
pub(super) struct Decoder<'l> {
    layout: &'l KeyLayout,
    expiry: Expiry,
    schedules: &'l mut Schedules,
    replies: std::vec::IntoIter<Reply>,
}

/// Why a lease's row cannot be used: for itself, or with it the whole reading.
enum Unusable {
    Row(Column, RowFault),
    Reading(ReadError),
}

impl From<ReadError> for Unusable {
    fn from(error: ReadError) -> Self {
        Self::Reading(error)
    }
}

/// When a key expires.
enum Expires {
    /// There is no such key.
    Gone,
    /// Never.
    Never,
    At(StoreTime),
    /// After all years.
    Beyond,
}

/// A time to live that no clock shows the end of.
const BEYOND: Unusable = Unusable::Row(Column::ExpiresAt, RowFault::OutOfRange);

impl<'l> Decoder<'l> {
    /// Looks at who answers.
    pub(super) fn begin(
        layout: &'l KeyLayout,
        expiry: Expiry,
        schedules: &'l mut Schedules,
        replies: Vec<Reply>,
    ) -> Result<Self, ReadError> {
        let mut decoder = Self { layout, expiry, schedules, replies: replies.into_iter() };
        let hello = decoder.next()?;
        of_role(property(&hello, b"role"), property(&hello, b"mode"))?;
        Ok(decoder)
    }

    /// Makes the reading. `kept` holds what was rejected already, `over_limit` is how many were left out already.
    pub(super) fn finish(
        mut self,
        subjects: &[Subject],
        mut kept: RecordLimiter,
        over_limit: u64,
    ) -> Result<Reading, ReadError> {
        let store_now = time(self.next()?)?;
        let mut now = store_now;
        for (at, subject) in subjects.iter().enumerate() {
            if self.expiry == Expiry::Left && at > 0 && at % LEASES_A_LOOK == 0 {
                now = time(self.next()?)?;
            }
            match self.row(subject, store_now, now) {
                Ok(Some(row)) => kept.push(row),
                Ok(None) => {}
                Err(Unusable::Row(column, fault)) => {
                    kept.reject(RejectedRow { lease: Some(subject.name.clone()), column, fault });
                }
                Err(Unusable::Reading(error)) => return Err(error),
            }
        }
        self.schedules.end();
        let columns = reported(&self.layout.columns());
        let CappedRecords { rows, rejected, over_limit: nameless, .. } = kept.finish();
        let last_kept = subjects.last().filter(|_| over_limit > 0).map(|subject| Arc::clone(&subject.name));
        Ok(Reading { store_now, columns, rows, rejected, over_limit: over_limit + nameless, last_kept })
    }

    /// The next lease's row; nothing if its key is gone. All that was asked of it is taken, whatever comes of it.
    fn row(&mut self, subject: &Subject, store_now: StoreTime, now: StoreTime) -> Result<Option<Row>, Unusable> {
        let layout = self.layout;
        let expires = self.expires(now)?;
        let mut row = Row { lease: Some(subject.name.clone()), ..Row::default() };
        let mut found = Ok(());
        match &layout.record {
            Record::Lock { ttl, epoch, progress } => {
                let holder = self.next()?;
                note(&mut found, lock(&mut row, &expires, holder, *ttl, now));
                if epoch.is_some() {
                    let epoch = self.next()?;
                    // Of a lock that is not there it would only tell that there once was one.
                    if !matches!(expires, Expires::Gone) {
                        note(&mut found, counter(&mut row, &epoch));
                    }
                }
                if let Some(progress) = progress {
                    let fields = self.next()?;
                    note(&mut found, hash(&mut row, &progress.columns, fields));
                }
            }
            Record::Hash(columns) => {
                let fields = self.next()?;
                if !matches!(expires, Expires::Gone) && has_none(&fields) {
                    let first = columns.first().copied().unwrap_or(Column::Lease);
                    note(&mut found, Err(Unusable::Row(first, RowFault::WrongType)));
                }
                note(&mut found, hash(&mut row, columns, fields));
                let says_itself = [Column::ExpiresAt, Column::TtlSeconds].iter().any(|column| columns.contains(column));
                let ends = row.expires_at.is_some() || row.ttl.is_some();
                match expires {
                    Expires::At(expires_at) if !ends => row.expires_at = Some(expires_at),
                    Expires::Beyond if !ends => note(&mut found, Err(BEYOND)),
                    Expires::Never => row.persistent = !says_itself,
                    Expires::Gone | Expires::At(_) | Expires::Beyond => {}
                }
            }
        }
        let due = self.due(&mut row, &subject.name, store_now);
        note(&mut found, due);
        // A lease that has one key of its own is there, held or not.
        let gone = matches!(expires, Expires::Gone) && layout.leases.is_many();
        found.map(|()| (!gone).then_some(row))
    }

    fn expires(&mut self, now: StoreTime) -> Result<Expires, ReadError> {
        let Reply::Int(millis) = self.next()? else { return Err(not_understood()) };
        let micros = millis.saturating_mul(1_000);
        let micros = match (millis, self.expiry) {
            (-2, _) => return Ok(Expires::Gone),
            (-1, _) => return Ok(Expires::Never),
            // There is no other code, and no time before all time.
            (..-2, _) => return Err(not_understood()),
            (_, Expiry::Time) => micros,
            (_, Expiry::Left) => now.unix_micros().saturating_add(micros),
        };
        Ok(StoreTime::from_unix_micros(micros).map_or(Expires::Beyond, Expires::At))
    }

    fn due(&mut self, row: &mut Row, lease: &Arc<str>, now: StoreTime) -> Result<(), Unusable> {
        match &self.layout.due {
            DueKey::Nowhere => Ok(()),
            DueKey::List(_) => {
                let length = self.next()?;
                row.due = Some(count("llen", &length)?);
                Ok(())
            }
            DueKey::Set { is_cursor, .. } => {
                let (lowest, count_of) = (self.next()?, self.next()?);
                let asked = if *is_cursor { Some(self.next()?) } else { None };
                let count = count("zcount", &count_of)?;
                let lowest = lowest_of(lowest)?;
                let score = lowest.as_ref().map(|entry| entry.score);
                if let Some(asked) = asked {
                    let too_long = lowest.as_ref().is_some_and(|entry| entry.member.len() > LONGEST_NAME);
                    let first = lowest.filter(|_| !too_long);
                    row.progress_cursor = Some(self.schedules.take_in(lease, first, score_of(&asked)?));
                    if too_long {
                        return Err(Unusable::Row(Column::ProgressCursor, RowFault::OutOfRange));
                    }
                }
                let oldest = match score.map(score_time).transpose()? {
                    Some(Some(time)) if time <= now => Some(time),
                    _ => None,
                };
                // Between the count and the transaction's clock one may have fallen due, or the clock been set back.
                row.due = Some(if oldest.is_some() { count.max(1) } else { 0 });
                row.oldest_due_at = oldest;
                Ok(())
            }
        }
    }

    fn next(&mut self) -> Result<Reply, ReadError> {
        self.replies.next().ok_or_else(not_understood)
    }
}

/// Keeps the first thing that is wrong; but what costs the whole reading comes before what costs a row.
fn note(found: &mut Result<(), Unusable>, result: Result<(), Unusable>) {
    if matches!((&*found, &result), (Ok(()), _) | (Err(Unusable::Row(..)), Err(Unusable::Reading(_)))) {
        *found = result;
    }
}

/// What a lock and its time to live say, at a look at the clock.
fn lock(
    row: &mut Row,
    expires: &Expires,
    holder: Reply,
    ttl: Option<Duration>,
    now: StoreTime,
) -> Result<(), Unusable> {
    field(row, Column::Holder, "getrange", &holder)?;
    match expires {
        Expires::Gone => return Ok(()),
        Expires::Never => row.persistent = true,
        Expires::Beyond => return Err(BEYOND),
        Expires::At(expires_at) => {
            row.expires_at = Some(*expires_at);
            row.renewed_at = ttl.and_then(|ttl| expires_at.minus(ttl));
        }
    }
    // It was given longer to live than is said, so that it would be dated in the future. No clock is to blame.
    if row.renewed_at.is_some_and(|renewed_at| renewed_at > now.plus(Rules::CLOCK_SKEW)) {
        return Err(Unusable::Row(Column::TtlSeconds, RowFault::OutOfRange));
    }
    // Whoever has it says no name, and without one it would look released.
    if row.holder.is_none() { Err(Unusable::Row(Column::Holder, RowFault::NoName)) } else { Ok(()) }
}

/// A counter. Of a key that is not there a range is empty.
fn counter(row: &mut Row, reply: &Reply) -> Result<(), Unusable> {
    match reply {
        Reply::BulkString(digits) if digits.is_empty() => Ok(()),
        // There may be more of it.
        Reply::BulkString(digits) if digits.len() > LONGEST_NAME => {
            Err(Unusable::Row(Column::Epoch, RowFault::Unreadable))
        }
        reply => field(row, Column::Epoch, "getrange", reply),
    }
}

/// Whether a hash has none of the fields.
fn has_none(fields: &Reply) -> bool {
    matches!(fields, Reply::Array(values) if values.iter().all(|value| *value == Reply::Nil))
}

/// Fields of a hash, in the order of their columns.
fn hash(row: &mut Row, columns: &[Column], fields: Reply) -> Result<(), Unusable> {
    let first = columns.first().copied().unwrap_or(Column::Lease);
    let values = match fields {
        Reply::Array(values) if values.len() == columns.len() => values,
        other => return Err(unexpected(first, "hmget", &other)),
    };
    columns.iter().zip(&values).try_for_each(|(column, value)| field(row, *column, "hmget", value))
}

fn field(row: &mut Row, column: Column, command: &'static str, reply: &Reply) -> Result<(), Unusable> {
    let value = match reply {
        Reply::Nil => Value::Null,
        Reply::BulkString(bytes) => Value::Untyped(bytes),
        other => return Err(unexpected(column, command, other)),
    };
    decode(row, column, value).map_err(|fault| Unusable::Row(column, fault))
}

fn count(command: &'static str, reply: &Reply) -> Result<u64, Unusable> {
    match reply {
        Reply::Int(count) => u64::try_from(*count).map_err(|_| not_understood().into()),
        other => Err(unexpected(Column::Due, command, other)),
    }
}

/// An answer that is not what was asked for: of a value of another type, or an error that is not the lease's.
fn unexpected(column: Column, command: &'static str, reply: &Reply) -> Unusable {
    match reply {
        Reply::ServerError(error) if is_wrong_type(error) => Unusable::Row(column, RowFault::WrongType),
        Reply::ServerError(error) => answered(command, error).into(),
        _ => not_understood().into(),
    }
}

fn is_wrong_type(error: &ServerError) -> bool {
    error.code() == "WRONGTYPE"
}

/// What has the lowest score in a sorted set; nothing if the set is empty.
fn lowest_of(reply: Reply) -> Result<Option<Entry>, Unusable> {
    let members = match reply {
        Reply::Array(members) => members,
        other => return Err(unexpected(Column::OldestDueAt, "zrange", &other)),
    };
    let Some(lowest) = members.into_iter().next() else { return Ok(None) };
    let Reply::Array(lowest) = lowest else { return Err(not_understood().into()) };
    match <[Reply; 2]>::try_from(lowest) {
        Ok([Reply::BulkString(member), Reply::Double(score)]) => Ok(Some(Entry { member: member.into(), score })),
        _ => Err(not_understood().into()),
    }
}

/// The score of one member of a sorted set; nothing if it is not there.
fn score_of(reply: &Reply) -> Result<Option<f64>, Unusable> {
    match reply {
        Reply::Nil => Ok(None),
        Reply::Double(score) => Ok(Some(*score)),
        other => Err(unexpected(Column::ProgressCursor, "zscore", other)),
    }
}

/// When what has this score falls due; nothing for what never does.
fn score_time(score: f64) -> Result<Option<StoreTime>, Unusable> {
    if score == f64::INFINITY {
        return Ok(None);
    }
    let time = StoreTime::from_unix_seconds_f64(score);
    time.map(Some).map_err(|_| Unusable::Row(Column::OldestDueAt, RowFault::OutOfRange))
}

/// The server's clock.
pub(super) fn time(reply: Reply) -> Result<StoreTime, ReadError> {
    let part = |reply: &Reply| match reply {
        Reply::BulkString(digits) => std::str::from_utf8(digits).ok()?.parse::<i64>().ok(),
        _ => None,
    };
    match reply {
        Reply::Array(parts) => match parts.as_slice() {
            [seconds, micros] => part(seconds)
                .zip(part(micros))
                .and_then(|(seconds, micros)| seconds.checked_mul(1_000_000)?.checked_add(micros))
                .and_then(|micros| StoreTime::from_unix_micros(micros).ok())
                .ok_or_else(not_understood),
            _ => Err(not_understood()),
        },
        Reply::ServerError(error) => Err(answered("time", &error)),
        _ => Err(not_understood()),
    }
}

/// Where a scan goes on, and the keys that it found.
pub(super) fn scanned(reply: Reply) -> Result<(Vec<u8>, Vec<Vec<u8>>), ReadError> {
    match reply {
        Reply::Array(parts) => match <[Reply; 2]>::try_from(parts) {
            Ok([Reply::BulkString(cursor), Reply::Array(keys)]) => {
                let keys = keys.into_iter().filter_map(|key| match key {
                    Reply::BulkString(key) => Some(key),
                    _ => None,
                });
                Ok((cursor, keys.collect()))
            }
            _ => Err(not_understood()),
        },
        Reply::ServerError(error) => Err(answered("scan", &error)),
        _ => Err(not_understood()),
    }
}

/// One of the properties that a server tells of itself.
fn property<'r>(hello: &'r Reply, name: &[u8]) -> Option<&'r [u8]> {
    let Reply::Map(properties) = hello else { return None };
    properties.iter().find_map(|property| match property {
        (Reply::BulkString(key), Reply::BulkString(value)) if key == name => Some(value.as_slice()),
        _ => None,
    })
}
