//! Where leases are in a store of keys and values.

mod glob;
mod pattern;
mod preset;
#[cfg(test)]
mod properties;
mod section;
mod template;
#[cfg(test)]
pub(in crate::store) mod tests;

use std::time::Duration;

use crate::lease::Column;

pub use pattern::KeyPattern;
pub(super) use preset::{PRESET_KEYS, PresetKeys};
pub(super) use section::KEYS;
pub use template::KeyTemplate;

/// Which keys hold leases, of what type their values are, and which other keys belong to each lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyLayout {
    pub(in crate::store::redis) leases: KeyPattern,
    pub(in crate::store::redis) record: Record,
    pub(in crate::store::redis) due: DueKey,
}

/// The type of the value under the key of a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::store::redis) enum Record {
    /// A string with a time to live: the name of the holder.
    Lock {
        /// The time to live after a renewal.
        ttl: Option<Duration>,
        /// The key of a counter that grows with each acquisition.
        epoch: Option<KeyTemplate>,
        /// The hash with progress.
        progress: Option<Fields>,
    },
    /// A hash with these fields.
    Hash(Box<[Column]>),
}

/// A hash beside the lease's key, whose fields are named like columns of the reading contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::store::redis) struct Fields {
    pub(in crate::store::redis) key: KeyTemplate,
    pub(in crate::store::redis) columns: Box<[Column]>,
}

/// The key of due work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::store::redis) enum DueKey {
    /// There is none, or a field of a hash has the number.
    Absent,
    /// A sorted set. The scores are the Unix seconds at which entries fall due.
    Set {
        key: KeyTemplate,
        /// Whether work reschedules the entry with the lowest score, so that a higher score of the entry is progress.
        is_cursor: bool,
    },
    /// A list of due work.
    List(KeyTemplate),
}

impl KeyLayout {
    /// Whether a pattern names the leases, and not one key the only one.
    #[must_use]
    pub const fn has_many_leases(&self) -> bool {
        self.leases.is_many()
    }

    /// The columns of the reading contract that such keys give.
    #[must_use]
    pub fn columns(&self) -> Vec<Column> {
        let mut columns = vec![Column::StoreNow, Column::Lease];
        match &self.record {
            Record::Lock { ttl, epoch, progress } => {
                columns.extend([Column::Holder, Column::ExpiresAt]);
                columns.extend(ttl.map(|_| Column::RenewedAt));
                columns.extend(epoch.as_ref().map(|_| Column::Epoch));
                columns.extend(progress.iter().flat_map(|progress| &progress.columns));
            }
            Record::Hash(fields) => {
                columns.extend(fields);
                // Without a field for it, the time to live tells.
                if !fields.contains(&Column::ExpiresAt) {
                    columns.push(Column::ExpiresAt);
                }
            }
        }
        match &self.due {
            DueKey::Absent => {}
            DueKey::Set { is_cursor, .. } => {
                columns.extend([Column::Due, Column::OldestDueAt]);
                columns.extend(is_cursor.then_some(Column::ProgressCursor));
            }
            DueKey::List(_) => columns.push(Column::Due),
        }
        columns
    }

    /// Whether due work is counted up to a time.
    pub(in crate::store::redis) const fn counts_due(&self) -> bool {
        matches!(self.due, DueKey::Set { .. })
    }

    /// The further keys of a lease.
    fn beside(&self) -> impl Iterator<Item = &KeyTemplate> {
        let (epoch, progress) = match &self.record {
            Record::Lock { epoch, progress, .. } => (epoch.as_ref(), progress.as_ref().map(|progress| &progress.key)),
            Record::Hash(_) => (None, None),
        };
        let due = match &self.due {
            DueKey::Absent => None,
            DueKey::Set { key, .. } | DueKey::List(key) => Some(key),
        };
        [epoch, progress, due].into_iter().flatten()
    }

    /// The name of the lease under a key that the pattern matched; `None` if the key belongs to another lease.
    pub(in crate::store::redis) fn lease_name<'k>(&self, key: &'k str) -> Option<&'k str> {
        let name = self.leases.name(key)?;
        let belongs = self.beside().any(|template| template.makes(key, &self.leases));
        (!belongs).then_some(name)
    }
}
