//! The binary values of PostgreSQL, as `typsend` of each type writes them.
//!
//! Only types that a column of the reading contract can have are decoded.

use postgres_protocol::Oid;

use crate::lease::StoreTime;
use crate::store::Zone;
use crate::store::column::{Value, decimal};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Date,
    Float4,
    Float8,
    Integer,
    Interval,
    Numeric,
    Text,
    Timestamp,
    TimestampWithZone,
    Uuid,
    Other,
}

/// 2000-01-01, PostgreSQL's own epoch, in microseconds since Unix's.
const EPOCH: i64 = 946_684_800_000_000;
const DAY: i64 = 86_400_000_000;

impl Kind {
    /// The kind of a built-in type. The numbers are those of `pg_type.dat` in PostgreSQL's source, which never change. In a
    /// result a domain has the number of its base type.
    pub(super) const fn of(oid: Oid) -> Self {
        match oid {
            // int8, int2, int4, oid.
            20 | 21 | 23 | 26 => Self::Integer,
            700 => Self::Float4,
            701 => Self::Float8,
            1700 => Self::Numeric,
            // "char", name, text, unknown, char, varchar.
            18 | 19 | 25 | 705 | 1042 | 1043 => Self::Text,
            1184 => Self::TimestampWithZone,
            1114 => Self::Timestamp,
            1082 => Self::Date,
            1186 => Self::Interval,
            2950 => Self::Uuid,
            _ => Self::Other,
        }
    }

    /// Decodes bytes. Times without zone are in `zone`.
    pub(super) fn value(self, bytes: &[u8], zone: Zone) -> Value<'_> {
        let value = match self {
            Self::Integer => integer(bytes).map(|number| Value::Integer(number.into())),
            Self::Float4 => fixed(bytes).map(|bytes| Value::Real(f32::from_be_bytes(bytes).into())),
            Self::Float8 => fixed(bytes).map(|bytes| Value::Real(f64::from_be_bytes(bytes))),
            Self::Numeric => numeric(bytes),
            Self::Text => Some(Value::Text(bytes)),
            Self::TimestampWithZone => fixed(bytes).map(|bytes| time(i64::from_be_bytes(bytes), Zone::UTC)),
            Self::Timestamp => fixed(bytes).map(|bytes| time(i64::from_be_bytes(bytes), zone)),
            Self::Date => fixed(bytes).map(|bytes| match i32::from_be_bytes(bytes) {
                i32::MAX | i32::MIN => Value::Time(None),
                days => time(i64::from(days).saturating_mul(DAY), zone),
            }),
            Self::Interval => interval(bytes),
            Self::Uuid => fixed(bytes).map(Value::Uuid),
            Self::Other => None,
        };
        value.unwrap_or(Value::Other)
    }
}

fn fixed<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    bytes.try_into().ok()
}

fn integer(bytes: &[u8]) -> Option<i64> {
    match bytes.len() {
        2 => fixed(bytes).map(|bytes| i16::from_be_bytes(bytes).into()),
        4 => fixed(bytes).map(|bytes| i32::from_be_bytes(bytes).into()),
        8 => fixed(bytes).map(i64::from_be_bytes),
        _ => None,
    }
}

/// Microseconds since PostgreSQL's epoch. The ends of the range are the infinities, which are not times.
fn time<'a>(micros: i64, zone: Zone) -> Value<'a> {
    let since_unix = micros.checked_add(EPOCH).filter(|_| micros != i64::MIN);
    Value::Time(since_unix.and_then(|micros| StoreTime::from_unix_micros(zone.utc_micros(micros)).ok()))
}

/// An interval with months has no fixed length.
fn interval<'a>(bytes: &[u8]) -> Option<Value<'a>> {
    let (micros, rest) = bytes.split_first_chunk()?;
    let (days, months) = rest.split_first_chunk()?;
    let micros = i64::from_be_bytes(*micros).checked_add(i64::from(i32::from_be_bytes(*days)).checked_mul(DAY)?)?;
    #[expect(clippy::cast_precision_loss, reason = "a TTL of more than 2^53 microseconds is out of range")]
    (i32::from_be_bytes(fixed(months)?) == 0).then_some(Value::Seconds(micros as f64 / 1e6))
}

