//! Texts: times in SQLite, and every value of a store without types.

use proptest::prelude::*;

use super::expected::{Expected, check_conversions, check_time, doubles, integers, micros};
use crate::store::column::Value;
use crate::testing::{cases, hostile, mutation::mutated};

const TOKENS: &[&str] = &[
    "Z",
    "z",
    "+00:00",
    "+09:00",
    "-00:00",
    "-03:30",
    "+0000",
    "+00",
    " UTC",
    ".",
    ",",
    ".5",
    ".123456789",
    ".0000000001",
    "T",
    "t",
    " ",
    "  ",
    "-",
    ":",
    "24",
    "60",
    "00",
    "13",
    "1969",
    "0000",
    "99999",
    "+",
    "1e3",
    "inf",
    "nan",
    "0x10",
    "\u{661}",
    "\0",
    "_",
    "-0",
    "12:00:00",
    "2026-02-29",
];

/// Days since 1970-01-01, or `None` if there is no such date.
fn days(year: i128, month: i128, day: i128) -> Option<i128> {
    let leap = |year: i128| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let months = [31, if leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let length = *usize::try_from(month - 1).ok().and_then(|month| months.get(month))?;
    let years: i128 = (1970..year).map(|year| if leap(year) { 366 } else { 365 }).sum();
    let before: i128 = months[..usize::try_from(month - 1).ok()?].iter().sum();
    (year >= 1970 && (1..=length).contains(&day)).then(|| years + before + day - 1)
}

/// Reads `YYYY-MM-DD hh:mm:ss` with an optional fraction and an optional UTC mark. A leap second counts as the second
/// before it.
fn parse_time(text: &str) -> Option<i128> {
    let text = text.strip_suffix('Z').or_else(|| text.strip_suffix("+00:00")).unwrap_or(text);
    let shape = b"dddd-dd-dd?dd:dd:dd";
    let fits = |(at, byte): (usize, u8)| match shape.get(at) {
        Some(b'd') => byte.is_ascii_digit(),
        Some(b'?') => byte == b' ' || byte == b'T',
        Some(other) => byte == *other,
        None if at == shape.len() => byte == b'.',
        None => byte.is_ascii_digit(),
    };
    if text.len() < shape.len() || !text.bytes().enumerate().all(fits) {
        return None;
    }
    let number = |at: usize, length: usize| text[at..at + length].parse::<i128>().unwrap();
    let (hour, minute, second) = (number(11, 2), number(14, 2), number(17, 2));
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let days = days(number(0, 4), number(5, 2), number(8, 2))?;
    let fraction = format!("{}000000", text.get(20..).unwrap_or(""));
    Some(
        (((days * 24 + hour) * 60 + minute) * 60 + second.min(59)) * 1_000_000 + fraction[..6].parse::<i128>().unwrap(),
    )
}

fn texts() -> impl Strategy<Value = Vec<u8>> {
    let known = [
        "2026-11-30 12:00:00.5",
        "2026-11-30T12:00:00.123456+00:00",
        "2024-02-29T23:59:59Z",
        "1970-01-01 00:00:01",
        "1796040000.25",
        "-7",
        "18446744073709551615",
    ];
    let time = (
        1960_u32..2040,
        0_u32..14,
        0_u32..33,
        0_u32..25,
        0_u32..61,
        0_u32..62,
        "(\\.[0-9]{0,12})?",
        "(Z|[+-][0-9]{2}:?[0-9]{2}|[+]00:00)?",
    );
    let time = time.prop_map(|(year, month, day, hour, minute, second, fraction, zone)| {
        format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}{fraction}{zone}").into_bytes()
    });
    prop_oneof![
        4 => time,
        4 => mutated(&known, TOKENS).prop_map(String::into_bytes),
        1 => hostile::text().prop_map(String::into_bytes),
        1 => integers().prop_map(|number| number.to_string().into_bytes()),
        1 => doubles().prop_map(|number| number.to_string().into_bytes()),
        1 => "[a-z]{1020,1030}".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..20),
    ]
}

/// Reads a number by the grammar of Rust, as the decoder does for stores without types.
fn parse_number(text: &str) -> Option<Expected> {
    let whole = text.parse().ok().map(Expected::Whole);
    whole.or_else(|| text.parse().ok().map(Expected::Double))
}

/// The time that a number stands for.
fn time_of_number(number: &Expected) -> Result<Option<i128>, ()> {
    let value = match number {
        Expected::Whole(number) => Value::Integer(*number),
        Expected::Double(number) => Value::Real(*number),
        _ => return Err(()),
    };
    value.time().map(micros).map_err(drop)
}

proptest! {
    #![proptest_config(cases(20_000))]

    #[test]
    fn text_is_converted_exactly_or_refused(bytes in texts()) {
        let text = std::str::from_utf8(&bytes).ok();
        let time = text.and_then(parse_time).filter(|micros| *micros > 0);
        let expected = Expected::Text(bytes.clone());

        // A typed text may be a time, a name, a count or a cursor, but no duration.
        let value = Value::Text(&bytes);
        check_time(value.time().map(micros).map_err(drop), time.map(Some).ok_or(()), &expected)?;
        if value.time().is_err() {
            check_conversions(value, &expected)?;
        }

        // An untyped text may be a number too. As a name and as a cursor it stays as it is written.
        let value = Value::Untyped(&bytes);
        let number = text.and_then(parse_number);
        let expected_time = match &number {
            Some(number) => time_of_number(number),
            None => time.map(Some).ok_or(()),
        };
        check_time(value.time().map(micros).map_err(drop), expected_time, number.as_ref().unwrap_or(&expected))?;
        prop_assert_eq!(value.name(), Value::Text(&bytes).name());
        prop_assert_eq!(value.cursor(), Value::Text(&bytes).cursor());
        prop_assert_eq!(value.count(), Value::Text(&bytes).count());
        match number {
            Some(Expected::Whole(number)) => prop_assert_eq!(value.seconds(), Value::Integer(number).seconds()),
            Some(Expected::Double(number)) => prop_assert_eq!(value.seconds(), Value::Real(number).seconds()),
            _ => prop_assert!(value.seconds().is_err()),
        }
    }

    #[test]
    fn number_uuid_and_null_are_converted_exactly_or_refused(
        number in integers(), double in doubles(), bytes in any::<[u8; 16]>()
    ) {
        check_conversions(Value::Null, &Expected::Null)?;
        check_conversions(Value::Integer(number), &Expected::Whole(number))?;
        check_conversions(Value::Real(double), &Expected::Double(double))?;
        check_conversions(Value::Uuid(bytes), &Expected::Uuid(bytes))?;
        check_conversions(Value::Other, &Expected::Unsupported)?;
    }
}
