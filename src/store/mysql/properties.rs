//! Binary values as MySQL encodes them, and arbitrary bytes.

use proptest::prelude::*;

use super::value::Kind;
use crate::store::Zone;
use crate::store::column::Value;
use crate::store::properties::expected::{Expected, check_conversions, doubles, integers};
use crate::testing::cases;

/// Year, month, day, hour, minute, second and microsecond of a time, valid or not.
type Parts = (u16, u8, u8, u8, u8, u8, u32);

/// The parts in the binary protocol. A shorter length leaves out the microseconds, or the time of day.
fn encoded(parts: Parts, length: u8) -> Vec<u8> {
    let (year, month, day, hour, minute, second, micros) = parts;
    let [low, high] = year.to_le_bytes();
    let whole = [&[length, low, high, month, day, hour, minute, second][..], &micros.to_le_bytes()].concat();
    whole[..=usize::from(length)].to_vec()
}

/// The instant of the parts, by the calendar of `humantime`.
fn instant(parts: Parts, zone_minutes: i128) -> Expected {
    let (year, month, day, hour, minute, second, micros) = parts;
    let text = format!("{year:04}-{month:02}-{day:02}T00:00:00Z");
    let in_day = hour < 24 && minute < 60 && second < 60 && micros < 1_000_000;
    // `humantime` begins with 1970. The calendar repeats every 400 years of 146,097 days.
    let later = format!("{:04}-{month:02}-{day:02}T00:00:00Z", u32::from(year) % 400 + 2000);
    let day =
        humantime::parse_rfc3339(&later).ok().filter(|_| in_day && (1..=9999).contains(&year) && text.len() == 20);
    let Some(day) = day else { return Expected::InvalidInstant };
    let seconds = i128::from(day.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs());
    let cycles = (i128::from(year) - (i128::from(year) % 400 + 2000)) / 400;
    let seconds = seconds + cycles * 146_097 * 86_400;
    let seconds = seconds + i128::from(hour) * 3_600 + i128::from(minute) * 60 + i128::from(second) - zone_minutes * 60;
    let micros = seconds * 1_000_000 + i128::from(micros);
    if (-62_135_596_800_000_000..253_402_300_800_000_000).contains(&micros) {
        Expected::Instant(micros)
    } else {
        Expected::InvalidInstant
    }
}

/// Values of each type: the type, the bytes that MySQL sends, and the expected value.
fn values() -> impl Strategy<Value = (Kind, Vec<u8>, Expected)> {
    let signed = integers().prop_map(|number| {
        let number = i64::try_from(number).unwrap_or(i64::MIN);
        let bytes = match (i8::try_from(number), i16::try_from(number), i32::try_from(number)) {
            (Ok(number), ..) => number.to_le_bytes().to_vec(),
            (_, Ok(number), _) => number.to_le_bytes().to_vec(),
            (.., Ok(number)) => number.to_le_bytes().to_vec(),
            _ => number.to_le_bytes().to_vec(),
        };
        (Kind::Signed, bytes, Expected::Whole(number.into()))
    });
    let unsigned = integers().prop_map(|number| {
        let number = u64::try_from(number).unwrap_or(u64::MAX);
        (Kind::Unsigned, number.to_le_bytes().to_vec(), Expected::Whole(number.into()))
    });
    let bits = prop::collection::vec(any::<u8>(), 1..9).prop_map(|bytes| {
        let number = bytes.iter().fold(0, |number, byte| number * 256 + i128::from(*byte));
        (Kind::Bits, bytes, Expected::Whole(number))
    });
    let decimal = (any::<bool>(), "[0-9]{1,35}|1[0-9]{9}|0", "|[0-9]{1,30}|[0-9]{6}|0{1,9}");
    let decimal = decimal.prop_map(|(negative, whole, fraction)| {
        let (sign, point) = (if negative { "-" } else { "" }, if fraction.is_empty() { "" } else { "." });
        let text = format!("{sign}{whole}{point}{fraction}");
        (Kind::Decimal, text.into_bytes(), Expected::decimal(negative, &whole, &fraction))
    });
    let double = doubles().prop_map(|number| (Kind::Double, number.to_le_bytes().to_vec(), Expected::Double(number)));
    let float =
        any::<f32>().prop_map(|number| (Kind::Float, number.to_le_bytes().to_vec(), Expected::Double(number.into())));
    prop_oneof![2 => signed, 2 => unsigned, 1 => bits, 4 => decimal, 1 => double, 1 => float]
}

/// The parts of times, most of them near a valid one.
fn parts() -> impl Strategy<Value = Parts> {
    let year =
        prop_oneof![1960_u16..2060, any::<u16>(), prop::sample::select(vec![0, 1, 1900, 2000, 2100, 9_999, 10_000])];
    let hour = prop_oneof![8 => 0_u8..24, 1 => any::<u8>()];
    let sixty = || prop_oneof![8 => 0_u8..60, 1 => any::<u8>()];
    let micros = prop_oneof![8 => 0_u32..1_000_000, 1 => any::<u32>()];
    (year, 0_u8..14, 0_u8..33, hour, sixty(), sixty(), micros)
}

const KINDS: [Kind; 8] =
    [Kind::Signed, Kind::Unsigned, Kind::Bits, Kind::Float, Kind::Double, Kind::Decimal, Kind::Time, Kind::Text];

/// Any bytes, and texts similar to decimals.
fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![prop::collection::vec(any::<u8>(), 0..24), "[-+0-9.eEinfa]{0,12}".prop_map(String::into_bytes)]
}

proptest! {
    #![proptest_config(cases(20_000))]

    #[test]
    fn value_is_converted_exactly_or_refused((kind, bytes, expected) in values()) {
        check_conversions(kind.value(&bytes, Zone::UTC), &expected)?;
    }

    #[test]
    fn time_is_the_instant_of_the_calendar_or_refused(
        parts in parts(), length in prop::sample::select(vec![4_u8, 7, 11]), minutes in -899_i32..900
    ) {
        let (year, month, day, hour, minute, second, micros) = parts;
        let sent = match length {
            4 => (year, month, day, 0, 0, 0, 0),
            7 => (year, month, day, hour, minute, second, 0),
            _ => (year, month, day, hour, minute, second, micros),
        };
        let sign = if minutes < 0 { '-' } else { '+' };
        let zone: Zone = format!("{sign}{:02}:{:02}", minutes.abs() / 60, minutes.abs() % 60).parse().unwrap();
        check_conversions(Kind::Time.value(&encoded(parts, length), zone), &instant(sent, minutes.into()))?;
    }

    /// A peer that is not MySQL may send anything. Bytes that are no decimal must not become a number.
    #[test]
    fn arbitrary_bytes_are_converted_or_refused_without_panic(kind in prop::sample::select(&KINDS[..]), bytes in any_bytes()) {
        let value = kind.value(&bytes, Zone::UTC);
        let _ = (value.time(), value.count(), value.seconds(), value.cursor(), value.name());
        if kind == Kind::Decimal {
            let text = bytes.strip_prefix(b"-").unwrap_or(&bytes);
            let is_digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
            let parts: Vec<_> = text.split(|byte| *byte == b'.').collect();
            let is_decimal = parts.len() <= 2 && parts.iter().all(|part| is_digits(part));
            prop_assert!(is_decimal || matches!(value, Value::Other), "{value:?}");
        }
    }
}
