//! Binary values: those that MySQL would send for what they are, and any other bytes.

use proptest::prelude::*;

use super::value::Kind;
use crate::fuzz::MYSQL;
use crate::store::Zone;
use crate::store::column::Value;
use crate::store::fuzz::truth::{Truth, doubles, held_against, integers};

/// A time in its parts, as good or bad as they are.
type Parts = (u16, u8, u8, u8, u8, u8, u32);

fn bytes_of(parts: Parts, length: u8) -> Vec<u8> {
    let (year, month, day, hour, minute, second, micros) = parts;
    let [low, high] = year.to_le_bytes();
    let whole = [&[length, low, high, month, day, hour, minute, second][..], &micros.to_le_bytes()].concat();
    whole[..=usize::from(length)].to_vec()
}

/// What a calendar says, by way of the text.
fn instant(parts: Parts, zone_minutes: i128) -> Truth {
    let (year, month, day, hour, minute, second, micros) = parts;
    let text = format!("{year:04}-{month:02}-{day:02}T00:00:00Z");
    let in_day = hour < 24 && minute < 60 && second < 60 && micros < 1_000_000;
    // What reads the text begins with 1970; the years go round every 400.
    let later = format!("{:04}-{month:02}-{day:02}T00:00:00Z", u32::from(year) % 400 + 2000);
    let day =
        humantime::parse_rfc3339(&later).ok().filter(|_| in_day && (1..=9999).contains(&year) && text.len() == 20);
    let Some(day) = day else { return Truth::NoInstant };
    let seconds = i128::from(day.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs());
    let rounds = (i128::from(year) - (i128::from(year) % 400 + 2000)) / 400;
    let seconds = seconds + rounds * 146_097 * 86_400;
    let seconds = seconds + i128::from(hour) * 3_600 + i128::from(minute) * 60 + i128::from(second) - zone_minutes * 60;
    let micros = seconds * 1_000_000 + i128::from(micros);
    if (-62_135_596_800_000_000..253_402_300_800_000_000).contains(&micros) {
        Truth::Instant(micros)
    } else {
        Truth::NoInstant
    }
}

/// What MySQL sends, and what that is.
fn values() -> impl Strategy<Value = (Kind, Vec<u8>, Truth)> {
    let signed = integers().prop_map(|number| {
        let number = i64::try_from(number).unwrap_or(i64::MIN);
        let bytes = match (i8::try_from(number), i16::try_from(number), i32::try_from(number)) {
            (Ok(number), ..) => number.to_le_bytes().to_vec(),
            (_, Ok(number), _) => number.to_le_bytes().to_vec(),
            (.., Ok(number)) => number.to_le_bytes().to_vec(),
            _ => number.to_le_bytes().to_vec(),
        };
        (Kind::Signed, bytes, Truth::Whole(number.into()))
    });
    let unsigned = integers().prop_map(|number| {
        let number = u64::try_from(number).unwrap_or(u64::MAX);
        (Kind::Unsigned, number.to_le_bytes().to_vec(), Truth::Whole(number.into()))
    });
    let bits = prop::collection::vec(any::<u8>(), 1..9).prop_map(|bytes| {
        let number = bytes.iter().fold(0, |number, byte| number * 256 + i128::from(*byte));
        (Kind::Bits, bytes, Truth::Whole(number))
    });
    let decimal = (any::<bool>(), "[0-9]{1,35}|1[0-9]{9}|0", "|[0-9]{1,30}|[0-9]{6}|0{1,9}");
    let decimal = decimal.prop_map(|(negative, whole, fraction)| {
        let (sign, point) = (if negative { "-" } else { "" }, if fraction.is_empty() { "" } else { "." });
        let text = format!("{sign}{whole}{point}{fraction}");
        (Kind::Decimal, text.into_bytes(), Truth::decimal(negative, &whole, &fraction))
    });
    let double = doubles().prop_map(|number| (Kind::Double, number.to_le_bytes().to_vec(), Truth::Double(number)));
    let float =
        any::<f32>().prop_map(|number| (Kind::Float, number.to_le_bytes().to_vec(), Truth::Double(number.into())));
    prop_oneof![2 => signed, 2 => unsigned, 1 => bits, 4 => decimal, 1 => double, 1 => float]
}

#[test]
fn mysql_values_are_what_they_are_or_faults() {
    MYSQL.run(values(), |(kind, bytes, truth)| held_against(kind.value(&bytes, Zone::UTC), &truth));
}

#[test]
fn mysql_times_are_what_a_calendar_says_or_faults() {
    let year =
        prop_oneof![1960_u16..2060, any::<u16>(), prop::sample::select(vec![0, 1, 1900, 2000, 2100, 9_999, 10_000])];
    let hour = prop_oneof![8 => 0_u8..24, 1 => any::<u8>()];
    let sixty = || prop_oneof![8 => 0_u8..60, 1 => any::<u8>()];
    let micros = prop_oneof![8 => 0_u32..1_000_000, 1 => any::<u32>()];
    let parts = (year, 0_u8..14, 0_u8..33, hour, sixty(), sixty(), micros);
    MYSQL.run((parts, prop::sample::select(vec![4_u8, 7, 11]), -899_i32..900), |(parts, length, minutes)| {
        let (year, month, day, hour, minute, second, micros) = parts;
        let told = match length {
            4 => (year, month, day, 0, 0, 0, 0),
            7 => (year, month, day, hour, minute, second, 0),
            _ => (year, month, day, hour, minute, second, micros),
        };
        let sign = if minutes < 0 { '-' } else { '+' };
        let zone: Zone = format!("{sign}{:02}:{:02}", minutes.abs() / 60, minutes.abs() % 60).parse().unwrap();
        held_against(Kind::Time.value(&bytes_of(parts, length), zone), &instant(told, minutes.into()))
    });
}

const KINDS: [Kind; 8] =
    [Kind::Signed, Kind::Unsigned, Kind::Bits, Kind::Float, Kind::Double, Kind::Decimal, Kind::Time, Kind::Text];

/// A server that is none sends what it likes; of a decimal that is written as none can be, nothing is made up.
#[test]
fn mysql_bytes_of_any_kind_are_taken_or_refused() {
    let bytes =
        prop_oneof![prop::collection::vec(any::<u8>(), 0..24), "[-+0-9.eEinfa]{0,12}".prop_map(String::into_bytes)];
    MYSQL.run((prop::sample::select(&KINDS[..]), bytes), |(kind, bytes)| {
        let value = kind.value(&bytes, Zone::UTC);
        let _ = (value.time(), value.count(), value.seconds(), value.cursor(), value.name());
        if kind == Kind::Decimal {
            let text = bytes.strip_prefix(b"-").unwrap_or(&bytes);
            let digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
            let parts: Vec<_> = text.split(|byte| *byte == b'.').collect();
            let is_decimal = parts.len() <= 2 && parts.iter().all(|part| digits(part));
            prop_assert!(is_decimal || matches!(value, Value::Other), "{value:?}");
        }
        Ok(())
    });
}
