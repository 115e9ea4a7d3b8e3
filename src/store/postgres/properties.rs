//! Binary values and messages as PostgreSQL encodes them, and arbitrary bytes.

use proptest::prelude::*;

use super::message::{self, MessageStream, ServerMessage};
use super::value::Kind;
use crate::lease::RecordFault;
use crate::store::Zone;
use crate::store::properties::expected::{Expected, check_conversions, doubles, integers};
use crate::testing::cases;

/// A decimal of any length, as `numeric_send` of PostgreSQL writes it.
fn numeric(negative: bool, whole: &str, fraction: &str) -> Vec<u8> {
    let whole = whole.trim_start_matches('0');
    let whole = format!("{}{whole}", "0".repeat(whole.len().next_multiple_of(4) - whole.len()));
    let fraction = fraction.trim_end_matches('0');
    let padded = format!("{fraction}{}", "0".repeat(fraction.len().next_multiple_of(4) - fraction.len()));
    let text = format!("{whole}{padded}");
    let mut words: Vec<i16> =
        text.as_bytes().chunks(4).map(|word| std::str::from_utf8(word).unwrap().parse().unwrap()).collect();
    let mut weight = i16::try_from(whole.len() / 4).unwrap() - 1;
    while words.first() == Some(&0) {
        words.remove(0);
        weight -= 1;
    }
    while words.last() == Some(&0) {
        words.pop();
    }
    if words.is_empty() {
        weight = 0;
    }
    let count = i16::try_from(words.len()).unwrap();
    let sign = if negative && count > 0 { 0x4000 } else { 0 };
    [count, weight, sign, i16::try_from(fraction.len()).unwrap()]
        .into_iter()
        .chain(words)
        .flat_map(i16::to_be_bytes)
        .collect()
}

/// Values of each type: the type, the bytes that PostgreSQL sends, and the expected value.
fn values() -> impl Strategy<Value = (Kind, Vec<u8>, Expected)> {
    let integer = integers().prop_map(|number| {
        let number = i64::try_from(number).unwrap_or(i64::MIN);
        let bytes = match (i16::try_from(number), i32::try_from(number)) {
            (Ok(number), _) => number.to_be_bytes().to_vec(),
            (_, Ok(number)) => number.to_be_bytes().to_vec(),
            _ => number.to_be_bytes().to_vec(),
        };
        (Kind::Integer, bytes, Expected::Whole(number.into()))
    });
    let decimal = (any::<bool>(), "[0-9]{1,45}|[1-9][0-9]{0,12}|1[0-9]{9}", "|[0-9]{1,12}|[0-9]{6}|0{1,9}");
    let decimal = decimal.prop_map(|(negative, whole, fraction)| {
        (Kind::Numeric, numeric(negative, &whole, &fraction), Expected::decimal(negative, &whole, &fraction))
    });
    let double = doubles().prop_map(|number| (Kind::Float8, number.to_be_bytes().to_vec(), Expected::Double(number)));
    let float =
        any::<f32>().prop_map(|number| (Kind::Float4, number.to_be_bytes().to_vec(), Expected::Double(number.into())));
    let micros = prop_oneof![
        any::<i64>(),
        0_i64..2_000_000_000_000_000,
        prop::sample::select(vec![i64::MIN, i64::MAX, -946_684_800_000_000])
    ];
    let instant = |micros: i128| {
        if (-62_135_596_800_000_000..253_402_300_800_000_000).contains(&micros) {
            Expected::Instant(micros)
        } else {
            Expected::InvalidInstant
        }
    };
    let time = micros.prop_map(move |micros| {
        (Kind::TimestampWithZone, micros.to_be_bytes().to_vec(), instant(i128::from(micros) + 946_684_800_000_000))
    });
    let date = prop_oneof![any::<i32>(), -12_000..20_000, Just(i32::MAX), Just(i32::MIN)].prop_map(move |days| {
        (Kind::Date, days.to_be_bytes().to_vec(), instant(i128::from(days) * 86_400_000_000 + 946_684_800_000_000))
    });
    let interval = (
        prop_oneof![any::<i64>(), 0_i64..1_000_000_000_000],
        prop_oneof![any::<i32>(), Just(0)],
        prop_oneof![1 => any::<i32>(), 4 => Just(0)],
    );
    let interval = interval.prop_map(|(micros, days, months)| {
        let duration = i128::from(micros) + i128::from(days) * 86_400_000_000;
        let bytes = [&micros.to_be_bytes()[..], &days.to_be_bytes(), &months.to_be_bytes()].concat();
        (Kind::Interval, bytes, if months == 0 { Expected::Duration(duration) } else { Expected::Unsupported })
    });
    let uuid = any::<[u8; 16]>().prop_map(|bytes| (Kind::Uuid, bytes.to_vec(), Expected::Uuid(bytes)));
    prop_oneof![3 => integer, 4 => decimal, 1 => double, 1 => float, 2 => time, 1 => date, 2 => interval, 1 => uuid]
}

