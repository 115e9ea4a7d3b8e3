//! What a value is, and what the reading contract makes of it: the table of the README, said once more.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use crate::lease::{Cursor, StoreTime};
use crate::store::column::Value;

/// What a value is, exactly.
#[derive(Clone, Debug)]
pub(in crate::store) enum Truth {
    Null,
    Whole(i128),
    /// A decimal with this sign, these digits, and so many of them behind the point, the last of which is not 0.
    Decimal {
        negative: bool,
        digits: String,
        behind: usize,
    },
    /// What binary floating point has.
    Double(f64),
    Text(Vec<u8>),
    /// An instant in microseconds since the Unix epoch.
    Instant(i128),
    /// A time that is none.
    NoInstant,
    /// A length of time in microseconds.
    Length(i128),
    Uuid([u8; 16]),
    /// Of no type that a column may have.
    Nothing,
}

type ReadOutput<T> = Result<Option<T>, ()>;

const MILLION: i128 = 1_000_000;
/// 10000-01-01.
const END: i128 = 253_402_300_800 * MILLION;
const HUNDRED_YEARS: f64 = 3_153_600_000.0;

impl Truth {
    /// A decimal as it is written, in digits.
    pub(in crate::store) fn decimal(negative: bool, whole: &str, fraction: &str) -> Self {
        let fraction = fraction.trim_end_matches('0');
        let digits = format!("{whole}{fraction}").trim_start_matches('0').to_owned();
        if fraction.is_empty() {
            let digits = if digits.is_empty() { "0" } else { &digits };
            if let Ok(number) = format!("{}{digits}", if negative { "-" } else { "" }).parse() {
                return Self::Whole(number);
            }
        }
        Self::Decimal { negative, digits, behind: fraction.len() }
    }

    fn approximately(&self) -> Option<f64> {
        match self {
            #[expect(clippy::cast_precision_loss, reason = "approximately")]
            Self::Whole(number) => Some(*number as f64),
            Self::Decimal { negative, digits, behind } => {
                let number: f64 = format!("0{digits}e-{behind}").parse().unwrap();
                Some(if *negative { -number } else { number })
            }
            Self::Double(number) => Some(*number),
            _ => None,
        }
    }

    /// An instant in microseconds, which rounding may have moved by one.
    fn time(&self) -> ReadOutput<i128> {
        let micros = match self {
            Self::Null => return Ok(None),
            Self::Instant(micros) => *micros,
            Self::Whole(seconds) => seconds.saturating_mul(MILLION),
            #[expect(clippy::cast_possible_truncation, reason = "it saturates, and what is no number is 0")]
            Self::Decimal { .. } | Self::Double(_) => (self.approximately().unwrap() * 1e6).round() as i128,
            Self::Text(_) | Self::NoInstant | Self::Length(_) | Self::Uuid(_) | Self::Nothing => return Err(()),
        };
        if (1..END).contains(&micros) { Ok(Some(micros)) } else { Err(()) }
    }

    fn count(&self) -> ReadOutput<u64> {
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

    fn name(&self) -> ReadOutput<String> {
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

    fn seconds(&self) -> ReadOutput<f64> {
        #[expect(clippy::cast_precision_loss, reason = "as far as it matters")]
        let seconds = match self {
            Self::Null => return Ok(None),
            Self::Length(micros) => *micros as f64 / 1e6,
            _ => self.approximately().ok_or(())?,
        };
        if seconds > 0.0 && seconds <= HUNDRED_YEARS { Ok(Some(seconds)) } else { Err(()) }
    }

    /// What a cursor shows: the whole value, so that another is another.
    fn cursor(&self) -> ReadOutput<String> {
        match self {
            Self::Null => Ok(None),
            Self::Whole(number) => Ok(Some(number.to_string())),
            Self::Decimal { negative, digits, behind } => {
                let digits = format!("{}{digits}", "0".repeat((behind + 1).saturating_sub(digits.len())));
                let (whole, fraction) = digits.split_at(digits.len() - behind);
                let point = if *behind == 0 { "" } else { "." };
                Ok(Some(format!("{}{whole}{point}{fraction}", if *negative { "-" } else { "" })))
            }
            Self::Double(number) => Ok(Some(number.to_string())),
            Self::Text(text) if text.len() > 1_024 => Err(()),
            Self::Text(text) => String::from_utf8(text.clone()).map(Some).map_err(drop),
            Self::Instant(micros) if (-62_135_596_800 * MILLION..END).contains(micros) => Ok(Some(micros.to_string())),
            Self::Uuid(bytes) => Ok(Some(uuid(bytes))),
            Self::Instant(_) | Self::NoInstant | Self::Length(_) | Self::Nothing => Err(()),
        }
    }

    /// More digits than are kept: such a decimal may be refused where all of it would be needed.
    fn is_long(&self) -> bool {
        matches!(self, Self::Decimal { digits, .. } if digits.len() > 30)
    }
}

fn uuid(bytes: &[u8; 16]) -> String {
    let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..4], &hex[4..6], &hex[6..8], &hex[8..10], &hex[10..]].map(|part| part.concat()).join("-")
}

