//! The binary values of MySQL: see "Binary Protocol Resultset Row" in its documentation.
//!
//! The decoding of the library returns NULL for a zero date and requires text to be UTF-8, so values are decoded here.

use sqlx::mysql::{MySql, MySqlTypeInfo};
use sqlx::{Type, TypeInfo};

use crate::lease::StoreTime;
use crate::store::Zone;
use crate::store::column::{self, Value};

/// How the bytes of a column are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Signed,
    Unsigned,
    Bits,
    Float,
    Double,
    Decimal,
    /// A time without zone: `DATE`, `DATETIME`, and `TIMESTAMP`, which the server converts to the zone of the session.
    Time,
    Text,
    Other,
}

impl Kind {
    pub(super) fn of(info: &MySqlTypeInfo) -> Self {
        match info.name() {
            "YEAR" => Self::Unsigned,
            "BIT" => Self::Bits,
            "FLOAT" => Self::Float,
            "DOUBLE" => Self::Double,
            "DECIMAL" => Self::Decimal,
            "DATE" | "DATETIME" | "TIMESTAMP" => Self::Time,
            "SET" | "JSON" => Self::Text,
            // The name of TINYINT(1) does not show whether it is signed, and text in a `_bin` collation has the name of a
            // binary type. `compatible` uses the declared type.
            _ if <u64 as Type<MySql>>::compatible(info) => Self::Unsigned,
            _ if <i64 as Type<MySql>>::compatible(info) => Self::Signed,
            _ if <str as Type<MySql>>::compatible(info) => Self::Text,
            _ => Self::Other,
        }
    }

    /// Decodes bytes. Times are in `zone`.
    pub(super) fn value(self, bytes: &[u8], zone: Zone) -> Value<'_> {
        let value = match self {
            Self::Signed => signed(bytes).map(|number| Value::Integer(number.into())),
            Self::Unsigned => unsigned(bytes).map(|number| Value::Integer(number.into())),
            Self::Bits => Some(Value::Integer(bytes.iter().fold(0, |number, byte| number << 8 | i128::from(*byte)))),
            Self::Float => fixed(bytes).map(|bytes| Value::Real(f32::from_le_bytes(bytes).into())),
            Self::Double => fixed(bytes).map(|bytes| Value::Real(f64::from_le_bytes(bytes))),
            Self::Decimal => decimal(bytes),
            Self::Time => Some(Value::Time(time(bytes, zone))),
            Self::Text => Some(Value::Text(bytes)),
            Self::Other => None,
        };
        value.unwrap_or(Value::Other)
    }
}

fn fixed<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    bytes.try_into().ok()
}

fn signed(bytes: &[u8]) -> Option<i64> {
    let number = unsigned(bytes)?;
    let unused_bits = 64 - 8 * bytes.len();
    Some((number << unused_bits).cast_signed() >> unused_bits)
}

fn unsigned(bytes: &[u8]) -> Option<u64> {
    let number = || bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
    matches!(bytes.len(), 1 | 2 | 4 | 8).then(number)
}

/// A decimal, which the server sends as text.
fn decimal<'v>(bytes: &[u8]) -> Option<Value<'v>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (digits, negative) = text.strip_prefix('-').map_or((text, false), |digits| (digits, true));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let plain = |part: &str| !part.is_empty() && part.bytes().all(|digit| digit.is_ascii_digit());
    if !plain(whole) || !plain(fraction) {
        return None;
    }
    column::decimal(negative, &[whole, fraction].concat(), fraction.len())
}

