//! What well-known schedulers keep where: one data file each, and their loader.
//!
//! A file put into this folder is a preset; `CONTRIBUTING.md` says what stands in it.

mod file;
mod parameter;
#[cfg(test)]
mod properties;
mod reads;
#[cfg(test)]
mod tests;

use std::sync::{Arc, LazyLock};

use crate::lease::{Clock, Columns, Kind};
use crate::store::Statement;
use crate::store::keys::KeyLayout;

use parameter::Values;
use reads::Reads;

pub use parameter::{Identifier, KeyText, NoIdentifier, NoKeyText, Parameter, Takes, Value, ValueFault};
pub use reads::View;

/// What one scheduler keeps where, and how to read it.
#[derive(Clone, Debug)]
pub struct Preset {
    name: String,
    /// What holding a lease means there.
    pub kind: Kind,
    /// Whose clock wrote the times.
    pub clock: Clock,
    /// The columns of the reading contract that it returns.
    pub columns: Columns,
    /// The name of the only lease, where there is one that the statement names.
    pub lease: Option<Arc<str>>,
    /// What a person needs to know of it.
    pub about: About,
    /// What its user may say of their own tables and keys.
    pub parameters: Vec<Parameter>,
    reads: Vec<Reads>,
}

/// What a person needs to know of a preset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// What it is, in one line.
    pub description: String,
    /// What times without a zone mean there.
    pub zone: String,
    /// When a holder's time is up.
    pub freshness: String,
    /// How long that is after a renewal.
    pub ttl: String,
    /// Where the epoch comes from, and whether it can go backwards.
    pub epoch: String,
    /// What counts as progress.
    pub progress: String,
    /// What counts as due: the leader's own work, not that of the workers.
    pub due: String,
    /// What its user must supply, because no table tells it.
    pub supply: Vec<String>,
    /// What to know before believing it.
    pub caveats: Vec<String>,
    /// What an example should say of its leases, by the keys of a rule; the values are only examples.
    pub limits: Vec<(String, String)>,
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

    /// What an administrator says there before the grants of a preset, so that a user is there whom they can be given and
    /// names without a schema or database are those meant. What is in capitals is to be replaced.
    #[must_use]
    pub const fn before_grants(self) -> &'static str {
        match self {
            Self::Sqlite | Self::Redis => "",
            Self::Postgres => {
                "CREATE ROLE lease_exporter LOGIN PASSWORD 'PASSWORD';\n\
                 GRANT CONNECT ON DATABASE THE_DATABASE TO lease_exporter;\n\
                 GRANT USAGE ON SCHEMA THE_SCHEMA TO lease_exporter;\n\
                 SET search_path = THE_SCHEMA;\n"
            }
            Self::Mysql => {
                "CREATE USER lease_exporter IDENTIFIED BY 'PASSWORD';\n\
                 USE THE_DATABASE;\n"
            }
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

/// Every data file by its name without `.yml`, as `build.rs` finds them.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/presets.rs"));

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

    /// The parameter of this name.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|parameter| *parameter.name == *name)
    }

    /// The parameters that mean something in such a store.
    pub fn parameters_of(&self, dialect: Dialect) -> impl Iterator<Item = &Parameter> {
        let reads = self.reads(dialect);
        self.parameters.iter().filter(move |parameter| reads.is_some_and(|reads| reads.mentions(&parameter.name)))
    }

    /// The preset with these values for its parameters, and the default of every other.
    #[must_use]
    pub fn with<'a>(&'a self, given: impl IntoIterator<Item = (&'a str, Value)>) -> Filled<'a> {
        let defaults = self.parameters.iter().filter_map(|parameter| {
            let default = parameter.default.clone()?;
            Some((parameter.name.clone(), default))
        });
        let mut values: Values = defaults.collect();
        let given: Values = given.into_iter().map(|(name, value)| (name.into(), value)).collect();
        values.extend(given.clone());
        Filled { preset: self, given, values }
    }

    /// The statement that reads such a store, its parameters left open; `None` if the preset does not.
    #[must_use]
    pub fn sql(&self, dialect: Dialect) -> Option<&str> {
        self.reads(dialect)?.sql()
    }

    /// The least that the exporter's user must be allowed there, its parameters left open; `None` if the preset does not
    /// read it.
    #[must_use]
    pub fn grants(&self, dialect: Dialect) -> Option<&str> {
        self.reads(dialect).map(|reads| &*reads.grants)
    }

    /// What to ask of such a store, with the defaults of the parameters; `None` if the preset does not read it.
    #[must_use]
    pub fn statement(&self, dialect: Dialect) -> Option<Statement> {
        self.with([]).statement(dialect)
    }

    fn reads(&self, dialect: Dialect) -> Option<&Reads> {
        self.reads.iter().find(|reads| reads.dialect == dialect)
    }
}

/// A preset with values for its parameters.
#[derive(Clone, Debug)]
pub struct Filled<'a> {
    preset: &'a Preset,
    given: Values,
    values: Values,
}

impl Filled<'_> {
    /// The preset itself.
    #[must_use]
    pub const fn preset(&self) -> &Preset {
        self.preset
    }

    /// What an example shows for a parameter: what was given, or else what is best to see, or else the default.
    #[must_use]
    pub fn example<'b>(&'b self, parameter: &'b Parameter) -> Option<&'b Value> {
        let given = self.given.get(&parameter.name);
        given.or(parameter.example.as_ref()).or(parameter.default.as_ref())
    }

    /// What to ask of such a store; `None` if the preset does not read it, or it does not speak SQL.
    #[must_use]
    pub fn statement(&self, dialect: Dialect) -> Option<Statement> {
        self.preset.reads(dialect)?.statement(&self.values)
    }

    /// Where to look in such a store; `None` if the preset does not read it, or it speaks SQL.
    #[must_use]
    pub fn layout(&self, dialect: Dialect) -> Option<KeyLayout> {
        self.preset.reads(dialect)?.layout(&self.values)
    }

    /// What it needs and asks of such a store, for each version of what is stored.
    #[must_use]
    pub fn views(&self, dialect: Dialect) -> Vec<View> {
        self.preset.reads(dialect).map(|reads| reads.views(&self.values)).unwrap_or_default()
    }

    /// The statement whose answer names the version, where there are several.
    #[must_use]
    pub fn probe(&self, dialect: Dialect) -> Option<String> {
        self.preset.reads(dialect)?.probe(&self.values)
    }
}
