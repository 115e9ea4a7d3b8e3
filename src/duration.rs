//! Parsing of durations such as `5m`, `1h 30m` and `500ms`.

use std::time::Duration;

/// Why a text is not a valid duration. The message says what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationFault {
    /// A number without a unit.
    #[error("a number needs a unit, such as `{0}s` or `{0}m`")]
    NoUnit(String),
    /// A month, which is usually meant to be a minute.
    #[error("`{0}M` is a month; for minutes write `{0}m`")]
    Month(String),
    /// Any other syntax error.
    #[error("write a number and a unit, such as `30s`, `5m` or `1h 30m`")]
    Unreadable,
    /// Zero, where it has no meaning.
    #[error("it must be longer than zero")]
    Zero,
    /// Less than a millisecond.
    #[error("it must be at least `1ms`")]
    TooShort,
    /// More than a year.
    #[error("it must be at most 365 days")]
    TooLong,
    /// A `reuse_for` so long that outdated states would be served.
    #[error(
        "it must be at most `1m`: scrapes this close together share one reading, and more would serve old states; leave it out or shorten it"
    )]
    TooOld,
}

/// Whether zero is a valid value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Zero {
    Refused,
    Allowed,
}

const MIN: Duration = Duration::from_millis(1);
const MAX: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Parses a duration.
pub(crate) fn duration(text: &str, zero: Zero) -> Result<Duration, DurationFault> {
    let text = text.trim();
    // A very long number is not repeated in the message, here and below.
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(if text.len() < 8 { DurationFault::NoUnit(text.into()) } else { DurationFault::Unreadable });
    }
    let duration = humantime::parse_duration(text).map_err(|_| DurationFault::Unreadable)?;
    if let Some(number) = months(text) {
        return Err(if number.len() < 8 { DurationFault::Month(number.into()) } else { DurationFault::Unreadable });
    }
    match duration {
        Duration::ZERO if zero == Zero::Allowed => Ok(duration),
        Duration::ZERO => Err(DurationFault::Zero),
        _ if duration < MIN => Err(DurationFault::TooShort),
        _ if duration > MAX => Err(DurationFault::TooLong),
        _ => Ok(duration),
    }
}

/// The number before the unit `M`, which is a month.
fn months(text: &str) -> Option<&str> {
    let before = text[..text.find('M')?].trim_end();
    let number = before.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    Some(&before[number.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed_with_their_units() {
        for (text, seconds) in [
            ("5s", 5.0),
            ("1h 30m", 5400.0),
            ("1h30m", 5400.0),
            ("500ms", 0.5),
            ("1w", 604_800.0),
            ("365d", 31_536_000.0),
        ] {
            assert_eq!(duration(text, Zero::Refused), Ok(Duration::from_secs_f64(seconds)), "{text}");
        }
    }

    #[test]
    fn months_bare_numbers_zero_and_years_are_refused() {
        use DurationFault::{Month, NoUnit, TooLong, TooShort, Unreadable};
        for (text, fault) in [
            ("1M", Month("1".into())),
            ("1h 15M", Month("15".into())),
            ("0s", DurationFault::Zero),
            ("0", NoUnit("0".into())),
            ("5", NoUnit("5".into())),
            ("00000000000000000001M", Unreadable),
            ("99999999999999999999", Unreadable),
            ("99999999999999999999s", Unreadable),
            ("-1s", Unreadable),
            ("1m30", Unreadable),
            ("", Unreadable),
            ("soon", Unreadable),
            ("1y", TooLong),
            ("366d", TooLong),
            ("5ns", TooShort),
        ] {
            assert_eq!(duration(text, Zero::Refused), Err(fault), "{text}");
        }
    }

    #[test]
    fn zero_is_allowed_only_where_it_has_a_meaning() {
        assert_eq!(duration("0s", Zero::Allowed), Ok(Duration::ZERO));
        assert_eq!(duration("0", Zero::Allowed), Err(DurationFault::NoUnit("0".into())));
    }
}
