//! Stores of leases: one folder for each kind, and what several kinds share.
//!
//! A store makes one [`Reading`] from one snapshot, with the store's own clock in it. The error of a failed read says who
//! has to act. A store knows nothing of states. [`kind`] has the list of kinds.

#[cfg(any(feature = "mysql", feature = "postgres", feature = "redis"))]
mod address;
mod column;
#[cfg(test)]
mod json_file;
pub mod kind;
mod limit;
#[cfg(feature = "mysql")]
pub mod mysql;
pub mod parameter;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(test)]
mod properties;
#[cfg(feature = "redis")]
pub mod redis;
mod rows;
pub mod section;
mod server;
mod server_keys;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod server_message;
#[cfg(any(feature = "mysql", feature = "postgres", feature = "redis"))]
mod server_store;
mod sql;
pub mod sqlite;
#[cfg(any(feature = "postgres", feature = "redis"))]
mod tcp;
#[cfg(any(feature = "postgres", feature = "redis"))]
mod tls;
#[cfg(any(feature = "mysql", feature = "postgres", feature = "redis"))]
mod transport;
mod zone;

#[cfg(all(test, feature = "mysql", feature = "postgres", feature = "redis"))]
mod address_tests;

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use thiserror::Error;
use tokio::time::Instant;

use crate::lease::{ReadFailure, Reading};

pub use limit::{RecordLimiter, Scope};
pub use server::{Host, Identity, Password, PasswordFile, Server, Tls};
pub use sql::Statement;
pub use zone::{SessionZone, Zone, ZoneFault};

/// What the future of a read gives.
pub type ReadResult = Result<Reading, ReadError>;

/// One source's store.
pub trait Store: fmt::Debug + Send {
    /// Reads everything of the source, from one snapshot.
    ///
    /// It gives up at `deadline`, and leaves nothing running that a later read would have to wait for.
    ///
    /// # Errors
    /// See [`ReadError`].
    fn read(&mut self, deadline: Instant) -> Pin<Box<dyn Future<Output = ReadResult> + Send + '_>>;
}

/// Why a source could not be read. Its text names columns and tables, and files that the configuration names beside the
/// store, at the most: never where the store is, a parameter or a value.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The store is not there or cannot be opened: for whoever runs it.
    #[error("{0}")]
    Unreachable(String),
    /// The store did not answer in time: for whoever runs it, or set `timeout`.
    #[error("{0}")]
    Timeout(String),
    /// The store answered with an error: for whoever grants access or looks after its health.
    #[error("{0}")]
    Refused(String),
    /// Tables or columns are not what the query or preset needs: for whoever wrote the configuration.
    #[error("{0}")]
    SchemaMismatch(String),
    /// The answer as a whole breaks the contract: for whoever wrote the query.
    #[error("{0}")]
    InvalidRecord(String),
}

impl ReadError {
    /// The closed name of this failure.
    #[must_use]
    pub const fn failure(&self) -> ReadFailure {
        match self {
            Self::Unreachable(_) => ReadFailure::Unreachable,
            Self::Timeout(_) => ReadFailure::Timeout,
            Self::Refused(_) => ReadFailure::Refused,
            Self::SchemaMismatch(_) => ReadFailure::SchemaMismatch,
            Self::InvalidRecord(_) => ReadFailure::InvalidRecord,
        }
    }
}
