//! The reading contract: which columns a query returns, and what values they may have.

use std::borrow::Cow;
use std::num::IntErrorKind;
use std::time::Duration;

use crate::lease::{Column, Columns, Cursor, Epoch, RecordFault, StoreTime};

use super::ReadError;

/// The longest name of a lease or a holder, in bytes.
pub(super) const MAX_NAME: usize = 1_024;
/// The longest TTL in seconds: a hundred years.
const MAX_TTL: f64 = 3_153_600_000.0;

/// The columns of a query's result, in its order.
pub(super) fn columns<'a>(names: impl Iterator<Item = &'a str>) -> Result<Vec<Column>, ReadError> {
    let mut columns = Vec::new();
    let mut unknown = Vec::new();
    for (at, name) in names.enumerate() {
        match Column::ALL.into_iter().find(|column| column.as_str().eq_ignore_ascii_case(name)) {
            Some(column) if columns.contains(&column) => {
                return Err(ReadError::SchemaMismatch(format!("the query returns the column `{column}` twice")));
            }
            Some(column) => columns.push(column),
            None if is_plain(name) => unknown.push(format!("`{name}`")),
            // A store names an expression after its text, which may contain a value.
            None => unknown.push(format!("an expression as column {}, which needs `AS` and a name", at + 1)),
        }
    }
    if !unknown.is_empty() {
        let known: Vec<_> = Column::ALL.iter().map(|column| column.as_str()).collect();
        return Err(ReadError::SchemaMismatch(format!(
            "the query returns {}; the reading contract does not have that, but {}",
            unknown.join(", "),
            known.join(", ")
        )));
    }
    if !columns.contains(&Column::StoreNow) {
        let text = "the query does not return `store_now`, the store's clock in the same statement";
        return Err(ReadError::SchemaMismatch(text.into()));
    }
    Ok(columns)
}