/// A decimal: number of digits of base 10,000, weight of the first, sign, scale, digits.
fn numeric<'a>(bytes: &[u8]) -> Option<Value<'a>> {
    let words: Vec<i16> = bytes.chunks_exact(2).map(|word| i16::from_be_bytes([word[0], word[1]])).collect();
    let [count, weight, sign, _, digits @ ..] = words.as_slice() else { return None };
    let negative = match sign.cast_unsigned() {
        0x0000 => false,
        0x4000 => true,
        // Not a number, and the infinities.
        _ => return Some(Value::Real(f64::NAN)),
    };
    let is_written = bytes.len().is_multiple_of(2) && usize::try_from(*count) == Ok(digits.len());
    if !is_written || !digits.iter().all(|digit| (0..10_000).contains(digit)) {
        return None;
    }
    let mut text: String = digits.iter().map(|digit| format!("{digit:04}")).collect();
    // Trailing zeros are not stored, nor those between the point and the first digit.
    let before = 4 * (i32::from(*weight) + 1);
    let behind = usize::try_from(i32::try_from(text.len()).ok()? - before);
    match behind {
        Ok(behind) => decimal(negative, &text, behind),
        Err(_) => {
            text.extend(std::iter::repeat_n('0', usize::try_from(before).ok()? - text.len()));
            decimal(negative, &text, 0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lease::RecordFault;

    fn micros(kind: Kind, bytes: &[u8], zone: Zone) -> Result<Option<i64>, RecordFault> {
        kind.value(bytes, zone).time().map(|time| time.map(StoreTime::unix_micros))
    }

    #[test]
    fn times_are_microseconds_since_2000_and_without_a_zone_they_are_of_the_one_declared() {
        let tokyo: Zone = "+09:00".parse().unwrap();
        let bytes = 1_500_000_i64.to_be_bytes();
        assert_eq!(micros(Kind::TimestampWithZone, &bytes, tokyo), Ok(Some(EPOCH + 1_500_000)));
        assert_eq!(micros(Kind::Timestamp, &bytes, tokyo), Ok(Some(EPOCH + 1_500_000 - 9 * 3_600_000_000)));
        assert_eq!(micros(Kind::Date, &1_i32.to_be_bytes(), Zone::UTC), Ok(Some(EPOCH + DAY)));
    }

    #[test]
    fn infinities_and_times_beyond_any_clock_are_out_of_range() {
        for kind in [Kind::Timestamp, Kind::TimestampWithZone] {
            for wrong in [i64::MAX, i64::MIN, i64::MAX - 1, i64::MIN + 1, 252_455_616_000_000_000] {
                assert_eq!(micros(kind, &wrong.to_be_bytes(), Zone::UTC), Err(RecordFault::OutOfRange), "{wrong}");
            }
        }
        for wrong in [i32::MAX, i32::MIN, i32::MAX - 1, i32::MIN + 1] {
            assert_eq!(micros(Kind::Date, &wrong.to_be_bytes(), Zone::UTC), Err(RecordFault::OutOfRange), "{wrong}");
        }
        assert_eq!(micros(Kind::Timestamp, b"short", Zone::UTC), Err(RecordFault::WrongType));
    }

    /// Count, weight, sign and scale, then the digits of base 10,000.
    fn numeric(words: &[i16]) -> Value<'static> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        super::numeric(&bytes).unwrap_or(Value::Other)
    }

    #[test]
    fn decimals_are_exact_where_they_are_whole() {
        for (words, number) in [
            (&[0, 0, 0, 0][..], 0),
            (&[1, 0, 0, 0, 7], 7),
            (&[1, 1, 0, 0, 7], 70_000),
            (&[2, 1, 0x4000, 0, 1, 2], -10_002),
            (&[5, 4, 0, 0, 1844, 6744, 737, 955, 1615], 18_446_744_073_709_551_615),
        ] {
            assert!(matches!(numeric(words), Value::Integer(found) if found == number), "{words:?}");
        }
        assert!(matches!(numeric(&[2, 0, 0, 2, 1, 5000]), Value::Decimal { unscaled: 15, scale: 1 }));
        assert!(matches!(numeric(&[1, -1, 0x4000, 2, 2500]), Value::Decimal { unscaled: -25, scale: 2 }));
        assert!(matches!(numeric(&[1, -3, 0, 12, 7]), Value::Decimal { unscaled: 7, scale: 12 }));
        assert!(matches!(numeric(&[0, 0, 0xC000_u16.cast_signed(), 0]), Value::Real(nan) if nan.is_nan()));
        // Far beyond any integer, and cut off.
        assert!(matches!(numeric(&[1, 30, 0, 0, 1]), Value::Rounded(huge) if huge > 1e100));
        assert!(matches!(numeric(&[2, 0, 0, 0, 1]), Value::Other));
        // Digits that there are not, one too many, and half a one.
        for words in [&[1, 0, 0, 0, 10_000][..], &[1, 0, 0, 0, -1], &[1, 0, 0, 0, 1, 2]] {
            assert!(matches!(numeric(words), Value::Other), "{words:?}");
        }
        assert!(super::numeric(&[0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0]).is_none());
        assert!(matches!(numeric(&[1]), Value::Other));
    }

    #[test]
    fn an_interval_is_seconds_unless_it_has_months() {
        let interval = |micros: i64, days: i32, months: i32| {
            let bytes = [&micros.to_be_bytes()[..], &days.to_be_bytes(), &months.to_be_bytes()].concat();
            Kind::Interval.value(&bytes, Zone::UTC).seconds().map(|ttl| ttl.map(|ttl| ttl.as_millis()))
        };
        assert_eq!(interval(1_500_000, 0, 0), Ok(Some(1_500)));
        assert_eq!(interval(0, 1, 0), Ok(Some(86_400_000)));
        assert_eq!(interval(0, 0, 1), Err(RecordFault::WrongType));
        assert_eq!(interval(i64::MAX, 1, 0), Err(RecordFault::WrongType));
        assert_eq!(interval(-1, 0, 0), Err(RecordFault::OutOfRange));
    }

    #[test]
    fn integers_of_every_width_are_integers() {
        for bytes in [&7_i16.to_be_bytes()[..], &7_i32.to_be_bytes(), &7_i64.to_be_bytes()] {
            assert_eq!(Kind::Integer.value(bytes, Zone::UTC).count(), Ok(Some(7)));
        }
        assert_eq!(Kind::Integer.value(b"x", Zone::UTC).count(), Err(RecordFault::WrongType));
        assert_eq!(Kind::Float4.value(&1.5_f32.to_be_bytes(), Zone::UTC).time().map(|_| ()), Ok(()));
    }
}
