//! A second implementation of the value conversions of the query contract.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use crate::lease::{Cursor, StoreTime};
use crate::store::column::Value;

/// A value before a store encodes it, and thereby the expected result of each conversion.
#[derive(Clone, Debug)]
pub(in crate::store) enum Expected {
    Null,
    Whole(i128),
    /// A decimal. `scale` is the number of digits after the point; the last of these is not 0.
    Decimal {
        negative: bool,
        digits: String,
        scale: usize,
    },
    Double(f64),
    Text(Vec<u8>),
    /// An instant in microseconds since the Unix epoch.
    Instant(i128),
    /// An impossible date, or an instant outside of the years 1 to 9999.
    InvalidInstant,
    /// A duration in microseconds.
    Duration(i128),
    Uuid([u8; 16]),
    /// A value of a type that no column accepts.
    Unsupported,
}

type Conversion<T> = Result<Option<T>, ()>;

const MILLION: i128 = 1_000_000;
/// 10000-01-01, in microseconds since the Unix epoch.
const END: i128 = 253_402_300_800 * MILLION;
const HUNDRED_YEARS: f64 = 3_153_600_000.0;

impl Expected {
    /// The number with these decimal digits before and after the point.
    pub(in crate::store) fn decimal(negative: bool, whole: &str, fraction: &str) -> Self {
        let fraction = fraction.trim_end_matches('0');
        let digits = format!("{whole}{fraction}").trim_start_matches('0').to_owned();
        if fraction.is_empty() {
            let digits = if digits.is_empty() { "0" } else { &digits };
            if let Ok(number) = format!("{}{digits}", if negative { "-" } else { "" }).parse() {
                return Self::Whole(number);
            }
        }
        Self::Decimal { negative, digits, scale: fraction.len() }
    }

    fn approximately(&self) -> Option<f64> {
        match self {
            #[expect(clippy::cast_precision_loss, reason = "the result is approximate")]
            Self::Whole(number) => Some(*number as f64),
            Self::Decimal { negative, digits, scale } => {
                let number: f64 = format!("0{digits}e-{scale}").parse().unwrap();
                Some(if *negative { -number } else { number })
            }
            Self::Double(number) => Some(*number),
            _ => None,
        }
    }

    /// Microseconds since the Unix epoch. Rounding may change the last digit.
    fn time(&self) -> Conversion<i128> {
        let micros = match self {
            Self::Null => return Ok(None),
            Self::Instant(micros) => *micros,
            Self::Whole(seconds) => seconds.saturating_mul(MILLION),
            #[expect(clippy::cast_possible_truncation, reason = "the cast saturates, and NaN becomes 0")]
            Self::Decimal { .. } | Self::Double(_) => (self.approximately().unwrap() * 1e6).round() as i128,
            Self::Text(_) | Self::InvalidInstant | Self::Duration(_) | Self::Uuid(_) | Self::Unsupported => {
                return Err(());
            }
        };
        if (1..END).contains(&micros) { Ok(Some(micros)) } else { Err(()) }
    }

    fn count(&self) -> Conversion<u64> {
        match self {
            Self::Null => Ok(None),
            Self::Whole(number) => u64::try_from(*number).map(Some).map_err(drop),
            Self::Text(text) => {
                let digits = text.iter().all(u8::is_ascii_digit);
                let number = std::str::from_utf8(text).ok().filter(|_| digits).and_then(|text| text.parse().ok());
                number.map(Some).ok_or(())
            }
            _ => Err(()),
        }
    }

    fn name(&self) -> Conversion<String> {
        match self {
            Self::Null => Ok(None),
            Self::Whole(number) => Ok(Some(number.to_string())),
            Self::Text(text) if text.len() > 1_024 => Err(()),
            Self::Text(text) => {
                String::from_utf8(text.clone()).map(|text| Some(text).filter(|text| !text.is_empty())).map_err(drop)
            }
            Self::Uuid(bytes) => Ok(Some(uuid(bytes))),
            _ => Err(()),
        }
    }

    fn seconds(&self) -> Conversion<f64> {
        #[expect(clippy::cast_precision_loss, reason = "the comparison allows for it")]
        let seconds = match self {
            Self::Null => return Ok(None),
            Self::Duration(micros) => *micros as f64 / 1e6,
            _ => self.approximately().ok_or(())?,
        };
        if seconds > 0.0 && seconds <= HUNDRED_YEARS { Ok(Some(seconds)) } else { Err(()) }
    }

    /// The cursor as text. No digit is lost, so different values give different cursors.
    fn cursor(&self) -> Conversion<String> {
        match self {
            Self::Null => Ok(None),
            Self::Whole(number) => Ok(Some(number.to_string())),
            Self::Decimal { negative, digits, scale } => {
                let digits = format!("{}{digits}", "0".repeat((scale + 1).saturating_sub(digits.len())));
                let (whole, fraction) = digits.split_at(digits.len() - scale);
                let point = if *scale == 0 { "" } else { "." };
                Ok(Some(format!("{}{whole}{point}{fraction}", if *negative { "-" } else { "" })))
            }
            Self::Double(number) => Ok(Some(number.to_string())),
            Self::Text(text) if text.len() > 1_024 => Err(()),
            Self::Text(text) => String::from_utf8(text.clone()).map(Some).map_err(drop),
            Self::Instant(micros) if (-62_135_596_800 * MILLION..END).contains(micros) => Ok(Some(micros.to_string())),
            Self::Uuid(bytes) => Ok(Some(uuid(bytes))),
            Self::Instant(_) | Self::InvalidInstant | Self::Duration(_) | Self::Unsupported => Err(()),
        }
    }

