//! The keys that belong to a lease beside its own.

use super::pattern::KeyPattern;

/// How a key is named after its lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyTemplate {
    /// It is not.
    Fixed(Box<str>),
    /// A part of it is taken from the lease.
    After {
        /// What comes before that.
        before: Box<str>,
        /// What it is.
        subject: Subject,
        /// What comes after that.
        after: Box<str>,
    },
}

/// What a template takes from the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The key.
    Key,
    /// The name.
    Name,
}

/// How many of a lease's words a template has, where that is more than one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SeveralSubjects;

impl KeyTemplate {
    /// The template that a text stands for: `{key}` and `{name}` are the lease's; other braces are braces.
    pub(super) fn new(text: &str) -> Result<Self, SeveralSubjects> {
        let found = [("{key}", Subject::Key), ("{name}", Subject::Name)]
            .into_iter()
            .filter_map(|(word, subject)| text.split_once(word).map(|(before, after)| (before, subject, after)));
        let mut found = found.collect::<Vec<_>>();
        match (found.pop(), found.pop()) {
            (None, _) => Ok(Self::Fixed(text.into())),
            (Some((before, subject, after)), None) if !after.contains("{key}") && !after.contains("{name}") => {
                Ok(Self::After { before: before.into(), subject, after: after.into() })
            }
            _ => Err(SeveralSubjects),
        }
    }

    /// The key for the lease of this key and name.
    pub(in crate::store) fn key(&self, lease_key: &str, name: &str) -> String {
        match self {
            Self::Fixed(key) => key.to_string(),
            Self::After { before, subject: Subject::Key, after } => [before, lease_key, after].concat(),
            Self::After { before, subject: Subject::Name, after } => [before, name, after].concat(),
        }
    }

    /// Whether a key is what this makes of some lease, there or not.
    pub(super) fn makes(&self, key: &str, leases: &KeyPattern) -> bool {
        match self {
            Self::Fixed(fixed) => **fixed == *key,
            Self::After { before, subject, after } => {
                let inner = key.strip_prefix(&**before).and_then(|rest| rest.strip_suffix(&**after));
                inner.is_some_and(|inner| match subject {
                    Subject::Key => leases.name(inner).is_some(),
                    Subject::Name => !inner.is_empty(),
                })
            }
        }
    }

    /// Whether every key of a lease would be taken for what this makes of another.
    pub(super) fn swallows(&self, leases: &KeyPattern) -> bool {
        match (self, leases) {
            (Self::Fixed(fixed), leases) => *leases == KeyPattern::One(fixed.clone()),
            (Self::After { before, subject: Subject::Key, after }, _) => before.is_empty() && after.is_empty(),
            (Self::After { before, after, .. }, KeyPattern::Between { prefix, suffix }) => {
                prefix.starts_with(&**before) && suffix.ends_with(&**after)
            }
            (Self::After { before, after, .. }, _) => before.is_empty() && after.is_empty(),
        }
    }
}
