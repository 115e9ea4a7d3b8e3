//! Texts: as SQLite keeps times, and as stores without types keep everything.

use proptest::prelude::*;

use super::truth::{Truth, doubles, held_against, integers, micros, within};
use crate::fuzz::{TEXT_VALUES, hostile, mutation::mutated};
use crate::store::column::Value;

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

/// Days since 1970-01-01, counted a year and a month at a time.
fn days(year: i128, month: i128, day: i128) -> Option<i128> {
    let leap = |year: i128| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let months = [31, if leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let length = *usize::try_from(month - 1).ok().and_then(|month| months.get(month))?;
    let years: i128 = (1970..year).map(|year| if leap(year) { 366 } else { 365 }).sum();
    let before: i128 = months[..usize::try_from(month - 1).ok()?].iter().sum();
    (year >= 1970 && (1..=length).contains(&day)).then(|| years + before + day - 1)
}

/// `YYYY-MM-DD hh:mm:ss`, maybe a fraction, maybe a mark of UTC, and nothing else. A leap second is the one before it.
fn written_time(text: &str) -> Option<i128> {
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
        4 => mutated(known.map(|text| text.as_bytes().to_vec()).to_vec(), TOKENS),
        1 => hostile::text().prop_map(String::into_bytes),
        1 => integers().prop_map(|number| number.to_string().into_bytes()),
        1 => doubles().prop_map(|number| number.to_string().into_bytes()),
        1 => "[a-z]{1020,1030}".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..20),
    ]
}

/// The number that a text is, in Rust's own grammar of them: a store without types has whatever was written.
fn number(text: &str) -> Option<Truth> {
    let whole = text.parse().ok().map(Truth::Whole);
    whole.or_else(|| text.parse().ok().map(Truth::Double))
}

#[test]
fn text_values_are_times_names_and_numbers_exactly_or_faults() {
    TEXT_VALUES.run(texts(), |bytes| {
        let text = std::str::from_utf8(&bytes).ok();
        let as_time = text.and_then(written_time).filter(|micros| *micros > 0);
        let truth = Truth::Text(bytes.clone());

        // As text it is a time, a name, a count of digits, a cursor; and no length.
        let value = Value::Text(&bytes);
        within(value.time().map(micros).map_err(drop), as_time.map(Some).ok_or(()), &truth)?;
        let without_time = |value: Value<'_>, truth: &Truth| match value.time() {
            Ok(_) => Ok(()),
            Err(_) => held_against(value, truth),
        };
        without_time(value, &truth)?;

        // Without a type it is a number too, where a number may be meant; a name and a cursor stay what is written.
        let value = Value::Untyped(&bytes);
        let as_number = text.and_then(number);
        let expected = match &as_number {
            Some(number) => return_time(number),
            None => as_time.map(Some).ok_or(()),
        };
        within(value.time().map(micros).map_err(drop), expected, as_number.as_ref().unwrap_or(&truth))?;
        prop_assert_eq!(value.name(), Value::Text(&bytes).name());
        prop_assert_eq!(value.cursor(), Value::Text(&bytes).cursor());
        prop_assert_eq!(value.count(), Value::Text(&bytes).count());
        match as_number {
            Some(Truth::Whole(number)) => prop_assert_eq!(value.seconds(), Value::Integer(number).seconds()),
            Some(Truth::Double(number)) => prop_assert_eq!(value.seconds(), Value::Real(number).seconds()),
            _ => prop_assert!(value.seconds().is_err()),
        }
        Ok(())
    });
}

fn return_time(number: &Truth) -> Result<Option<i128>, ()> {
    let value = match number {
        Truth::Whole(number) => Value::Integer(*number),
        Truth::Double(number) => Value::Real(*number),
        _ => return Err(()),
    };
    value.time().map(micros).map_err(drop)
}

/// What the other forms of a value are is the same whatever store it comes from.
#[test]
fn text_values_beside_numbers_are_what_they_are() {
    TEXT_VALUES.run((integers(), doubles(), any::<[u8; 16]>()), |(number, double, bytes)| {
        held_against(Value::Null, &Truth::Null)?;
        held_against(Value::Integer(number), &Truth::Whole(number))?;
        held_against(Value::Real(double), &Truth::Double(double))?;
        held_against(Value::Uuid(bytes), &Truth::Uuid(bytes))?;
        held_against(Value::Other, &Truth::Nothing)
    });
}