/// The bytes are: length; year in two bytes, month, day; hour, minute and second unless they are zero; microseconds unless
/// they are zero. A zero date has a month or day of zero, or only the length: it is neither a time nor NULL.
fn time(bytes: &[u8], zone: Zone) -> Option<StoreTime> {
    let [_, year, century, month, day, clock @ ..] = bytes else { return None };
    let (seconds, micros) = match clock {
        [] => (0, 0),
        [hour, minute, second] => (seconds(*hour, *minute, *second)?, 0),
        [hour, minute, second, micros @ ..] => (seconds(*hour, *minute, *second)?, u32::from_le_bytes(fixed(micros)?)),
        _ => return None,
    };
    if micros >= 1_000_000 {
        return None;
    }
    let days = days(u16::from_le_bytes([*year, *century]), *month, *day)?;
    let micros = (days * 86_400 + seconds) * 1_000_000 + i64::from(micros);
    StoreTime::from_unix_micros(zone.utc_micros(micros)).ok()
}

/// Seconds since midnight, if the time exists.
fn seconds(hour: u8, minute: u8, second: u8) -> Option<i64> {
    let shown = hour < 24 && minute < 60 && second < 60;
    shown.then_some((i64::from(hour) * 60 + i64::from(minute)) * 60 + i64::from(second))
}

