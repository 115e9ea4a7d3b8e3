//! Patterns for the keys of leases.

use super::glob::RedisGlob;

/// A pattern for the keys of leases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyPattern {
    /// A single key.
    One(Box<str>),
    /// Keys with a prefix and a suffix. The name of the lease is between them.
    Between {
        /// The prefix.
        prefix: Box<str>,
        /// The suffix.
        suffix: Box<str>,
    },
    /// Keys that a glob matches. The name of the lease is the whole key.
    Matching(RedisGlob),
}

impl KeyPattern {
    /// Parses a pattern in the syntax of Redis.
    pub(super) fn new(text: &str) -> Self {
        if !text.contains(['*', '?', '[']) {
            return Self::One(text.into());
        }
        match text.split_once('*') {
            Some((prefix, suffix)) if !prefix.contains(['?', '[', '\\']) && !suffix.contains(['*', '?', '[', '\\']) => {
                Self::Between { prefix: prefix.into(), suffix: suffix.into() }
            }
            _ => Self::Matching(RedisGlob::new(text)),
        }
    }

    /// The name of the lease of a key; `None` if the pattern does not match.
    pub(super) fn name<'k>(&self, key: &'k str) -> Option<&'k str> {
        match self {
            Self::One(one) => (**one == *key).then_some(key),
            Self::Between { prefix, suffix } => key.strip_prefix(&**prefix)?.strip_suffix(&**suffix),
            Self::Matching(glob) => glob.matches(key.as_bytes()).then_some(key),
        }
    }

    /// Whether it can match more than one key.
    pub(in crate::store) const fn is_many(&self) -> bool {
        !matches!(self, Self::One(_))
    }

    /// The pattern in the syntax of Redis.
    pub(in crate::store) fn text(&self) -> String {
        match self {
            Self::One(key) => key.to_string(),
            Self::Between { prefix, suffix } => format!("{prefix}*{suffix}"),
            Self::Matching(glob) => glob.text().to_owned(),
        }
    }
}
