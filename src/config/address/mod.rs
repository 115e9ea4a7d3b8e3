//! Where a store is, as its address says.

#[cfg(feature = "redis")]
mod redis;
mod server;
mod sqlite;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use crate::preset::Dialect;
use crate::store::Host;

use super::problem::Problem;
use crate::diagnostic::QuotedValue;

/// Where a store is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Address {
    /// An SQLite file.
    Sqlite(PathBuf),
    /// A database of a server that speaks SQL.
    Database {
        /// Which SQL.
        dialect: Dialect,
        /// Where the server listens.
        host: Host,
        /// The user to read as.
        user: Option<Box<str>>,
        /// The database.
        name: Box<str>,
    },
    /// A numbered database of a server of keys and values.
    #[cfg(feature = "redis")]
    Redis {
        /// Whether connections are protected.
        protected: bool,
        /// Where the server is.
        place: crate::store::redis::Place,
        /// The user to read as.
        user: Option<Box<str>>,
        /// The database's number.
        database: u32,
    },
}

/// The schemes that there are and what they name; `None` for those that no build reads yet.
const SCHEMES: [(&str, Option<Dialect>); 16] = [
    ("sqlite", Some(Dialect::Sqlite)),
    ("postgres", Some(Dialect::Postgres)),
    ("postgresql", Some(Dialect::Postgres)),
    ("mysql", Some(Dialect::Mysql)),
    ("mariadb", Some(Dialect::Mysql)),
    ("redis", Some(Dialect::Redis)),
    ("rediss", Some(Dialect::Redis)),
    ("redis+sentinel", Some(Dialect::Redis)),
    ("rediss+sentinel", Some(Dialect::Redis)),
    ("valkey", Some(Dialect::Redis)),
    ("valkeys", Some(Dialect::Redis)),
    ("valkey+sentinel", Some(Dialect::Redis)),
    ("valkeys+sentinel", Some(Dialect::Redis)),
    ("etcd", None),
    ("kubernetes", None),
    ("kubernetes+https", None),
];

impl Address {
    /// The language that the store is read in.
    pub(super) const fn dialect(&self) -> Dialect {
        match self {
            Self::Sqlite(_) => Dialect::Sqlite,
            Self::Database { dialect, .. } => *dialect,
            #[cfg(feature = "redis")]
            Self::Redis { .. } => Dialect::Redis,
        }
    }

    /// Reads an address; a relative path starts at `base_dir`.
    pub(super) fn parse(text: &str, base_dir: &Path) -> Result<Self, Problem> {
        // Of an SQLite file no password is ever needed, so it is told apart before secrets are looked for.
        if let Some(rest) = text.strip_prefix("sqlite://").or_else(|| (text == "sqlite:").then_some("")) {
            return sqlite::path(rest, base_dir).map(Self::Sqlite).map_err(Problem::SqliteAddress);
        }
        if has_secret(text) {
            return Err(Problem::SecretInAddress);
        }
        let scheme = match text.split_once("://") {
            Some((scheme, _)) => scheme,
            // A cluster is where its own configuration says, so nothing need follow.
            None => text.strip_suffix(':').filter(|scheme| !scheme.contains(':')).ok_or(Problem::NoScheme)?,
        };
        match SCHEMES.into_iter().find(|(known, _)| *known == scheme) {
            #[cfg(feature = "redis")]
            Some((scheme, Some(Dialect::Redis))) => redis::keyspace(scheme, text),
            Some((_, Some(dialect))) if dialect.is_built() => server::database(dialect, text),
            Some((scheme, Some(dialect))) => Err(Problem::FeatureOff { scheme, feature: dialect.as_str() }),
            Some((scheme, None)) => Err(Problem::SchemeNotBuilt { scheme, known: known() }),
            None => Err(Problem::Scheme { scheme: QuotedValue::new(scheme), known: known() }),
        }
    }
}

/// The kinds of store that this build reads.
fn known() -> String {
    let built = Dialect::ALL.into_iter().filter(|dialect| dialect.is_built());
    built.map(|dialect| format!("`{}`", dialect.as_str())).collect::<Vec<_>>().join(", ")
}

/// Whether a user's name and a password stand before an `@`.
fn names_user(text: &str) -> bool {
    text.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
}

/// Whether the address of what may have a password, well formed or not, holds what looks like a password.
fn has_secret(text: &str) -> bool {
    const NAMES: [&str; 7] = ["pass", "pwd", "secret", "token", "key=", "auth=", "credential"];
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    let parameters = match rest.split_once(['?', '#']) {
        Some((_, parameters)) => parameters,
        // Without a scheme it may be a list of parameters and nothing else.
        None if scheme.is_empty() && rest.contains('=') => rest,
        None => "",
    };
    let parameters = parameters.to_ascii_lowercase();
    names_user(rest) || NAMES.iter().any(|name| parameters.contains(name))
}