/// Days since 1970-01-01, if the day exists in MySQL's calendar. Years begin in March here, so that a leap day is the last of
/// its year.
fn days(year: u16, month: u8, day: u8) -> Option<i64> {
    let leaps = |year: i64| year / 4 - year / 100 + year / 400;
    let (given, month) = (i64::from(year), i64::from(month));
    let last = match month {
        2 if leaps(given) > leaps(given - 1) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    let year = given - i64::from(month < 3);
    let of_year = ((month + 9) % 12 * 153 + 2) / 5 + i64::from(day) - 1;
    let is_there = (1..=9_999).contains(&given) && (1..=last).contains(&day);
    is_there.then_some(year * 365 + leaps(year) + of_year - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lease::{Cursor, RecordFault};

    fn micros(bytes: &[u8], zone: &str) -> Option<i64> {
        time(bytes, zone.parse().unwrap()).map(StoreTime::unix_micros)
    }

    #[test]
    fn a_time_is_what_a_clock_in_the_declared_zone_shows() {
        assert_eq!(micros(&[4, 0xb2, 7, 1, 1], "UTC"), Some(0));
        assert_eq!(micros(&[4, 0xb1, 7, 12, 31], "UTC"), Some(-86_400_000_000));
        assert_eq!(micros(&[7, 0xb2, 7, 1, 1, 9, 0, 1], "+09:00"), Some(1_000_000));
        assert_eq!(micros(&[11, 0xb2, 7, 1, 1, 0, 0, 0, 1, 0, 0, 0], "-01:00"), Some(3_600_000_001));
        // 2026-11-30 12:00:00 and 2024-02-29.
        assert_eq!(micros(&[7, 0xea, 7, 11, 30, 12, 0, 0], "UTC"), Some(1_796_040_000_000_000));
        assert_eq!(micros(&[4, 0xe8, 7, 2, 29], "UTC"), Some(1_709_164_800_000_000));
        // The first and the last of MySQL's years that have a place on the clock.
        assert_eq!(micros(&[4, 1, 0, 1, 1], "UTC"), Some(-62_135_596_800_000_000));
        assert_eq!(
            micros(&[11, 0x0f, 0x27, 12, 31, 23, 59, 59, 0x3f, 0x42, 0x0f, 0], "UTC"),
            Some(253_402_300_799_999_999)
        );
    }

    #[test]
    fn a_date_that_no_calendar_has_is_refused() {
        for bytes in [
            &[0][..],
            &[4, 0, 0, 0, 0],
            &[4, 0xea, 7, 0, 1],
            &[4, 0xea, 7, 1, 0],
            &[4, 0xea, 7, 13, 1],
            &[4, 0xea, 7, 2, 29],
            &[4, 0xea, 7, 4, 31],
            &[4, 0, 0, 1, 1],
            &[5, 0xea, 7, 1, 1, 1],
            &[7, 0xea, 7, 1, 1, 24, 0, 0],
            &[7, 0xea, 7, 1, 1, 0, 60, 0],
            &[7, 0xea, 7, 1, 1, 0, 0, 60],
            &[11, 0xea, 7, 1, 1, 0, 0, 0, 0x40, 0x42, 0x0f, 0],
            &[8, 0xea, 7, 1, 1, 1, 1, 1, 1],
            &[],
        ] {
            assert_eq!(micros(bytes, "UTC"), None, "{bytes:?}");
        }
        // Its zone brings it into the range, where it still is no time that MySQL has; or takes it out.
        assert_eq!(micros(&[4, 0x10, 0x27, 1, 1], "+00:01"), None);
        assert_eq!(micros(&[7, 0, 0, 12, 31, 23, 59, 59], "-01:00"), None);
        assert_eq!(micros(&[7, 0x0f, 0x27, 12, 31, 23, 59, 59], "-01:00"), None);
    }

    #[test]
    fn numbers_are_exact_whatever_their_size_and_sign() {
        let integer = |kind: Kind, bytes: &[u8]| match kind.value(bytes, Zone::UTC) {
            Value::Integer(number) => Some(number),
            _ => None,
        };
        assert_eq!(integer(Kind::Signed, &[0xff]), Some(-1));
        assert_eq!(integer(Kind::Unsigned, &[0xff]), Some(255));
        assert_eq!(integer(Kind::Signed, &[0, 0x80]), Some(-32_768));
        assert_eq!(integer(Kind::Unsigned, &[0xea, 7]), Some(2026));
        assert_eq!(integer(Kind::Signed, &[0xff; 4]), Some(-1));
        assert_eq!(integer(Kind::Unsigned, &[0xff; 8]), Some(u64::MAX.into()));
        assert_eq!(integer(Kind::Signed, &[0xff; 8]), Some(-1));
        assert_eq!(integer(Kind::Signed, &[1; 3]), None);
        assert_eq!(integer(Kind::Bits, &[2, 1]), Some(513));
        assert_eq!(integer(Kind::Decimal, b"-7.000"), Some(-7));
        assert_eq!(integer(Kind::Decimal, b"18446744073709551616"), Some(1 << 64));
        assert_eq!(integer(Kind::Decimal, b"1.5"), None);
    }

    #[test]
    fn a_decimal_is_exact_in_all_its_digits_and_what_is_none_is_refused() {
        let cursor = |text: &str| Kind::Decimal.value(text.as_bytes(), Zone::UTC).cursor();
        for (text, written) in [
            ("-0.500", "-0.5"),
            ("1796040000.123456", "1796040000.123456"),
            ("123456789012345678.5", "123456789012345678.5"),
            ("123456789012345678.6", "123456789012345678.6"),
        ] {
            assert_eq!(cursor(text), Ok(Some(Cursor::Text(written.into()))));
        }
        for text in ["planted", "+7", ".5", "5.", "", "-", "1e5", "1.5.", "--1"] {
            assert_eq!(cursor(text), Err(RecordFault::WrongType), "{text}");
        }
        // Of two that are too long to be told apart neither is taken.
        assert_eq!(cursor(&format!("{}.5", "9".repeat(60))), Err(RecordFault::OutOfRange));
    }

    #[test]
    fn numbers_with_a_fraction_are_those() {
        let real = |kind: Kind, bytes: &[u8]| match kind.value(bytes, Zone::UTC) {
            Value::Real(number) | Value::Rounded(number) => Some(number),
            _ => None,
        };
        assert_eq!(real(Kind::Decimal, &[b'9'; 65]), Some(1e65));
        assert_eq!(real(Kind::Float, &1.5_f32.to_le_bytes()), Some(1.5));
        assert_eq!(real(Kind::Double, &1.5_f64.to_le_bytes()), Some(1.5));
        assert_eq!(real(Kind::Double, &[0; 4]), None);
    }
}
