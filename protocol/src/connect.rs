//! Opens the store at an address.

#[cfg(feature = "postgres")]
use crate::PostgresProtocol;
#[cfg(feature = "redis")]
use crate::RedisProtocol;
use crate::{LeaseProtocol, ProtocolError, SqliteProtocol, StoreAddress};

/// A connection to a store of any kind. Connections to servers block: do not use or drop one on a thread of an async
/// runtime.
pub type BoxedProtocol = Box<dyn LeaseProtocol + Send>;

impl StoreAddress {
    /// Opens the store and creates its file, schema and tables if they do not exist.
    ///
    /// # Errors
    /// If the store cannot be reached or written.
    pub fn create(&self) -> Result<BoxedProtocol, ProtocolError> {
        match self {
            Self::Sqlite(path) => Ok(Box::new(SqliteProtocol::create(path)?)),
            #[cfg(feature = "postgres")]
            Self::Postgres { server, schema } => Ok(Box::new(PostgresProtocol::create(server, schema.as_deref())?)),
            #[cfg(feature = "redis")]
            Self::Redis { server, prefix } => Ok(Box::new(RedisProtocol::open(server, prefix)?)),
        }
    }

    /// Opens an existing store.
    ///
    /// # Errors
    /// If the store does not exist or does not have the tables of the protocol.
    pub fn open(&self) -> Result<BoxedProtocol, ProtocolError> {
        match self {
            Self::Sqlite(path) => Ok(Box::new(SqliteProtocol::open(path)?)),
            #[cfg(feature = "postgres")]
            Self::Postgres { server, schema } => Ok(Box::new(PostgresProtocol::open(server, schema.as_deref())?)),
            #[cfg(feature = "redis")]
            Self::Redis { server, prefix } => Ok(Box::new(RedisProtocol::open(server, prefix)?)),
        }
    }

    /// Drops the schema, or deletes all keys with the prefix, that [`with_namespace`](Self::with_namespace) chose. Does
    /// nothing for a file or a user's default schema.
    ///
    /// # Errors
    /// If the server cannot be reached or denies it.
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
