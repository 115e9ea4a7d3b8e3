//! The keys of a source as a configuration or a preset writes them, and what can be wrong with that.

use serde::{Deserialize, Deserializer};

use super::{DueKey, Fields, KeyLayout, KeyPattern, KeyTemplate, Record};
use crate::duration::{DurationFault, Zero, duration};
use crate::lease::Column;

/// A text of a file, which may know where it stands.
pub trait Written {
    /// The text.
    fn text(&self) -> &str;
}

impl Written for String {
    fn text(&self) -> &str {
        self
    }
}

/// The keys as they are written. Nothing is checked but the names and shapes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, bound = "T: Deserialize<'de>")]
pub struct WrittenKeys<T> {
    /// Strings that go with their time to live: each holds its holder's name.
    #[serde(default, deserialize_with = "given")]
    pub lock: Option<T>,
    /// Hashes whose fields are named like the columns of the reading contract.
    #[serde(default, deserialize_with = "given")]
    pub hash: Option<T>,
    /// How long a lock lives after a renewal.
    #[serde(default, deserialize_with = "given")]
    pub ttl: Option<T>,
    /// A counter that grows with each acquisition of a lock.
    #[serde(default, deserialize_with = "given")]
    pub epoch: Option<T>,
    /// A hash with the progress made under a lock.
    #[serde(default, deserialize_with = "given")]
    pub progress: Option<T>,
    /// Which fields of a hash there are; every one that fits if not given.
    #[serde(default)]
    pub fields: Option<Vec<T>>,
    /// A sorted set of what waits, scored by when it falls due.
    #[serde(default, deserialize_with = "given")]
    pub due_set: Option<T>,
    /// A list of what is due.
    #[serde(default, deserialize_with = "given")]
    pub due_list: Option<T>,
    /// Whether work puts off what has the lowest score in `due_set`.
    #[serde(default, deserialize_with = "given")]
    pub progress_by_due: Option<T>,
}

