//! A store of whatever kind, by its address.

use super::address::StoreAddress;
#[cfg(feature = "postgres")]
use super::postgres::PostgresProtocol;
use super::protocol::{LeaseProtocol, ProtocolError};
#[cfg(feature = "redis")]
use super::redis::RedisProtocol;
use super::sqlite::SqliteProtocol;

/// A connection to a store of whatever kind. One to a server must not be used or dropped where a thread drives
/// asynchronous work.
pub type AnyProtocol = Box<dyn LeaseProtocol + Send>;

impl StoreAddress {
    /// Opens the store, after making whatever of it is not there.
    ///
    /// # Errors
    /// When it cannot be reached or written.
    pub fn create(&self) -> Result<AnyProtocol, ProtocolError> {
        match self {
            Self::Sqlite(path) => Ok(Box::new(SqliteProtocol::create(path)?)),
            #[cfg(feature = "postgres")]
            Self::Postgres { server, schema } => Ok(Box::new(PostgresProtocol::create(server, schema.as_deref())?)),
            #[cfg(feature = "redis")]
            Self::Redis { server, prefix } => Ok(Box::new(RedisProtocol::open(server, prefix)?)),
        }
    }

    /// Opens a store that is there.
    ///
    /// # Errors
    /// When it is not, or has other tables.
    pub fn open(&self) -> Result<AnyProtocol, ProtocolError> {
        match self {
            Self::Sqlite(path) => Ok(Box::new(SqliteProtocol::open(path)?)),
            #[cfg(feature = "postgres")]
            Self::Postgres { server, schema } => Ok(Box::new(PostgresProtocol::open(server, schema.as_deref())?)),
            #[cfg(feature = "redis")]
            Self::Redis { server, prefix } => Ok(Box::new(RedisProtocol::open(server, prefix)?)),
        }
    }

    /// Removes the schema, or all keys with the prefix, that [`within`](Self::within) chose. Of a file, and of what is
    /// in a user's own schema, nothing is removed.
    ///
    /// # Errors
    /// When the server cannot be reached or does not allow it.
    pub fn remove(&self) -> Result<(), ProtocolError> {
        match self {
            Self::Sqlite(_) => Ok(()),
            #[cfg(feature = "postgres")]
            Self::Postgres { schema: None, .. } => Ok(()),
            #[cfg(feature = "postgres")]
            Self::Postgres { server, schema: Some(schema) } => PostgresProtocol::remove(server, schema),
            #[cfg(feature = "redis")]
            Self::Redis { server, prefix } => RedisProtocol::remove(server, prefix),
        }
    }
}
