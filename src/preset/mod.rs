//! What well-known schedulers keep where: one data file each, and their loader.

mod file;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use crate::lease::{Clock, Columns, Kind};

/// What one scheduler keeps where, and how to read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preset {
    name: String,
    /// What it is, in one line.
    pub description: String,
    /// What holding a lease means there.
    pub kind: Kind,
    /// Whose clock wrote the times.
    pub clock: Clock,
    /// The columns of the reading contract that it returns.
    pub columns: Columns,
    /// What counts as due.
    pub due: String,
    /// What to know before believing it.
    pub caveats: Vec<String>,
    reads: Vec<Reads>,
}

/// How a preset reads one kind of store.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Reads {
    dialect: Dialect,
    grants: String,
    sql: String,
}

/// The language of a kind of store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite's SQL.
    Sqlite,
}

impl Dialect {
    /// Every one that this build reads.
    pub const ALL: [Self; 1] = [Self::Sqlite];

    /// Its name in data files and errors.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
        }
    }
}

/// Every data file by its name without `.yml`. A test holds this list and the folder against each other.
const FILES: [(&str, &str); 1] = [("reference", include_str!("reference.yml"))];

/// The files are part of the program, and a test proves that each can be read; one that could not would be missing.
static PRESETS: LazyLock<Vec<Preset>> =
    LazyLock::new(|| FILES.iter().filter_map(|(name, text)| file::read(name, text).ok()).collect());

impl Preset {
    /// Every preset, by name.
    #[must_use]
    pub fn all() -> &'static [Self] {
        &PRESETS
    }

    /// The preset of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::all().iter().find(|preset| preset.name == name)
    }

    /// Its name, as a configuration gives it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The kinds of store that it can read.
    pub fn dialects(&self) -> impl Iterator<Item = Dialect> {
        self.reads.iter().map(|reads| reads.dialect)
    }

    /// The statement that reads such a store; `None` if it does not.
    #[must_use]
    pub fn sql(&self, dialect: Dialect) -> Option<&str> {
        self.reads(dialect).map(|reads| &*reads.sql)
    }

    /// The least that the exporter's user must be allowed there.
    #[must_use]
    pub fn grants(&self, dialect: Dialect) -> Option<&str> {
        self.reads(dialect).map(|reads| &*reads.grants)
    }

    fn reads(&self, dialect: Dialect) -> Option<&Reads> {
        self.reads.iter().find(|reads| reads.dialect == dialect)
    }
}
