//! Names of further keys of a lease.

use super::pattern::KeyPattern;

/// A template for the name of a key of a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyTemplate {
    /// A fixed name.
    Fixed(Box<str>),
    /// A name with a part that is replaced.
    Derived {
        /// The text before the placeholder.
        before: Box<str>,
        /// The part of the lease that replaces the placeholder.
        part: LeasePart,
        /// The text after the placeholder.
        after: Box<str>,
    },
}

/// The part of a lease in a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeasePart {
    /// The key of the lease.
    Key,
    /// The name of the lease.
    Name,
}

/// The error for a template with more than one placeholder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SeveralPlaceholders;

impl KeyTemplate {
    /// Parses a template. `{key}` and `{name}` are placeholders; other braces have no meaning.
    pub(super) fn new(text: &str) -> Result<Self, SeveralPlaceholders> {
        let placeholders = [("{key}", LeasePart::Key), ("{name}", LeasePart::Name)]
            .into_iter()
            .filter_map(|(word, part)| text.split_once(word).map(|(before, after)| (before, part, after)));
        let mut placeholders = placeholders.collect::<Vec<_>>();
        match (placeholders.pop(), placeholders.pop()) {
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

    /// Whether the template gives this key for some lease, which need not exist.
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

    /// Whether the template can give the key of a lease itself.
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
