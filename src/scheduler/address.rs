//! Where a store is: what a URL says, and nothing secret.

mod server;
mod url;

use std::fmt;
use std::path::PathBuf;

pub use server::{ServerAddress, Transport};
pub use url::InvalidAddress;

/// What precedes every key unless told otherwise.
#[cfg(feature = "redis")]
pub(super) const KEY_PREFIX: &str = "scheduler:";

/// Where a store is. Only its kind is ever printed.
#[derive(Clone, PartialEq, Eq)]
pub enum StoreAddress {
    /// An SQLite file.
    Sqlite(PathBuf),
    /// Tables on a PostgreSQL server.
    #[cfg(feature = "postgres")]
    Postgres {
        /// Which server and database.
        server: ServerAddress,
        /// The schema that they are in; the user's own if none is given.
        schema: Option<String>,
    },
    /// Keys on a Redis or Valkey server.
    #[cfg(feature = "redis")]
    Redis {
        /// Which server and database.
        server: ServerAddress,
        /// What each of them begins with.
        prefix: String,
    },
}

impl StoreAddress {
    /// The server; `None` for a file.
    #[must_use]
    pub fn server(&self) -> Option<&ServerAddress> {
        match self {
            Self::Sqlite(_) => None,
            #[cfg(feature = "postgres")]
            Self::Postgres { server, .. } => Some(server),
            #[cfg(feature = "redis")]
            Self::Redis { server, .. } => Some(server),
        }
    }

    /// The same server, in a schema or under a prefix of this name. A file stays the same file.
    #[must_use]
    #[cfg_attr(
        not(any(feature = "postgres", feature = "redis")),
        expect(unused_variables, reason = "a file needs no name")
    )]
    pub fn within(self, name: &str) -> Self {
        match self {
            Self::Sqlite(path) => Self::Sqlite(path),
            #[cfg(feature = "postgres")]
            Self::Postgres { server, .. } => Self::Postgres { server, schema: Some(name.to_owned()) },
            #[cfg(feature = "redis")]
            Self::Redis { server, .. } => Self::Redis { server, prefix: format!("{name}:") },
        }
    }
}

impl fmt::Debug for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sqlite(_) => "<sqlite>",
            #[cfg(feature = "postgres")]
            Self::Postgres { .. } => "<postgres>",
            #[cfg(feature = "redis")]
            Self::Redis { .. } => "<redis>",
        })
    }
}
