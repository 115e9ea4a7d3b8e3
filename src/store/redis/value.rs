//! Single answers, and the values of a row that they stand for.

use super::failure::{answered, not_understood, of_role};
use super::resp::{Replies, Reply, ServerError};
use crate::lease::{Column, LeaseRecord, RecordFault, StoreTime};
use crate::store::ReadError;
use crate::store::column::{MAX_NAME, Value};
use crate::store::rows::decode;

/// Why a lease's row cannot be used: for itself, or with it the whole reading.
pub(super) enum DecodeError {
    Record(Column, RecordFault),
    Reading(ReadError),
}

impl From<ReadError> for DecodeError {
    fn from(error: ReadError) -> Self {
        Self::Reading(error)
    }
}

/// The next answer.
pub(super) fn next<'r>(answers: &mut Replies<'r>) -> Result<Reply<'r>, ReadError> {
    answers.next().ok_or_else(not_understood)
}

/// A counter. Of a key that is not there a range is empty.
pub(super) fn counter(row: &mut LeaseRecord, reply: Reply<'_>) -> Result<(), DecodeError> {
    match reply {
        Reply::Text(b"") => Ok(()),
        // There may be more of it.
        Reply::Text(digits) if digits.len() > MAX_NAME => {
            Err(DecodeError::Record(Column::Epoch, RecordFault::Unreadable))
        }
        reply => field(row, Column::Epoch, "GETRANGE", reply),
    }
}

/// Whether a hash has none of the fields.
pub(super) fn has_none(fields: Reply<'_>) -> bool {
    let Reply::Array(mut values) = fields else { return false };
    values.all(|value| matches!(value, Reply::Nil))
}

/// Fields of a hash, in the order of their columns.
pub(super) fn hash(row: &mut LeaseRecord, columns: &[Column], fields: Reply<'_>) -> Result<(), DecodeError> {
    let first = columns.first().copied().unwrap_or(Column::Lease);
    let mut values = match fields {
        Reply::Array(values) if values.left() == columns.len() => values,
        other => return Err(unexpected(first, "HMGET", other)),
    };
    columns.iter().try_for_each(|column| field(row, *column, "HMGET", next(&mut values)?))
}

/// A value of a column.
pub(super) fn field(
    row: &mut LeaseRecord,
    column: Column,
    command: &'static str,
    reply: Reply<'_>,
) -> Result<(), DecodeError> {
    let decoded = match reply {
        Reply::Nil => decode(row, column, Value::Null),
        Reply::Text(text) => decode(row, column, Value::Untyped(text)),
        Reply::LongText => Err(too_long(column)),
        other => return Err(unexpected(column, command, other)),
    };
    decoded.map_err(|fault| DecodeError::Record(column, fault))
}

/// The fault of a value whose text was not kept.
const fn too_long(column: Column) -> RecordFault {
    match column {
        Column::Holder => RecordFault::NameTooLong,
        Column::ProgressCursor => RecordFault::OutOfRange,
        _ => RecordFault::Unreadable,
    }
}

/// How many there are.
pub(super) fn count(command: &'static str, reply: Reply<'_>) -> Result<u64, DecodeError> {
    match reply {
        Reply::Integer(count) => u64::try_from(count).map_err(|_| not_understood().into()),
        other => Err(unexpected(Column::Due, command, other)),
    }
}

/// The member with the lowest score in a sorted set, and that score; nothing if the set is empty.
pub(super) fn lowest_of(reply: Reply<'_>) -> Result<Option<(Reply<'_>, f64)>, DecodeError> {
    let mut members = match reply {
        Reply::Array(members) => members,
        other => return Err(unexpected(Column::OldestDueAt, "ZRANGE", other)),
    };
    let Some(lowest) = members.next() else { return Ok(None) };
    let Reply::Array(mut lowest) = lowest else { return Err(not_understood().into()) };
    match (lowest.next(), lowest.next(), lowest.next()) {
        (Some(member @ (Reply::Text(_) | Reply::LongText)), Some(Reply::Double(score)), None) => {
            Ok(Some((member, score)))
        }
        _ => Err(not_understood().into()),
    }
}

/// A member of a sorted set; nothing of one that is too long to be asked for again.
pub(super) fn short(member: Reply<'_>) -> Option<&[u8]> {
    match member {
        Reply::Text(member) if member.len() <= MAX_NAME => Some(member),
        _ => None,
    }
}

/// The score of one member of a sorted set; nothing if it is not there.
pub(super) fn score_of(reply: Reply<'_>) -> Result<Option<f64>, DecodeError> {
    match reply {
        Reply::Nil => Ok(None),
        Reply::Double(score) => Ok(Some(score)),
        other => Err(unexpected(Column::ProgressCursor, "ZSCORE", other)),
    }
}

/// When what has this score falls due; nothing for what never does.
pub(super) fn score_time(score: f64) -> Result<Option<StoreTime>, DecodeError> {
    if score == f64::INFINITY {
        return Ok(None);
    }
    let time = StoreTime::from_unix_seconds_f64(score);
    time.map(Some).map_err(|_| DecodeError::Record(Column::OldestDueAt, RecordFault::OutOfRange))
}

/// The server's clock.
pub(super) fn time(reply: Reply<'_>) -> Result<StoreTime, ReadError> {
    let part = |reply: Option<Reply<'_>>| match reply? {
        Reply::Text(digits) => std::str::from_utf8(digits).ok()?.parse::<i64>().ok(),
        _ => None,
    };
    match reply {
        Reply::Array(mut parts) => part(parts.next())
            .zip(part(parts.next()))
            .filter(|_| parts.next().is_none())
            .and_then(|(seconds, micros)| seconds.checked_mul(1_000_000)?.checked_add(micros))
            .and_then(|micros| StoreTime::from_unix_micros(micros).ok())
            .ok_or_else(not_understood),
        Reply::Error(error) => Err(answered("TIME", error)),
        _ => Err(not_understood()),
    }
}

/// Makes sure that a server that answers so to HELLO can be read.
pub(super) fn check_hello(hello: Reply<'_>) -> Result<(), ReadError> {
    of_role(property(hello, b"role"), property(hello, b"mode"))
}

/// One of the properties that a server tells of itself.
fn property<'r>(hello: Reply<'r>, name: &[u8]) -> Option<&'r [u8]> {
    let Reply::Map(mut properties) = hello else { return None };
    while let Some(key) = properties.next() {
        match (key, properties.next()?) {
            (Reply::Text(key), Reply::Text(value)) if key == name => return Some(value),
            _ => {}
        }
    }
    None
}

/// An answer that is not what was asked for: of a value of another type, or an error that is not the lease's.
fn unexpected(column: Column, command: &'static str, reply: Reply<'_>) -> DecodeError {
    match reply {
        Reply::Error(ServerError { code: "WRONGTYPE", .. }) => DecodeError::Record(column, RecordFault::WrongType),
        Reply::Error(error) => answered(command, error).into(),
        _ => not_understood().into(),
    }
}
