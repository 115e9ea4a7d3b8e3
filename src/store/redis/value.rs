//! Decodes single replies into values of a record.

use super::failure::{answered, not_understood, of_role};
use super::resp::{Replies, Reply, ServerError};
use crate::lease::{Column, LeaseRecord, RecordFault, StoreTime};
use crate::store::ReadError;
use crate::store::column::{MAX_NAME, Value};
use crate::store::rows::decode;

/// Why a reply cannot be decoded: a fault of one record, or of the whole reading.
pub(super) enum DecodeError {
    Record(Column, RecordFault),
    Reading(ReadError),
}

impl From<ReadError> for DecodeError {
    fn from(error: ReadError) -> Self {
        Self::Reading(error)
    }
}

pub(super) fn next<'r>(answers: &mut Replies<'r>) -> Result<Reply<'r>, ReadError> {
    answers.next().ok_or_else(not_understood)
}

/// Decodes a counter. The range of a missing key is empty.
pub(super) fn counter(row: &mut LeaseRecord, reply: Reply<'_>) -> Result<(), DecodeError> {
    match reply {
        Reply::Text(b"") => Ok(()),
        // The value may be longer than the range.
        Reply::Text(digits) if digits.len() > MAX_NAME => {
            Err(DecodeError::Record(Column::Epoch, RecordFault::Unreadable))
        }
        reply => field(row, Column::Epoch, "GETRANGE", reply),
    }
}

pub(super) fn has_none(fields: Reply<'_>) -> bool {
    let Reply::Array(mut values) = fields else { return false };
    values.all(|value| matches!(value, Reply::Nil))
}

/// Decodes the fields of a hash, in the order of their columns.
pub(super) fn hash(row: &mut LeaseRecord, columns: &[Column], fields: Reply<'_>) -> Result<(), DecodeError> {
    let first = columns.first().copied().unwrap_or(Column::Lease);
    let mut values = match fields {
        Reply::Array(values) if values.left() == columns.len() => values,
        other => return Err(unexpected(first, "HMGET", other)),
    };
    columns.iter().try_for_each(|column| field(row, *column, "HMGET", next(&mut values)?))
}

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

/// The fault of a text that is too long to be kept.
const fn too_long(column: Column) -> RecordFault {
    match column {
        Column::Holder => RecordFault::NameTooLong,
        Column::ProgressCursor => RecordFault::OutOfRange,
        _ => RecordFault::Unreadable,
    }
}

pub(super) fn count(command: &'static str, reply: Reply<'_>) -> Result<u64, DecodeError> {
    match reply {
        Reply::Integer(count) => u64::try_from(count).map_err(|_| not_understood().into()),
        other => Err(unexpected(Column::Due, command, other)),
    }
}

/// The member of a sorted set with the lowest score, and the score; `None` if the set is empty.
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

/// The name of a member; `None` if it is too long to be sent in the next request.
pub(super) fn short(member: Reply<'_>) -> Option<&[u8]> {
    match member {
        Reply::Text(member) if member.len() <= MAX_NAME => Some(member),
        _ => None,
    }
}

/// The score of a member of a sorted set; `None` if it is not in the set.
pub(super) fn score_of(reply: Reply<'_>) -> Result<Option<f64>, DecodeError> {
    match reply {
        Reply::Nil => Ok(None),
        Reply::Double(score) => Ok(Some(score)),
        other => Err(unexpected(Column::ProgressCursor, "ZSCORE", other)),
    }
}

/// The time at which an entry with this score falls due; `None` if it never does.
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

pub(super) fn check_hello(hello: Reply<'_>) -> Result<(), ReadError> {
    of_role(property(hello, b"role"), property(hello, b"mode"))
}

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

/// The error for a reply of an unexpected type, or an error of the server.
fn unexpected(column: Column, command: &'static str, reply: Reply<'_>) -> DecodeError {
    match reply {
        Reply::Error(ServerError { code: "WRONGTYPE", .. }) => DecodeError::Record(column, RecordFault::WrongType),
        Reply::Error(error) => answered(command, error).into(),
        _ => not_understood().into(),
    }
}
