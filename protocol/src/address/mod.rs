//! Addresses of stores.

mod server;
#[cfg(test)]
#[cfg(all(feature = "postgres", feature = "redis"))]
mod tests;

use std::fmt;
use std::path::PathBuf;

pub use server::{ServerAddress, Transport};
use store_address::{ServerUrl, UrlError};

/// Where a store is. Only its kind is printed.
#[derive(Clone, PartialEq, Eq)]
pub enum StoreAddress {
    /// An SQLite file.
    Sqlite(PathBuf),
    /// Tables on a PostgreSQL server.
    #[cfg(feature = "postgres")]
    Postgres {
        /// The server and database.
        server: ServerAddress,
        /// The schema of the tables; `None` for the user's default schema.
        schema: Option<String>,
    },
    /// Keys on a Redis or Valkey server.
    #[cfg(feature = "redis")]
    Redis {
        /// The server and database.
        server: ServerAddress,
        /// The prefix of every key.
        prefix: String,
    },
}

/// A URL that names no store. No message repeats any part of the URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidAddress {
    /// The URL contains a password.
    #[error("a password must not stand in it: put it into a password file")]
    Password,
    /// A password file was given for an SQLite file.
    #[error("an SQLite file has no password: leave out the password file")]
    PasswordOfFile,
    /// This build does not support the kind of store.
    #[error("this build leaves out that kind of store: build it with the cargo feature `{feature}`")]
    NotBuilt {
        /// The cargo feature that adds it.
        feature: &'static str,
    },
    /// The URL has none of the supported forms.
    #[error(
        "expected sqlite:///absolute/path or sqlite://relative/path, postgres://user@host:port/database, \
         or redis://user@host:port/number"
    )]
    Form,
}

impl From<UrlError> for InvalidAddress {
    fn from(error: UrlError) -> Self {
        if error == UrlError::Password { Self::Password } else { Self::Form }
    }
}

impl StoreAddress {
    /// Parses a URL: `sqlite:///path`, `postgres://user@host:port/database` or `redis://user@host:port/number`.
    ///
    /// Connections to PostgreSQL on another machine use TLS unless the URL ends in `?sslmode=disable`. Connections to
    /// Redis use TLS if the scheme is `rediss`. The server's password is read from `password_file` for each connection.
    ///
    /// # Errors
    /// If the URL names no store or contains a password.
    pub fn parse(url: &str, password_file: Option<PathBuf>) -> Result<Self, InvalidAddress> {
        let (scheme, rest) = url.split_once("://").ok_or(InvalidAddress::Form)?;
        match scheme {
            "sqlite" => {
                // The path is used as written, so that it may contain any character but `?`.
                let is_file = !rest.is_empty() && !rest.ends_with('/') && !rest.contains('?');
                match (is_file, password_file) {
                    (false, _) => Err(InvalidAddress::Form),
                    (true, Some(_)) => Err(InvalidAddress::PasswordOfFile),
                    (true, None) => Ok(Self::Sqlite(rest.into())),
                }
            }
            "postgres" | "postgresql" => {
                let url = ServerUrl::parse(url, 5432)?;
                let transport = match url.query.as_deref() {
                    Some("sslmode=disable") => Transport::Plain,
                    Some("sslmode=verify-full") => Transport::Tls,
                    None if url.host.is_local() => Transport::Plain,
                    None => Transport::Tls,
                    Some(_) => return Err(InvalidAddress::Form),
                };
                Self::postgres(ServerAddress::new(url, transport, password_file)?)
            }
            "redis" | "rediss" => {
                let url = ServerUrl::parse(url, 6379)?;
                let is_number = url.path.is_empty() || url.path.parse::<u16>().is_ok();
                if !is_number || url.query.is_some() {
                    return Err(InvalidAddress::Form);
                }
                let transport = if scheme == "rediss" { Transport::Tls } else { Transport::Plain };
                Self::redis(ServerAddress::new(url, transport, password_file)?)
            }
            _ => Err(InvalidAddress::Form),
        }
    }

    #[cfg(feature = "postgres")]
    fn postgres(server: ServerAddress) -> Result<Self, InvalidAddress> {
        Ok(Self::Postgres { server, schema: None })
    }

    #[cfg(not(feature = "postgres"))]
    fn postgres(_: ServerAddress) -> Result<Self, InvalidAddress> {
        Err(InvalidAddress::NotBuilt { feature: "postgres" })
    }

    #[cfg(feature = "redis")]
    fn redis(server: ServerAddress) -> Result<Self, InvalidAddress> {
        Ok(Self::Redis { server, prefix: crate::redis::DEFAULT_PREFIX.to_owned() })
    }

    #[cfg(not(feature = "redis"))]
    fn redis(_: ServerAddress) -> Result<Self, InvalidAddress> {
        Err(InvalidAddress::NotBuilt { feature: "redis" })
    }

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

    /// The same server, with the store in a schema or under a key prefix of this name. A file stays the same file.
    #[must_use]
    #[cfg_attr(
        not(any(feature = "postgres", feature = "redis")),
        expect(unused_variables, reason = "a file has no namespaces")
    )]
    pub fn with_namespace(self, name: &str) -> Self {
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
