//! What the user of a preset may say of their own tables and keys: a name, a prefix, a limit.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use humantime::format_duration;

use crate::duration::{DurationFault, Zero, duration};

/// One thing that a source may say under `parameters`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: Box<str>,
    /// What values it takes.
    pub takes: Takes,
    /// What it is when the source does not say; without one the source must.
    pub default: Option<Value>,
    /// What to show in an example, where that is better than the default.
    pub example: Option<Value>,
    /// What it means, in one line.
    pub means: Box<str>,
}

/// What values a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// A name in SQL, or the beginning of one.
    Identifier,
    /// A length of time.
    Duration,
    /// A part of a key. Never a part of SQL.
    Text,
    /// Yes or no.
    Flag,
}

impl Takes {
    /// Every one that there is.
    pub const ALL: [Self; 4] = [Self::Identifier, Self::Duration, Self::Text, Self::Flag];

    /// Its name in data files.
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

/// The value of a parameter. None can say more in a statement or a key than it should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A name in SQL.
    Identifier(Identifier),
    /// A length of time.
    Duration(Duration),
    /// A part of a key.
    Text(KeyText),
    /// Yes or no.
    Flag(bool),
}

/// Why a text is no value of a parameter. Each says what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueFault {
    /// No name in SQL.
    #[error(transparent)]
    Identifier(#[from] NoIdentifier),
    /// No part of a key.
    #[error(transparent)]
    Text(#[from] NoKeyText),
    /// No length of time.
    #[error(transparent)]
    Duration(#[from] DurationFault),
    /// Neither yes nor no.
    #[error("write `true` or `false`")]
    Flag,
}

impl Value {
    /// Reads a value.
    ///
    /// # Errors
    /// The text is none.
    pub fn parse(takes: Takes, text: &str) -> Result<Self, ValueFault> {
        match takes {
            Takes::Identifier => Ok(Self::Identifier(text.parse()?)),
            Takes::Text => Ok(Self::Text(text.parse()?)),
            Takes::Duration => Ok(Self::Duration(duration(text, Zero::Refused)?)),
            Takes::Flag => text.parse().map(Self::Flag).map_err(|_| ValueFault::Flag),
        }
    }

    /// As SQL writes it: lengths of time as seconds. A text never gets into SQL: a test proves it of every data file.
    pub(super) fn in_sql(&self) -> String {
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
            Self::Identifier(Identifier(name)) => f.write_str(name),
            Self::Duration(length) => fmt::Display::fmt(&format_duration(*length), f),
            Self::Text(KeyText(text)) => f.write_str(text),
            Self::Flag(flag) => fmt::Display::fmt(flag, f),
        }
    }
}

/// A name that needs no quotes in SQL, or the beginning of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identifier(Box<str>);

/// What is no such name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write letters, digits and `_`, up to {} of them and no digit first", Identifier::LONGEST)]
pub struct NoIdentifier;

impl Identifier {
    /// As long as the shorter-winded of the servers lets a name be.
    const LONGEST: usize = 63;
}

impl FromStr for Identifier {
    type Err = NoIdentifier;

    fn from_str(text: &str) -> Result<Self, NoIdentifier> {
        let plain = text.len() <= Self::LONGEST
            && text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if plain { Ok(Self(text.into())) } else { Err(NoIdentifier) }
    }
}

/// A part of a key that stands for itself alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyText(Box<str>);

/// What is no part of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write up to {} bytes, without spaces and without any of *?[]{{}}\\", KeyText::LONGEST)]
pub struct NoKeyText;

impl KeyText {
    const LONGEST: usize = 256;
}

impl FromStr for KeyText {
    type Err = NoKeyText;

    fn from_str(text: &str) -> Result<Self, NoKeyText> {
        let odd = |letter: char| letter.is_control() || letter.is_whitespace() || "*?[]{}\\".contains(letter);
        if text.len() <= Self::LONGEST && !text.contains(odd) { Ok(Self(text.into())) } else { Err(NoKeyText) }
    }
}

/// The values that hold for one source, by the name of their parameter.
pub(super) type Values = BTreeMap<Box<str>, Value>;

/// The names between braces in a text.
pub(super) fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    text.split('{').skip(1).map(|after| after.split_once('}').map_or(after, |(name, _)| name))
}

/// The text with each of these names in braces replaced by what it stands for.
pub(super) fn filled<'a>(text: &str, stands_for: impl IntoIterator<Item = (&'a str, String)>) -> String {
    stands_for.into_iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), &value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_is_nothing_that_could_end_a_name() {
        for good in ["qrtz_", "QRTZ_", "_", "a1", &"x".repeat(63)] {
            assert!(good.parse::<Identifier>().is_ok(), "{good}");
        }
        for bad in ["", "1a", "a b", "a;", "a.b", "a-b", "a\"", "ä", "a'", "a--", "a\n", &"x".repeat(64)] {
            assert_eq!(bad.parse::<Identifier>(), Err(NoIdentifier), "{bad}");
        }
    }

    #[test]
    fn a_part_of_a_key_matches_no_other_key() {
        for good in ["", "redbeat:", "app:{1}".trim_end_matches("{1}"), "ä:"] {
            assert!(good.parse::<KeyText>().is_ok(), "{good}");
        }
        for bad in ["a*", "a?", "[a]", "{a}", "a\\", "a b", "a\n", &"x".repeat(257)] {
            assert_eq!(bad.parse::<KeyText>(), Err(NoKeyText), "{bad}");
        }
    }

    #[test]
    fn values_are_written_as_sql_and_as_configurations_write_them() {
        for (value, sql, written) in [
            (Value::Duration(Duration::from_secs(90)), "90", "1m 30s"),
            (Value::Duration(Duration::from_millis(1_500)), "1.500", "1s 500ms"),
            (Value::Duration(Duration::from_micros(1_002)), "0.001002000", "1ms 2us"),
            (Value::Flag(true), "TRUE", "true"),
            (Value::Identifier(Identifier("QRTZ_".into())), "QRTZ_", "QRTZ_"),
        ] {
            assert_eq!((value.in_sql().as_str(), value.to_string().as_str()), (sql, written));
        }
    }
}
