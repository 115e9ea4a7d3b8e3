//! The section `keys` of a source or a preset, made into a layout.

use super::{DueKey, Fields, KeyLayout, KeyPattern, KeyTemplate, Record};
use crate::duration::{Zero, duration};
use crate::lease::Column;
use crate::store::section::{KeySet, KeySpec, Section, Shape, Text};

const ALL: [KeySpec; 9] = [
    // Strings that expire: each holds the name of the holder.
    KeySpec::text("lock"),
    // Hashes whose fields are named like the columns of the reading contract.
    KeySpec::text("hash"),
    // How long a lock lives after a renewal.
    KeySpec::text("ttl"),
    // A counter that grows with each acquisition of a lock.
    KeySpec::text("epoch"),
    // A hash with the progress made under a lock.
    KeySpec::text("progress"),
    // The fields of a hash to read; by default all known fields.
    KeySpec { name: "fields", shape: Shape::List },
    // A sorted set of work, scored by when it falls due.
    KeySpec::text("due_set"),
    // A list of due work.
    KeySpec::text("due_list"),
    // Whether work reschedules the entry with the lowest score in `due_set`.
    KeySpec::text("progress_by_due"),
];

pub(in crate::store::redis) const KEYS: KeySet = KeySet::new(&ALL, &KeySpec::names(&ALL));

/// The longest name of a key, in bytes.
const MAX_NAME: usize = 1_024;

/// The fields that a hash beside a lock may have.
const PROGRESS_COLUMNS: [Column; 5] =
    [Column::ProgressAt, Column::ProgressEpoch, Column::ProgressCursor, Column::Due, Column::OldestDueAt];

/// A problem with the section. Its message names keys and columns, and never a value.
#[derive(Debug)]
pub(in crate::store::redis) struct KeyFault<'a> {
    /// The text at fault; `None` if it is the section as a whole.
    pub(in crate::store::redis) text: Option<&'a Text>,
    pub(in crate::store::redis) message: String,
}

impl KeyLayout {
    /// The layout that a section describes.
    ///
    /// # Errors
    /// All that is wrong with the section.
    pub(in crate::store::redis) fn of_section(keys: &Section) -> Result<Self, Vec<KeyFault<'_>>> {
        let mut parser = LayoutParser { keys, faults: Vec::new() };
        match parser.layout() {
            Some(layout) if parser.faults.is_empty() => Ok(layout),
            _ => Err(parser.faults),
        }
    }
}

struct LayoutParser<'a> {
    keys: &'a Section,
    faults: Vec<KeyFault<'a>>,
}

impl<'a> LayoutParser<'a> {
    fn layout(&mut self) -> Option<KeyLayout> {
        let (key, lease) = match (self.text("lock"), self.text("hash")) {
            (Some(lock), None) => ("lock", lock),
            (None, Some(hash)) => ("hash", hash),
            (Some(_), Some(hash)) => return self.exclude(hash, "lock", "hash"),
            (None, None) => {
                return self.fail(None, "`keys` does not say where the leases are; give it a `lock` or a `hash`");
            }
        };
        let leases = KeyPattern::new(self.name(key, lease)?);
        let due = self.due(&leases);
        let record = if key == "lock" { self.lock(&leases) } else { self.hash() };
        Some(KeyLayout { leases, record: record?, due: due? })
    }

    fn lock(&mut self, leases: &KeyPattern) -> Option<Record> {
        let ttl = self.text("ttl").and_then(|text| match duration(&text.value, Zero::Refused) {
            Ok(ttl) => Some(ttl),
            Err(fault) => self.fail(Some(text), format!("`ttl` is no length of time; {fault}")),
        });
        let epoch = self.text("epoch").and_then(|text| self.template("epoch", text, leases));
        let progress = self.text("progress");
        if let (None, Some(fields)) = (progress, self.keys.list("fields")) {
            return self.require(fields.first(), "fields", "progress");
        }
        if let (Some(_), Some(flag)) = (progress, self.text("progress_by_due")) {
            return self.exclude(flag, "progress", "progress_by_due");
        }
        let columns = self.fields(&PROGRESS_COLUMNS)?;
        let progress = progress.and_then(|text| self.template("progress", text, leases));
        Some(Record::Lock { ttl, epoch, progress: progress.map(|key| Fields { key, columns }) })
    }

