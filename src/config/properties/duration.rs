//! Durations, compared with their sum in nanoseconds.

use std::time::Duration;

use proptest::prelude::*;

use crate::duration::{DurationFault, Zero, duration};
use crate::testing::{cases, hostile, mutation::mutated};

const UNITS: &[(&str, u128)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("sec", 1_000_000_000),
    ("m", 60_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("hr", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
    ("days", 86_400_000_000_000),
    ("w", 604_800_000_000_000),
];

const TOKENS: &[&str] = &[
    "M",
    "m",
    "ms",
    "us",
    "µs",
    "ns",
    "s",
    "h",
    "d",
    "w",
    "y",
    "Y",
    "month",
    " ",
    "-",
    "+",
    ".",
    "1.5h",
    "0",
    "99999999999999999999",
    "\u{a0}",
    "\u{661}",
];

fn texts() -> impl Strategy<Value = String> {
    let known = ["5m", "1h 30m", "500ms", "1M", "365d", "0s", "15"];
    prop_oneof![4 => mutated(&known, TOKENS), 1 => hostile::text()]
}

proptest! {
    #![proptest_config(cases(20_000))]

    #[test]
    fn duration_is_the_exact_sum_of_its_parts(
        parts in prop::collection::vec((0_u64..100_000, prop::sample::select(UNITS), "[ ]?"), 1..5),
        separator in prop::sample::select(&["", " "]),
    ) {
        let text: Vec<_> = parts.iter().map(|(number, (unit, _), space)| format!("{number}{space}{unit}")).collect();
        let text = text.join(separator);
        let nanos: u128 = parts.iter().map(|(number, (_, nanos), _)| u128::from(*number) * nanos).sum();
        let year = Duration::from_secs(365 * 86_400).as_nanos();
        let expected = match nanos {
            0 => Err(DurationFault::Zero),
            1..1_000_000 => Err(DurationFault::TooShort),
            _ if nanos > year => Err(DurationFault::TooLong),
            _ => Ok(Duration::from_nanos(u64::try_from(nanos).unwrap())),
        };
        prop_assert_eq!(duration(&text, Zero::Refused), expected.clone(), "{}", text);
        if let Ok(length) = expected {
            prop_assert_eq!(duration(&humantime::format_duration(length).to_string(), Zero::Refused), Ok(length));
        }
    }

    #[test]
    fn any_text_is_a_duration_within_the_limits_or_a_short_error(text in texts()) {
        for zero in [Zero::Allowed, Zero::Refused] {
            match duration(&text, zero) {
                Ok(Duration::ZERO) => prop_assert_eq!(zero, Zero::Allowed),
                Ok(length) => {
                    prop_assert!((Duration::from_millis(1)..=Duration::from_secs(365 * 86_400)).contains(&length));
                    prop_assert!(!text.contains('M'), "a month was taken for a minute: {text}");
                }
                Err(fault) => prop_assert!(fault.to_string().len() < 200, "{fault}"),
            }
        }
    }
}
