//! The keys that belong to a lease beside its own.

use super::pattern::KeyPattern;

/// How a key is named after its lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyTemplate {
    /// It is not.
    Fixed(Box<str>),
    /// A part of it is taken from the lease.
    Derived {
        /// What comes before that.
        before: Box<str>,
        /// What it is.
        part: LeasePart,
        /// What comes after that.
        after: Box<str>,
    },
}

/// What a template takes from the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeasePart {
    /// The key.
    Key,
    /// The name.
    Name,
}

/// How many of a lease's words a template has, where that is more than one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SeveralPlaceholders;

impl KeyTemplate {
    /// The template that a text stands for: `{key}` and `{name}` are the lease's; other braces are braces.
    pub(super) fn new(text: &str) -> Result<Self, SeveralPlaceholders> {
        let found = [("{key}", LeasePart::Key), ("{name}", LeasePart::Name)]
            .into_iter()
            .filter_map(|(word, part)| text.split_once(word).map(|(before, after)| (before, part, after)));
        let mut found = found.collect::<Vec<_>>();
        match (found.pop(), found.pop()) {
            (None, _) => Ok(Self::Fixed(text.into())),
            (Some((before, part, after)), None) if !after.contains("{key}") && !after.contains("{name}") => {
                Ok(Self::Derived { before: before.into(), part, after: after.into() })
            }
            _ => Err(SeveralPlaceholders),
        }
    }

    /// The key for the lease of this key and name.
    pub(in crate::store) fn key(&self, lease_key: &str, name: &str) -> String {
        match self {
            Self::Fixed(key) => key.to_string(),
            Self::Derived { before, part: LeasePart::Key, after } => [before, lease_key, after].concat(),
            Self::Derived { before, part: LeasePart::Name, after } => [before, name, after].concat(),
        }
    }

    /// Whether a key is what this makes of some lease, there or not.
    pub(super) fn makes(&self, key: &str, leases: &KeyPattern) -> bool {
        match self {
            Self::Fixed(fixed) => **fixed == *key,
            Self::Derived { before, part, after } => {
                let inner = key.strip_prefix(&**before).and_then(|rest| rest.strip_suffix(&**after));
                inner.is_some_and(|inner| match part {
                    LeasePart::Key => leases.name(inner).is_some(),
                    LeasePart::Name => !inner.is_empty(),
                })
            }
        }
    }

    /// Whether every key of a lease would be taken for what this makes of another.
    pub(super) fn swallows(&self, leases: &KeyPattern) -> bool {
        match (self, leases) {
            (Self::Fixed(fixed), leases) => *leases == KeyPattern::One(fixed.clone()),
            (Self::Derived { before, part: LeasePart::Key, after }, _) => before.is_empty() && after.is_empty(),
            (Self::Derived { before, after, .. }, KeyPattern::Between { prefix, suffix }) => {
                prefix.starts_with(&**before) && suffix.ends_with(&**after)
            }
            (Self::Derived { before, after, .. }, _) => before.is_empty() && after.is_empty(),
        }
    }
}
