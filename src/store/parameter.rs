//! The parameters of a preset, which users set to fit their tables and keys, such as a prefix or a limit.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use humantime::format_duration;

use crate::duration::{DurationFault, Zero, duration};

/// A parameter, which a source sets under `parameters`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The name.
    pub name: Box<str>,
    /// The type of its value.
    pub takes: ParameterType,
    /// The value if the source sets none. Without a default the source must set one.
    pub default: Option<Value>,
    /// The value in an example, if it is to differ from the default.
    pub example: Option<Value>,
    /// The meaning, in one line.
    pub means: Box<str>,
}

/// The type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterType {
    /// A name in SQL, or the beginning of one.
    Identifier,
    /// A length of time.
    Duration,
    /// A part of a key. Never a part of SQL.
    Text,
    /// `true` or `false`.
    Flag,
}

impl ParameterType {
    /// All types.
    pub const ALL: [Self; 4] = [Self::Identifier, Self::Duration, Self::Text, Self::Flag];

    /// The name of the type in data files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Identifier => "identifier",
            Self::Duration => "duration",
            Self::Text => "text",
            Self::Flag => "flag",
        }
    }
}

/// The value of a parameter. It can be inserted into a statement or a key without changing the rest of it, if
/// [`Value::parse`] made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A name in SQL.
    Identifier(Box<str>),
    /// A length of time.
    Duration(Duration),
    /// A part of a key.
    Text(Box<str>),
    /// `true` or `false`.
    Flag(bool),
}

/// Why a text is not a value of a parameter, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueFault {
    /// The text is not a name in SQL.
    #[error("write letters, digits and `_`, up to {MAX_IDENTIFIER} of them and no digit first")]
    Identifier,
    /// The text is not a part of a key.
    #[error("write up to {MAX_KEY_TEXT} bytes, without spaces and without any of *?[]{{}}\\")]
    Text,
    /// The text is not a length of time.
    #[error(transparent)]
    Duration(#[from] DurationFault),
    /// The text is neither `true` nor `false`.
    #[error("write `true` or `false`")]
    Flag,
}

/// The shortest limit for names among the servers: that of PostgreSQL.
const MAX_IDENTIFIER: usize = 63;
const MAX_KEY_TEXT: usize = 256;

impl Value {
    /// Reads a value.
    ///
    /// # Errors
    /// The text is not a value of this type.
    pub fn parse(takes: ParameterType, text: &str) -> Result<Self, ValueFault> {
        match takes {
            ParameterType::Identifier if is_identifier(text) => Ok(Self::Identifier(text.into())),
            ParameterType::Identifier => Err(ValueFault::Identifier),
            ParameterType::Text if is_key_text(text) => Ok(Self::Text(text.into())),
            ParameterType::Text => Err(ValueFault::Text),
            ParameterType::Duration => Ok(Self::Duration(duration(text, Zero::Refused)?)),
            ParameterType::Flag => text.parse().map(Self::Flag).map_err(|_| ValueFault::Flag),
        }
    }

    /// The value as SQL writes it, a length of time in seconds. Presets whose SQL has a parameter of type `text` are refused.
    pub(crate) fn in_sql(&self) -> String {
        match self {
            Self::Duration(length) => match (length.as_secs(), length.subsec_nanos()) {
                (seconds, 0) => seconds.to_string(),
                (seconds, nanos) if nanos % 1_000_000 == 0 => format!("{seconds}.{:03}", nanos / 1_000_000),
                (seconds, nanos) => format!("{seconds}.{nanos:09}"),
            },
            Self::Flag(flag) => if *flag { "TRUE" } else { "FALSE" }.to_owned(),
            Self::Identifier(_) | Self::Text(_) => self.to_string(),
        }
    }
}

/// As a configuration writes it.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Duration(length) => fmt::Display::fmt(&format_duration(*length), f),
            Self::Identifier(text) | Self::Text(text) => f.write_str(text),
            Self::Flag(flag) => fmt::Display::fmt(flag, f),
        }
    }
}

/// Whether a text is a name that needs no quotes in SQL, or the beginning of one.
fn is_identifier(text: &str) -> bool {
    text.len() <= MAX_IDENTIFIER
        && text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Whether a text is a part of a key without wildcards or placeholders.
fn is_key_text(text: &str) -> bool {
    let odd = |letter: char| letter.is_control() || letter.is_whitespace() || "*?[]{}\\".contains(letter);
    text.len() <= MAX_KEY_TEXT && !text.contains(odd)
}

/// Values by the name of their parameter.
pub type Values = BTreeMap<Box<str>, Value>;

/// The names between braces in a text.
pub(crate) fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    text.split('{').skip(1).map(|after| after.split_once('}').map_or(after, |(name, _)| name))
}

/// The text with each of these names in braces replaced by its value.
pub(crate) fn fill<'a>(text: &str, values: impl IntoIterator<Item = (&'a str, String)>) -> String {
    values.into_iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), &value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_is_nothing_that_could_end_a_name() {
        for good in ["qrtz_", "QRTZ_", "_", "a1", &"x".repeat(63)] {
            assert!(Value::parse(ParameterType::Identifier, good).is_ok(), "{good}");
        }
        for bad in ["", "1a", "a b", "a;", "a.b", "a-b", "a\"", "ä", "a'", "a--", "a\n", &"x".repeat(64)] {
            assert_eq!(Value::parse(ParameterType::Identifier, bad), Err(ValueFault::Identifier), "{bad}");
        }
    }

    #[test]
    fn a_part_of_a_key_matches_no_other_key() {
        for good in ["", "redbeat:", "app:{1}".trim_end_matches("{1}"), "ä:"] {
            assert!(Value::parse(ParameterType::Text, good).is_ok(), "{good}");
        }
        for bad in ["a*", "a?", "[a]", "{a}", "a\\", "a b", "a\n", &"x".repeat(257)] {
            assert_eq!(Value::parse(ParameterType::Text, bad), Err(ValueFault::Text), "{bad}");
        }
    }

    #[test]
    fn values_are_written_as_sql_and_as_configurations_write_them() {
        for (value, sql, written) in [
            (Value::Duration(Duration::from_secs(90)), "90", "1m 30s"),
            (Value::Duration(Duration::from_millis(1_500)), "1.500", "1s 500ms"),
            (Value::Duration(Duration::from_micros(1_002)), "0.001002000", "1ms 2us"),
            (Value::Flag(true), "TRUE", "true"),
            (Value::Identifier("QRTZ_".into()), "QRTZ_", "QRTZ_"),
        ] {
            assert_eq!((value.in_sql().as_str(), value.to_string().as_str()), (sql, written));
        }
    }
}