    /// Whether a decimal has more digits than the decoders keep. Such a decimal may be refused as a cursor.
    fn is_long(&self) -> bool {
        matches!(self, Self::Decimal { digits, .. } if digits.len() > 30)
    }
}

fn uuid(bytes: &[u8; 16]) -> String {
    let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..4], &hex[4..6], &hex[6..8], &hex[8..10], &hex[10..]].map(|part| part.concat()).join("-")
}

fn cursor_text(cursor: Cursor) -> String {
    match cursor {
        Cursor::Number(number) => number.to_string(),
        Cursor::Text(text) => text.into(),
    }
}

/// Checks each conversion of a decoded value.
pub(in crate::store) fn check_conversions(value: Value<'_>, expected: &Expected) -> TestCaseResult {
    let actual = value.time().map(micros).map_err(drop);
    check_time(actual, expected.time(), expected)?;
    prop_assert_eq!(value.count().map_err(drop), expected.count(), "the count of {:?}", expected);
    prop_assert_eq!(
        value.name().map(|name| name.map(String::from)).map_err(drop),
        expected.name(),
        "the name of {:?}",
        expected
    );
    match (value.seconds().map(|length| length.map(|length| length.as_secs_f64())).map_err(drop), expected.seconds()) {
        (Ok(Some(actual)), Ok(Some(seconds))) => {
            prop_assert!((actual - seconds).abs() <= 1e-9 + seconds * 1e-14, "{actual} instead of {seconds}");
        }
        (actual, seconds) => prop_assert_eq!(actual, seconds, "the duration of {:?}", expected),
    }
    match value.cursor().map(|cursor| cursor.map(cursor_text)).map_err(drop) {
        Err(()) if expected.is_long() => {}
        cursor => prop_assert_eq!(cursor, expected.cursor(), "the cursor of {:?}", expected),
    }
    Ok(())
}

/// Compares two times in microseconds. Inexact times may differ by rounding, so that one may be out of range.
pub(in crate::store) fn check_time(
    actual: Conversion<i128>,
    micros: Conversion<i128>,
    expected: &Expected,
) -> TestCaseResult {
    match (actual, micros) {
        (Ok(Some(actual)), Ok(Some(micros))) => {
            let exact = matches!(expected, Expected::Whole(_) | Expected::Instant(_));
            // A double has 53 bits for the seconds and their fraction.
            let tolerance = if exact { 0 } else { 1 + micros / 4_000_000_000_000_000 * 16 };
            prop_assert!((actual - micros).abs() <= tolerance, "{actual} instead of {micros}, of {expected:?}");
        }
        (Ok(Some(edge)), Err(())) | (Err(()), Ok(Some(edge))) => {
            let exact = matches!(expected, Expected::Whole(_) | Expected::Instant(_) | Expected::Text(_));
            prop_assert!(
                !exact && (edge <= 1 || edge >= END - 64),
                "{actual:?} instead of {micros:?}, of {expected:?}"
            );
        }
        (actual, micros) => prop_assert_eq!(actual, micros, "the time of {:?}", expected),
    }
    Ok(())
}

/// Integers, many of them near the limits of types and ranges.
pub(in crate::store) fn integers() -> impl Strategy<Value = i128> {
    let edges = [
        0,
        1,
        i128::from(i32::MAX),
        i128::from(u32::MAX),
        1_796_040_000,
        i128::from(i64::MAX),
        i128::from(u64::MAX),
        END / MILLION,
        1_796_040_000_000,
    ];
    let near = (prop::sample::select(edges.to_vec()), -2_i128..3, any::<bool>());
    prop_oneof![
        near.prop_map(|(edge, offset, negative)| (edge + offset) * if negative { -1 } else { 1 }),
        any::<i64>().prop_map(i128::from),
        any::<u64>().prop_map(i128::from),
        (0_i128..4_000_000_000),
    ]
}

/// Doubles, many of them near the limits of ranges or like those of clocks and counters.
pub(in crate::store) fn doubles() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        -1e10..1e12,
        (0_u32..2_000_000_000, 0_u32..1_000_000)
            .prop_map(|(seconds, micros)| f64::from(seconds) + f64::from(micros) / 1e6),
        prop::sample::select(vec![
            0.0,
            -0.0,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::MIN_POSITIVE,
            253_402_300_800.0,
            1e-6,
            4.9e-7,
            3_153_600_000.0,
            9_007_199_254_740_993.0
        ]),
    ]
}

/// A time in microseconds since the Unix epoch.
pub(in crate::store) fn micros(time: Option<StoreTime>) -> Option<i128> {
    time.map(|time| i128::from(time.unix_micros()))
}