/// A key that is there has a value.
fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// What is wrong with the keys of a source. Its text holds names of keys and columns, and never a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum KeyFault {
    /// No lease.
    #[error("`keys` does not say where the leases are; give it a `lock` or a `hash`")]
    NoLease,
    /// Two things that say the same.
    #[error("`{0}` and `{1}` exclude each other; leave one")]
    Both(&'static str, &'static str),
    /// A key that only makes sense beside another.
    #[error("`{key}` means nothing without `{without}`; add that or leave it out")]
    Without { key: &'static str, without: &'static str },
    /// The name of no key.
    #[error("`{0}` cannot be empty or longer than 1024 bytes; write the name of a key")]
    Name(&'static str),
    /// A length of time that cannot be used.
    #[error("`ttl` is no length of time; {0}")]
    Ttl(DurationFault),
    /// A word that is neither.
    #[error("`progress_by_due` is `true` or `false`")]
    Flag,
    /// A field that there is not.
    #[error("a hash has no such field here; those that are read are {known}")]
    Field { known: String },
    /// A field that is given twice, or that another key says.
    #[error("the field `{field}` is said twice; leave it out of `fields`, or leave out what else says it")]
    FieldTwice { field: &'static str },
    /// One key for all leases.
    #[error("`{key}` is the same key for all leases; put `{{key}}` or `{{name}}` into it")]
    Shared { key: &'static str },
    /// Several of a lease's words in one key.
    #[error("`{key}` has more than one of `{{key}}` and `{{name}}`; leave one")]
    Several { key: &'static str },
    /// A key that no lease could be told from.
    #[error("`{key}` names the keys of the leases themselves; name another key")]
    Swallows { key: &'static str },
}

/// What was found to be wrong, and with what text; `None` with the whole.
type Faults<'w, T> = Vec<(Option<&'w T>, KeyFault)>;

impl<T: Written> WrittenKeys<T> {
    const LONGEST: usize = 1_024;
    /// What a hash beside a lock may say.
    const OF_PROGRESS: [Column; 5] =
        [Column::ProgressAt, Column::ProgressEpoch, Column::ProgressCursor, Column::Due, Column::OldestDueAt];

    /// These keys with each text made into another.
    pub fn map<U>(&self, mut text: impl FnMut(&T) -> U) -> WrittenKeys<U> {
        let mut each = |written: &Option<T>| written.as_ref().map(&mut text);
        let (lock, hash, ttl, epoch) = (each(&self.lock), each(&self.hash), each(&self.ttl), each(&self.epoch));
        let (progress, due_set, due_list) = (each(&self.progress), each(&self.due_set), each(&self.due_list));
        let progress_by_due = each(&self.progress_by_due);
        let fields = self.fields.as_ref().map(|fields| fields.iter().map(text).collect());
        WrittenKeys { lock, hash, ttl, epoch, progress, fields, due_set, due_list, progress_by_due }
    }

    /// The layout that these describe.
    ///
    /// # Errors
    /// All that is wrong with them.
    pub fn layout(&self) -> Result<KeyLayout, Faults<'_, T>> {
        let mut check = Check { faults: Vec::new() };
        let layout = check.layout(self);
        match layout {
            Some(layout) if check.faults.is_empty() => Ok(layout),
            _ => Err(check.faults),
        }
    }
}

struct Check<'w, T> {
    faults: Faults<'w, T>,
}

impl<'w, T: Written> Check<'w, T> {
    fn layout(&mut self, keys: &'w WrittenKeys<T>) -> Option<KeyLayout> {
        let (key, lease) = match (&keys.lock, &keys.hash) {
            (Some(lock), None) => ("lock", lock),
            (None, Some(hash)) => ("hash", hash),
            (Some(_), Some(hash)) => return self.fault(Some(hash), KeyFault::Both("lock", "hash")),
            (None, None) => return self.fault(None, KeyFault::NoLease),
        };
        let leases = KeyPattern::new(self.name(key, lease)?);
        let due = self.due(keys, &leases);
        let record = if key == "lock" { self.lock(keys, &leases) } else { self.hash(keys) };
        Some(KeyLayout { leases, record: record?, due: due? })
    }

    fn lock(&mut self, keys: &'w WrittenKeys<T>, leases: &KeyPattern) -> Option<Record> {
        let ttl = keys.ttl.as_ref().and_then(|text| match duration(text.text(), Zero::Refused) {
            Ok(ttl) => Some(ttl),
            Err(fault) => self.fault(Some(text), KeyFault::Ttl(fault)),
        });
        let epoch = keys.epoch.as_ref().and_then(|text| self.template("epoch", text, leases));
        if let (None, Some(fields)) = (&keys.progress, &keys.fields) {
            let fault = KeyFault::Without { key: "fields", without: "progress" };
            return self.fault(fields.first(), fault);
        }
        if let (Some(_), Some(flag)) = (&keys.progress, &keys.progress_by_due) {
            return self.fault(Some(flag), KeyFault::Both("progress", "progress_by_due"));
        }
        let columns = self.fields(keys, &WrittenKeys::<T>::OF_PROGRESS)?;
        let progress = keys.progress.as_ref().and_then(|text| self.template("progress", text, leases));
        Some(Record::Lock { ttl, epoch, progress: progress.map(|key| Fields { key, columns }) })
    }

    fn hash(&mut self, keys: &'w WrittenKeys<T>) -> Option<Record> {
        for (key, text) in [("ttl", &keys.ttl), ("epoch", &keys.epoch), ("progress", &keys.progress)] {
            if let Some(text) = text {
                self.note(Some(text), KeyFault::Without { key, without: "lock" });
            }
        }
        let known = Column::ALL.into_iter().filter(|column| !matches!(column, Column::StoreNow | Column::Lease));
        self.fields(keys, &known.collect::<Vec<_>>()).map(Record::Hash)
    }

    /// The fields of a hash that are read, of those `known`.
    fn fields(&mut self, keys: &'w WrittenKeys<T>, known: &[Column]) -> Option<Box<[Column]>> {
        // What the key of what is due says already.
        let said: &[Column] = match (&keys.due_set, &keys.due_list, &keys.progress_by_due) {
            (Some(_), _, Some(flag)) if flag.text() == "true" => {
                &[Column::Due, Column::OldestDueAt, Column::ProgressCursor]
            }
            (Some(_), ..) => &[Column::Due, Column::OldestDueAt],
            (None, Some(_), _) => &[Column::Due],
            (None, None, _) => &[],
        };
        let Some(given) = &keys.fields else {
            return Some(known.iter().copied().filter(|column| !said.contains(column)).collect());
        };
        let mut columns = Vec::new();
        for text in given {
            match known.iter().find(|column| column.as_str() == text.text()) {
                None => {
                    let known = known.iter().map(|column| column.as_str()).collect::<Vec<_>>().join(", ");
                    self.note(Some(text), KeyFault::Field { known });
                }
                Some(column) if columns.contains(column) || said.contains(column) => {
                    self.note(Some(text), KeyFault::FieldTwice { field: column.as_str() });
                }
                Some(column) => columns.push(*column),
            }
        }
        Some(columns.into())
    }

    fn due(&mut self, keys: &'w WrittenKeys<T>, leases: &KeyPattern) -> Option<DueKey> {
        let is_cursor = match &keys.progress_by_due {
            None => false,
            Some(flag) if keys.due_set.is_none() => {
                return self.fault(Some(flag), KeyFault::Without { key: "progress_by_due", without: "due_set" });
            }
            Some(flag) => match flag.text() {
                "true" => true,
                "false" => false,
                _ => return self.fault(Some(flag), KeyFault::Flag),
            },
        };
        match (&keys.due_set, &keys.due_list) {
            (None, None) => Some(DueKey::Nowhere),
            (Some(set), None) => self.template("due_set", set, leases).map(|key| DueKey::Set { key, is_cursor }),
            (None, Some(list)) => self.template("due_list", list, leases).map(DueKey::List),
            (Some(_), Some(list)) => self.fault(Some(list), KeyFault::Both("due_set", "due_list")),
        }
    }

    fn template(&mut self, key: &'static str, text: &'w T, leases: &KeyPattern) -> Option<KeyTemplate> {
        match KeyTemplate::new(self.name(key, text)?) {
            Err(_) => self.fault(Some(text), KeyFault::Several { key }),
            Ok(KeyTemplate::Fixed(_)) if leases.is_many() => self.fault(Some(text), KeyFault::Shared { key }),
            Ok(template) if template.swallows(leases) => self.fault(Some(text), KeyFault::Swallows { key }),
            Ok(template) => Some(template),
        }
    }

    fn name(&mut self, key: &'static str, text: &'w T) -> Option<&'w str> {
        let fits = (1..=WrittenKeys::<T>::LONGEST).contains(&text.text().len());
        if fits { Some(text.text()) } else { self.fault(Some(text), KeyFault::Name(key)) }
    }

    fn note(&mut self, text: Option<&'w T>, fault: KeyFault) {
        self.faults.push((text, fault));
    }

    fn fault<V>(&mut self, text: Option<&'w T>, fault: KeyFault) -> Option<V> {
        self.note(text, fault);
        None
    }
}