fn is_plain(name: &str) -> bool {
    name.len() <= 63
        && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

pub(super) fn reported(columns: &[Column]) -> Columns {
    columns.iter().copied().collect()
}

/// A value as a store returns it.
#[cfg_attr(
    not(all(feature = "mysql", feature = "postgres", feature = "redis")),
    allow(dead_code, reason = "some values are of one kind of store only")
)]
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'a> {
    Null,
    /// The type is wide enough for the integers of every store.
    Integer(i128),
    Real(f64),
    /// A decimal that is not whole: `unscaled` divided by 10 to the power of `scale`, without trailing zeros.
    Decimal {
        unscaled: i128,
        scale: u32,
    },
    /// A decimal with too many digits, rounded. A rounded time is exact enough, a rounded cursor is not.
    Rounded(f64),
    /// Text in the encoding of the store.
    Text(&'a [u8]),
    /// Text of a store without types, which may be a number.
    Untyped(&'a [u8]),
    /// A time; `None` for one outside the calendar, such as `infinity`.
    Time(Option<StoreTime>),
    Seconds(f64),
    Uuid([u8; 16]),
    Other,
}

type Decoded<T> = Result<Option<T>, RecordFault>;

impl<'a> Value<'a> {
    /// An untyped text as a number, if it is one.
    fn typed(self) -> Self {
        let Self::Untyped(bytes) = self else { return self };
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        let real = || text.parse().map_or(Self::Text(bytes), Self::Real);
        // A number of 64 bits is read at a fraction of the cost of a wider one.
        match text.parse::<i64>() {
            Ok(number) => Self::Integer(number.into()),
            Err(error) if matches!(error.kind(), IntErrorKind::PosOverflow | IntErrorKind::NegOverflow) => {
                text.parse().map_or_else(|_| real(), Self::Integer)
            }
            Err(_) => real(),
        }
    }

    /// A name: text, or an integer in decimal. An empty text is no name.
    pub(super) fn name(self) -> Decoded<Cow<'a, str>> {
        match self {
            Self::Null => Ok(None),
            Self::Text(bytes) | Self::Untyped(bytes) if bytes.len() > MAX_NAME => Err(RecordFault::NameTooLong),
            Self::Text(bytes) | Self::Untyped(bytes) => {
                Ok(Some(utf8(bytes)?.into()).filter(|name: &Cow<'_, str>| !name.is_empty()))
            }
            Self::Integer(number) => Ok(Some(number.to_string().into())),
            Self::Uuid(bytes) => Ok(Some(uuid(bytes).into())),
            _ => Err(RecordFault::WrongType),
        }
    }

    /// A time: the store's own, or Unix seconds, whole or not, or text as `2026-11-30 12:00:00.5` in UTC.
    ///
    /// A time at or before the Unix epoch is out of range: schedulers use it for "never", which is NULL here.
    pub(super) fn time(self) -> Decoded<StoreTime> {
        let time = self.any_time()?;
        if time.is_some_and(|time| time.unix_micros() <= 0) { Err(RecordFault::OutOfRange) } else { Ok(time) }
    }

    fn any_time(self) -> Decoded<StoreTime> {
        let of_micros = |micros| StoreTime::from_unix_micros(micros).ok();
        let time = match self.typed() {
            Self::Null => return Ok(None),
            Self::Time(time) => time,
            Self::Integer(seconds) => {
                i64::try_from(seconds).ok().and_then(|seconds| StoreTime::from_unix_seconds(seconds).ok())
            }
            Self::Real(seconds) | Self::Rounded(seconds) => StoreTime::from_unix_seconds_f64(seconds).ok(),
            Self::Decimal { unscaled, scale } => micros(unscaled, scale).and_then(of_micros),
            Self::Text(bytes) | Self::Untyped(bytes) => {
                let clock = utc_clock(utf8(bytes)?).ok_or(RecordFault::Unreadable)?;
                let time = humantime::parse_rfc3339_weak(clock).map_err(|_| RecordFault::Unreadable)?;
                let since = time.duration_since(std::time::UNIX_EPOCH).ok();
                since.and_then(|since| i64::try_from(since.as_micros()).ok()).and_then(of_micros)
            }
            Self::Seconds(_) | Self::Uuid(_) | Self::Other => return Err(RecordFault::WrongType),
        };
        time.map(Some).ok_or(RecordFault::OutOfRange)
    }

    /// A whole number that is not negative, or its digits as text: stores write numbers above 2^63 so.
    pub(super) fn count(self) -> Decoded<u64> {
        match self {
            Self::Null => Ok(None),
            Self::Integer(number) => u64::try_from(number).map(Some).map_err(|_| RecordFault::OutOfRange),
            // The standard parser would accept a sign.
            Self::Text(digits) | Self::Untyped(digits) if digits.iter().all(u8::is_ascii_digit) => {
                utf8(digits)?.parse().map(Some).map_err(|_| RecordFault::Unreadable)
            }
            Self::Text(_) | Self::Untyped(_) => Err(RecordFault::Unreadable),
            _ => Err(RecordFault::WrongType),
        }
    }

    pub(super) fn epoch(self) -> Decoded<Epoch> {
        Ok(self.count()?.map(Epoch))
    }

    /// A duration in seconds, whole or not.
    pub(super) fn seconds(self) -> Decoded<Duration> {
        #[expect(clippy::cast_precision_loss, reason = "seconds that lose precision are out of range")]
        let seconds = match self.typed() {
            Self::Null => return Ok(None),
            Self::Integer(seconds) => seconds as f64,
            Self::Decimal { unscaled, scale } => unscaled as f64 / 10_f64.powi(scale.cast_signed()),
            Self::Real(seconds) | Self::Rounded(seconds) | Self::Seconds(seconds) => seconds,
            _ => return Err(RecordFault::WrongType),
        };
        let in_range = seconds > 0.0 && seconds <= MAX_TTL;
        if in_range { Ok(Some(Duration::from_secs_f64(seconds))) } else { Err(RecordFault::OutOfRange) }
    }

    /// A value that can be compared with another.
    pub(super) fn cursor(self) -> Decoded<Cursor> {
        Ok(Some(match self {
            Self::Null => return Ok(None),
            Self::Integer(number) => match i64::try_from(number) {
                Ok(number) => Cursor::Number(number),
                Err(_) => Cursor::Text(number.to_string().into()),
            },
            Self::Uuid(bytes) => Cursor::Text(uuid(bytes).into()),
            Self::Real(number) => Cursor::Text(number.to_string().into()),
            Self::Decimal { unscaled, scale } => Cursor::Text(written(unscaled, scale).into()),
            // Another number may be rounded to the same value.
            Self::Rounded(_) => return Err(RecordFault::OutOfRange),
            Self::Time(time) => Cursor::Number(time.ok_or(RecordFault::OutOfRange)?.unix_micros()),
            Self::Text(bytes) | Self::Untyped(bytes) if bytes.len() > MAX_NAME => return Err(RecordFault::OutOfRange),
            Self::Text(bytes) | Self::Untyped(bytes) => Cursor::Text(utf8(bytes)?.into()),
            Self::Seconds(_) | Self::Other => return Err(RecordFault::WrongType),
        }))
    }
}

/// A decimal of this sign and these digits, the last `behind` of them after the point. `None` if it is not a number.
#[cfg(any(feature = "mysql", feature = "postgres"))]
pub(super) fn decimal<'a>(negative: bool, digits: &str, behind: usize) -> Option<Value<'a>> {
    let zeros = digits.len() - digits.trim_end_matches('0').len();
    let (digits, scale) = (&digits[..digits.len() - zeros.min(behind)], behind.saturating_sub(zeros));
    let exact = digits.parse::<i128>().ok().zip(u32::try_from(scale).ok());
    Some(match exact.map(|(number, scale)| (if negative { -number } else { number }, scale)) {
        Some((number, 0)) => Value::Integer(number),
        Some((unscaled, scale)) => Value::Decimal { unscaled, scale },
        None => {
            let number: f64 = format!("{digits}e-{scale}").parse().ok()?;
            Value::Rounded(if negative { -number } else { number })
        }
    })
}

fn utf8(bytes: &[u8]) -> Result<&str, RecordFault> {
    std::str::from_utf8(bytes).map_err(|_| RecordFault::Unreadable)
}

/// A decimal of seconds in microseconds, rounded.
fn micros(unscaled: i128, scale: u32) -> Option<i64> {
    let micros = match scale.checked_sub(6) {
        None | Some(0) => unscaled.checked_mul(10_i128.pow(6 - scale))?,
        // A decimal with this many digits after the point is less than a microsecond.
        Some(more) => match 10_i128.checked_pow(more) {
            Some(unit) => (unscaled + unscaled.signum() * (unit / 2)) / unit,
            None => 0,
        },
    };
    i64::try_from(micros).ok()
}

fn written(unscaled: i128, scale: u32) -> String {
    let (sign, scale) = (if unscaled < 0 { "-" } else { "" }, scale as usize);
    let digits = format!("{:0width$}", unscaled.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    format!("{sign}{whole}.{fraction}")
}

/// The date and time of a text without a zone or in UTC. `None` for another zone, because the library that parses it takes
/// any offset after a fraction for UTC.
fn utc_clock(text: &str) -> Option<&str> {
    let clock = text.strip_suffix('Z').or_else(|| text.strip_suffix("+00:00")).unwrap_or(text);
    let fraction = clock.get("2026-11-30 12:00:00".len()..)?;
    let digits = fraction.strip_prefix('.').unwrap_or(fraction);
    let plain =
        fraction.is_empty() || (digits.len() < fraction.len() && digits.bytes().all(|digit| digit.is_ascii_digit()));
    plain.then_some(clock)
}

/// A UUID in the notation of PostgreSQL.
fn uuid(bytes: [u8; 16]) -> String {
    let hex = format!("{:032x}", u128::from_be_bytes(bytes));
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_deviation_of_a_querys_columns_is_reported_by_name() {
        let error = |names: &[&str]| columns(names.iter().copied()).unwrap_err().to_string();
        assert!(error(&["store_now", "owner", "lease", "ts"]).contains("`owner`, `ts`"));
        assert!(error(&["lease"]).contains("`store_now`"));
        let unnamed = error(&["store_now", "'planted'", "count(\"planted\")", "planted secret", "1planted"]);
        assert!(unnamed.contains("an expression as column 2") && !unnamed.contains("planted"), "{unnamed}");
        assert!(error(&["store_now", "due", "DUE"]).contains("`due` twice"));
        assert_eq!(columns(["Store_Now", "lease"].into_iter()).unwrap(), [Column::StoreNow, Column::Lease]);
    }

    #[test]
    fn a_text_of_another_zone_than_utc_is_no_time_with_a_fraction_or_without() {
        let time = |text: &str| Value::Text(text.as_bytes()).time().map(|time| time.map(StoreTime::unix_micros));
        for text in ["2026-11-30 12:00:00.5", "2026-11-30T12:00:00.500Z", "2026-11-30T12:00:00.5+00:00"] {
            assert_eq!(time(text), Ok(Some(1_796_040_000_500_000)), "{text}");
        }
        for text in [
            "2026-11-30T12:00:00.5+09:00",
            "2026-11-30T12:00:00+09:00",
            "2026-11-30T12:00:00.5-03:30",
            "2026-11-30T12:00:00Z+09:0",
            "2026-11-30T12:00:00.5Z+00:00",
            "2026-11-30T12:00:005",
        ] {
            assert_eq!(time(text), Err(RecordFault::Unreadable), "{text}");
        }
    }

    #[test]
    fn times_are_unix_seconds_or_utc_text() {
        let micros = |value: Value<'_>| value.time().map(|time| time.map(StoreTime::unix_micros));
        assert_eq!(micros(Value::Null), Ok(None));
        let decimal = |unscaled, scale| micros(Value::Decimal { unscaled, scale });
        assert_eq!(decimal(17_960_400_005, 1), Ok(Some(1_796_040_000_500_000)));
        assert_eq!(decimal(17_960_400_000_000_006, 7), Ok(Some(1_796_040_000_000_001)));
        assert_eq!(decimal(i128::MAX, 1), Err(RecordFault::OutOfRange));
        assert_eq!(micros(Value::Integer(5)), Ok(Some(5_000_000)));
        for before in [Value::Integer(-5), Value::Integer(0), Value::Real(-0.5), Value::Text(b"1970-01-01 00:00:00")] {
            assert_eq!(micros(before), Err(RecordFault::OutOfRange), "{before:?}");
        }
        assert_eq!(micros(Value::Seconds(5.0)), Err(RecordFault::WrongType));
        assert_eq!(micros(Value::Real(1.25)), Ok(Some(1_250_000)));
        assert_eq!(micros(Value::Text(b"1970-01-01 00:00:02.5")), Ok(Some(2_500_000)));
        assert_eq!(micros(Value::Text(b"1970-01-01T00:00:02Z")), Ok(Some(2_000_000)));
        assert_eq!(micros(Value::Text(b"soon")), Err(RecordFault::Unreadable));
        assert_eq!(micros(Value::Text(b"\xff")), Err(RecordFault::Unreadable));
        // Milliseconds taken for seconds, and the infinities.
        assert_eq!(micros(Value::Integer(1_796_000_000_000)), Err(RecordFault::OutOfRange));
        assert_eq!(micros(Value::Integer(i64::MAX.into())), Err(RecordFault::OutOfRange));
        assert_eq!(micros(Value::Integer(i128::MAX)), Err(RecordFault::OutOfRange));
        assert_eq!(micros(Value::Real(f64::INFINITY)), Err(RecordFault::OutOfRange));
        assert_eq!(micros(Value::Real(f64::NAN)), Err(RecordFault::OutOfRange));
        assert_eq!(micros(Value::Other), Err(RecordFault::WrongType));
        // A store's own times, and the texts of a store without types.
        assert_eq!(micros(Value::Time(StoreTime::from_unix_micros(7).ok())), Ok(Some(7)));
        assert_eq!(micros(Value::Time(None)), Err(RecordFault::OutOfRange));
        assert_eq!(micros(Value::Untyped(b"2.5")), Ok(Some(2_500_000)));
        assert_eq!(micros(Value::Untyped(b"1970-01-01 00:00:02")), Ok(Some(2_000_000)));
        assert_eq!(micros(Value::Untyped(b"inf")), Err(RecordFault::OutOfRange));
        assert_eq!(micros(Value::Untyped(b"")), Err(RecordFault::Unreadable));
    }

    #[test]
    fn counts_epochs_and_ttls_take_nothing_negative_and_nothing_but_numbers() {
        assert_eq!(Value::Integer(-1).count(), Err(RecordFault::OutOfRange));
        assert_eq!(Value::Integer(0).count(), Ok(Some(0)));
        assert_eq!(Value::Integer(u64::MAX.into()).epoch(), Ok(Some(Epoch(u64::MAX))));
        assert_eq!(Value::Integer(1 << 64).epoch(), Err(RecordFault::OutOfRange));
        assert_eq!(Value::Text(b"18446744073709551615").epoch(), Ok(Some(Epoch(u64::MAX))));
        assert_eq!(Value::Text(b"x").epoch(), Err(RecordFault::Unreadable));
        assert_eq!(Value::Real(1.0).epoch(), Err(RecordFault::WrongType));
        assert_eq!(Value::Integer(0).seconds(), Err(RecordFault::OutOfRange));
        assert_eq!(Value::Real(f64::NAN).seconds(), Err(RecordFault::OutOfRange));
        assert_eq!(Value::Real(0.5).seconds(), Ok(Some(Duration::from_millis(500))));
        assert_eq!(Value::Seconds(0.5).seconds(), Ok(Some(Duration::from_millis(500))));
        assert_eq!(Value::Untyped(b"0.5").seconds(), Ok(Some(Duration::from_millis(500))));
        assert_eq!(Value::Untyped(b"7").epoch(), Ok(Some(Epoch(7))));
        for digits in ["-7", "+7", " 7", "7 ", "", "7_0", "0x7", "\u{661}"] {
            assert_eq!(Value::Untyped(digits.as_bytes()).epoch(), Err(RecordFault::Unreadable), "{digits:?}");
            assert_eq!(Value::Text(digits.as_bytes()).count(), Err(RecordFault::Unreadable), "{digits:?}");
        }
        assert_eq!(Value::Untyped(b"007").epoch(), Ok(Some(Epoch(7))));
    }

    #[test]
    fn names_are_text_within_a_kilobyte() {
        let name = |value: Value<'_>| value.name().map(|name| name.map(std::borrow::Cow::into_owned));
        assert_eq!(name(Value::Text(b"")), Ok(None));
        assert_eq!(name(Value::Integer(7)), Ok(Some("7".to_owned())));
        let uuid = *b"\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd\xef";
        assert_eq!(name(Value::Uuid(uuid)), Ok(Some("01234567-89ab-cdef-0123-456789abcdef".to_owned())));
        assert_eq!(name(Value::Text(&[b'x'; 1_024])).map(|name| name.map(|name| name.len())), Ok(Some(1_024)));
        assert_eq!(name(Value::Text(&[b'x'; 1_025])), Err(RecordFault::NameTooLong));
        assert_eq!(name(Value::Text(b"\xc3\x28")), Err(RecordFault::Unreadable));
        assert_eq!(name(Value::Untyped(b"7")), Ok(Some("7".to_owned())));
        assert_eq!(name(Value::Other), Err(RecordFault::WrongType));
    }
}