    fn hash(&mut self) -> Option<Record> {
        for key in ["ttl", "epoch", "progress"] {
            if let Some(text) = self.text(key) {
                self.require::<()>(Some(text), key, "lock");
            }
        }
        let known = Column::ALL.into_iter().filter(|column| !matches!(column, Column::StoreNow | Column::Lease));
        self.fields(&known.collect::<Vec<_>>()).map(Record::Hash)
    }

    /// The fields of a hash that are read, of those `known`.
    fn fields(&mut self, known: &[Column]) -> Option<Box<[Column]>> {
        // The columns that the key of due work gives already.
        let by_due = self.text("progress_by_due").is_some_and(|flag| flag.value == "true");
        let given_by_due: &[Column] = match (self.text("due_set"), self.text("due_list")) {
            (Some(_), _) if by_due => &[Column::Due, Column::OldestDueAt, Column::ProgressCursor],
            (Some(_), _) => &[Column::Due, Column::OldestDueAt],
            (None, Some(_)) => &[Column::Due],
            (None, None) => &[],
        };
        let Some(fields) = self.keys.list("fields") else {
            return Some(known.iter().copied().filter(|column| !given_by_due.contains(column)).collect());
        };
        let mut columns = Vec::new();
        for text in fields {
            match known.iter().find(|column| column.as_str() == text.value) {
                None => {
                    let known = known.iter().map(|column| column.as_str()).collect::<Vec<_>>().join(", ");
                    self.note(Some(text), format!("a hash has no such field here; those that are read are {known}"));
                }
                Some(column) if columns.contains(column) || given_by_due.contains(column) => self.note(
                    Some(text),
                    format!(
                        "the field `{column}` is said twice; leave it out of `fields`, or leave out what else says it"
                    ),
                ),
                Some(column) => columns.push(*column),
            }
        }
        Some(columns.into())
    }

    fn due(&mut self, leases: &KeyPattern) -> Option<DueKey> {
        let (set, list) = (self.text("due_set"), self.text("due_list"));
        let is_cursor = match self.text("progress_by_due") {
            None => false,
            Some(flag) if set.is_none() => return self.require(Some(flag), "progress_by_due", "due_set"),
            Some(flag) => match &*flag.value {
                "true" => true,
                "false" => false,
                _ => return self.fail(Some(flag), "`progress_by_due` is `true` or `false`"),
            },
        };
        match (set, list) {
            (None, None) => Some(DueKey::Absent),
            (Some(set), None) => self.template("due_set", set, leases).map(|key| DueKey::Set { key, is_cursor }),
            (None, Some(list)) => self.template("due_list", list, leases).map(DueKey::List),
            (Some(_), Some(list)) => self.exclude(list, "due_set", "due_list"),
        }
    }

    fn template(&mut self, key: &str, text: &'a Text, leases: &KeyPattern) -> Option<KeyTemplate> {
        let message = match KeyTemplate::new(self.name(key, text)?) {
            Err(_) => format!("`{key}` has more than one of `{{key}}` and `{{name}}`; leave one"),
            Ok(KeyTemplate::Fixed(_)) if leases.is_many() => {
                format!("`{key}` is the same key for all leases; put `{{key}}` or `{{name}}` into it")
            }
            Ok(template) if template.swallows(leases) => {
                format!("`{key}` names the keys of the leases themselves; name another key")
            }
            Ok(template) => return Some(template),
        };
        self.fail(Some(text), message)
    }

    fn name(&mut self, key: &str, text: &'a Text) -> Option<&'a str> {
        if (1..=MAX_NAME).contains(&text.value.len()) {
            return Some(&text.value);
        }
        self.fail(Some(text), format!("`{key}` cannot be empty or longer than 1024 bytes; write the name of a key"))
    }

    fn text(&self, key: &str) -> Option<&'a Text> {
        self.keys.text(key)
    }

    fn exclude<T>(&mut self, text: &'a Text, one: &str, other: &str) -> Option<T> {
        self.fail(Some(text), format!("`{one}` and `{other}` exclude each other; leave one"))
    }

    fn require<T>(&mut self, text: Option<&'a Text>, key: &str, without: &str) -> Option<T> {
        self.fail(text, format!("`{key}` means nothing without `{without}`; add that or leave it out"))
    }

    fn note(&mut self, text: Option<&'a Text>, message: impl Into<String>) {
        self.faults.push(KeyFault { text, message: message.into() });
    }

    fn fail<T>(&mut self, text: Option<&'a Text>, message: impl Into<String>) -> Option<T> {
        self.note(text, message);
        None
    }
}
