//! The names of the keys that are leases.

use super::glob::RedisGlob;

/// Which keys are leases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyPattern {
    /// This one.
    One(Box<str>),
    /// Those that begin and end like this. What is between is the lease's name.
    Between {
        /// How they begin.
        prefix: Box<str>,
        /// How they end.
        suffix: Box<str>,
    },
    /// Those that a pattern matches. The whole key is the lease's name.
    Matching(RedisGlob),
}

impl KeyPattern {
    /// The pattern that a text stands for, in the store's own language.
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

    /// The name of the lease under a key; `None` if the pattern does not match.
    pub(super) fn name<'k>(&self, key: &'k str) -> Option<&'k str> {
        match self {
            Self::One(one) => (**one == *key).then_some(key),
            Self::Between { prefix, suffix } => key.strip_prefix(&**prefix)?.strip_suffix(&**suffix),
            Self::Matching(glob) => glob.matches(key.as_bytes()).then_some(key),
        }
    }

    /// Whether there may be more than one such key.
    pub(in crate::store) const fn is_many(&self) -> bool {
        !matches!(self, Self::One(_))
    }

    /// The pattern as the store reads it.
    pub(in crate::store) fn text(&self) -> String {
        match self {
            Self::One(key) => key.to_string(),
            Self::Between { prefix, suffix } => format!("{prefix}*{suffix}"),
            Self::Matching(glob) => glob.text().to_owned(),
        }
    }
}