fn shown(cursor: Cursor) -> String {
    match cursor {
        Cursor::Number(number) => number.to_string(),
        Cursor::Text(text) => text.into(),
    }
}

/// Holds a value against what it is, wherever in the contract it might stand.
pub(in crate::store) fn held_against(value: Value<'_>, truth: &Truth) -> TestCaseResult {
    let taken = value.time().map(|time| time.map(|time| i128::from(time.unix_micros()))).map_err(drop);
    within(taken, truth.time(), truth)?;
    prop_assert_eq!(value.count().map_err(drop), truth.count(), "the count of {:?}", truth);
    prop_assert_eq!(
        value.name().map(|name| name.map(String::from)).map_err(drop),
        truth.name(),
        "the name of {:?}",
        truth
    );
    match (value.seconds().map(|length| length.map(|length| length.as_secs_f64())).map_err(drop), truth.seconds()) {
        (Ok(Some(taken)), Ok(Some(seconds))) => {
            prop_assert!((taken - seconds).abs() <= 1e-9 + seconds * 1e-14, "{taken} for {seconds}");
        }
        (taken, seconds) => prop_assert_eq!(taken, seconds, "the length of {:?}", truth),
    }
    match value.cursor().map(|cursor| cursor.map(shown)).map_err(drop) {
        Err(()) if truth.is_long() => {}
        cursor => prop_assert_eq!(cursor, truth.cursor(), "the cursor of {:?}", truth),
    }
    Ok(())
}

/// Times to the microsecond, more or less one; and at the ends of time either is right.
pub(in crate::store) fn within(taken: ReadOutput<i128>, micros: ReadOutput<i128>, truth: &Truth) -> TestCaseResult {
    match (taken, micros) {
        (Ok(Some(taken)), Ok(Some(micros))) => {
            let exact = matches!(truth, Truth::Whole(_) | Truth::Instant(_));
            // Of seconds that are no whole number a double has no more than so many bits.
            let off = if exact { 0 } else { 1 + micros / 4_000_000_000_000_000 * 16 };
            prop_assert!((taken - micros).abs() <= off, "{taken} for {micros}, of {truth:?}");
        }
        (Ok(Some(edge)), Err(())) | (Err(()), Ok(Some(edge))) => {
            let exact = matches!(truth, Truth::Whole(_) | Truth::Instant(_) | Truth::Text(_));
            prop_assert!(!exact && (edge <= 1 || edge >= END - 64), "{taken:?} for {micros:?}, of {truth:?}");
        }
        (taken, micros) => prop_assert_eq!(taken, micros, "the time of {:?}", truth),
    }
    Ok(())
}

/// Integers that are near what somebody could have got wrong.
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
        near.prop_map(|(edge, off, negative)| (edge + off) * if negative { -1 } else { 1 }),
        any::<i64>().prop_map(i128::from),
        any::<u64>().prop_map(i128::from),
        (0_i128..4_000_000_000),
    ]
}

/// Doubles as clocks and counters are, and any.
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

/// A time as the exporter has it, of microseconds.
pub(in crate::store) fn micros(time: Option<StoreTime>) -> Option<i128> {
    time.map(|time| i128::from(time.unix_micros()))
}