const KINDS: [Kind; 10] = [
    Kind::Date,
    Kind::Float4,
    Kind::Float8,
    Kind::Integer,
    Kind::Interval,
    Kind::Numeric,
    Kind::Text,
    Kind::Timestamp,
    Kind::TimestampWithZone,
    Kind::Uuid,
];

/// Whether the bytes of a `numeric` agree with their own header.
fn is_well_formed(bytes: &[u8]) -> bool {
    let words: Vec<i16> = bytes.chunks(2).filter_map(|word| Some(i16::from_be_bytes(word.try_into().ok()?))).collect();
    match words.as_slice() {
        // NaN and the infinities are well-formed.
        [_, _, sign, ..] if ![0, 0x4000].contains(sign) => true,
        [count, _, _, _, digits @ ..] => {
            bytes.len().is_multiple_of(2)
                && usize::try_from(*count) == Ok(digits.len())
                && digits.iter().all(|digit| (0..10_000).contains(digit))
        }
        _ => false,
    }
}

/// A connection that delivers `bytes` in chunks of at most `chunk` bytes, and then ends.
fn connection(bytes: &[u8], chunk: usize) -> tokio::io::DuplexStream {
    let (client, mut server) = tokio::io::duplex(chunk);
    let bytes = bytes.to_vec();
    tokio::spawn(async move {
        let _ = tokio::io::AsyncWriteExt::write_all(&mut server, &bytes).await;
    });
    client
}

/// Any bytes, and the 16-bit words that a `numeric` is made of.
fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    let words =
        prop::collection::vec(prop_oneof![any::<i16>(), -2_i16..12, Just(9_999), Just(10_000), Just(0x4000)], 0..30);
    let words = words.prop_map(|words| words.into_iter().flat_map(i16::to_be_bytes).collect::<Vec<u8>>());
    prop_oneof![words, prop::collection::vec(any::<u8>(), 0..24)]
}

/// Messages with a known tag, and any length and content.
fn any_messages() -> impl Strategy<Value = Vec<u8>> {
    let length = prop_oneof![4_u32..40, any::<u32>()];
    let message =
        (prop::sample::select(&b"RSKZTDCEN123nItGHdcAsv"[..]), length, prop::collection::vec(any::<u8>(), 0..40));
    prop::collection::vec(message, 0..6).prop_map(|messages| {
        messages.into_iter().fold(Vec::new(), |mut bytes, (tag, length, body)| {
            bytes.push(tag);
            bytes.extend(length.to_be_bytes());
            bytes.extend(body);
            bytes
        })
    })
}

proptest! {
    #![proptest_config(cases(20_000))]

    #[test]
    fn value_is_converted_exactly_or_refused((kind, bytes, expected) in values()) {
        check_conversions(kind.value(&bytes, Zone::UTC), &expected)?;
    }

    /// A peer that is not PostgreSQL may send anything. A malformed `numeric` must not become a number.
    #[test]
    fn arbitrary_bytes_are_converted_or_refused_without_panic(
        kind in prop::sample::select(&KINDS[..]), bytes in any_bytes(), minutes in -899_i32..900
    ) {
        let sign = if minutes < 0 { '-' } else { '+' };
        let zone: Zone = format!("{sign}{:02}:{:02}", minutes.abs() / 60, minutes.abs() % 60).parse().unwrap();
        let value = kind.value(&bytes, zone);
        let _ = (value.time(), value.count(), value.seconds(), value.cursor(), value.name());
        if kind == Kind::Numeric && !is_well_formed(&bytes) {
            prop_assert_eq!(value.count(), Err(RecordFault::WrongType));
            prop_assert!(value.cursor().is_err() && value.time().is_err() && value.seconds().is_err());
        }
    }
}

#[test]
fn arbitrary_messages_are_read_or_refused_without_panic() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    proptest!(cases(20_000), |(bytes in any_messages(), chunk in 1_usize..9)| {
        runtime.block_on(async {
            let mut stream = MessageStream::new(Box::new(connection(&bytes, chunk)));
            let mut ranges = Vec::new();
            while let Ok(message) = stream.next_answer().await {
                if let ServerMessage::Row(row) = message
                    && message::values(row, &mut ranges).is_ok()
                {
                    prop_assert!(ranges.iter().flatten().all(|range| row.get(range.clone()).is_some()));
                }
            }
            Ok(())
        })?;
    });
}
