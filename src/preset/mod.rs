//! What well-known schedulers keep where: one data file each, and their loader.

mod file;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use crate::lease::{Clock, Columns, Kind};
use crate::store::Statement;

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
    /// PostgreSQL's SQL.
    Postgres,
    /// The SQL of MySQL and MariaDB.
    Mysql,
    /// The keys of Redis and Valkey.
    Redis,
}

impl Dialect {
    /// Every one that there is.
    pub const ALL: [Self; 4] = [Self::Sqlite, Self::Postgres, Self::Mysql, Self::Redis];

    /// Its name in data files and errors, and that of the cargo feature that builds it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::Mysql => "mysql",
            Self::Redis => "redis",
        }
    }

    /// Whether this build reads it.
    #[must_use]
    pub const fn is_built(self) -> bool {
        match self {
            Self::Sqlite => true,
            Self::Postgres => cfg!(feature = "postgres"),
            Self::Mysql => cfg!(feature = "mysql"),
            Self::Redis => cfg!(feature = "redis"),
        }
    }

    /// The port that such a server listens on unless told otherwise; 0 for a file.
    #[must_use]
    pub const fn default_port(self) -> u16 {
        match self {
            Self::Sqlite => 0,
            Self::Postgres => 5432,
            Self::Mysql => 3306,
            Self::Redis => 6379,
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

    /// What to ask of such a store; `None` if it does not read it.
    #[must_use]
    pub fn statement(&self, dialect: Dialect) -> Option<Statement> {
        self.sql(dialect).map(|sql| Statement::Fixed(sql.into()))
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
