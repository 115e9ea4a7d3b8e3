//! Parameters become parts of SQL statements and of keys. No accepted value can inject anything there.

use proptest::prelude::*;

use super::parameter::{ParameterType, Value};
use crate::testing::{cases, hostile, mutation::mutated};

const TOKENS: &[&str] = &[
    "'", "\"", "`", ";", "--", "/*", "*/", "\\", "{", "}", "{table}", "*", "?", "[", " ", "\n", "\0", ".", "$1", "$$",
    "_", "0", "\u{ff07}", "\u{e9}", "OR 1=1", "true", "TRUE", "1ms", "5m",
];

fn texts() -> impl Strategy<Value = String> {
    let known = ["qrtz_", "APP_", "redbeat:", "90s", "true", "false", "1h 30m"];
    let durations = "[0-9]{1,7} ?(us|ms|s|m|h|d)";
    prop_oneof![4 => mutated(&known, TOKENS), 1 => hostile::text(), 1 => durations]
}

proptest! {
    #![proptest_config(cases(10_000))]

    #[test]
    fn accepted_parameter_is_an_identifier_a_duration_a_flag_or_a_literal_key(text in texts()) {
        for takes in ParameterType::ALL {
            let value = match Value::parse(takes, &text) {
                Ok(value) => value,
                Err(fault) => {
                    prop_assert!(fault.to_string().len() < 300);
                    continue;
                }
            };
            let (sql, written) = (value.in_sql(), value.to_string());
            prop_assert_eq!(Value::parse(takes, &written), Ok(value.clone()), "{}", written);
            match takes {
                ParameterType::Identifier => {
                    prop_assert!(!sql.is_empty() && sql.len() <= 63 && !sql.as_bytes()[0].is_ascii_digit());
                    prop_assert!(sql.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric()), "{sql}");
                    prop_assert_eq!(sql, text.clone());
                }
                ParameterType::Flag => prop_assert_eq!((sql.to_lowercase(), written), (text.clone(), text.clone())),
                ParameterType::Duration => {
                    let Value::Duration(length) = value else { unreachable!() };
                    prop_assert!(sql.bytes().all(|byte| byte == b'.' || byte.is_ascii_digit()), "{sql}");
                    let seconds: f64 = sql.parse().unwrap();
                    prop_assert!((seconds - length.as_secs_f64()).abs() < 1e-6, "{sql} for {length:?}");
                }
                ParameterType::Text => {
                    let special =
                        |letter: char| letter.is_whitespace() || letter.is_control() || "*?[]{}\\".contains(letter);
                    prop_assert!(!sql.contains(special) && sql == text, "{sql}");
                }
            }
        }
    }
}
