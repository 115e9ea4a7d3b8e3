//! Stores of leases: one folder for each kind, and what several kinds share.
//!
//! A store makes one [`Reading`] from one snapshot, with the store's own clock in it. The error of a failed read says who
//! has to act. A store knows nothing of states. [`kinds`] lists them.

#[cfg_attr(
    not(all(feature = "mysql", feature = "postgres", feature = "redis")),
    allow(dead_code, reason = "a build that leaves a kind of store out has no use for its parts")
)]
mod address;
mod column;
pub mod kind;
pub mod kinds;
mod limit;
#[cfg(feature = "mysql")]
pub mod mysql;
pub mod parameter;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(test)]
mod properties;
pub mod query;
#[cfg(feature = "redis")]
pub mod redis;
mod rows;
pub mod section;
mod server;
#[cfg_attr(
    not(all(feature = "mysql", feature = "postgres", feature = "redis")),
    allow(dead_code, reason = "a build that leaves a kind of store out has no use for its parts")
)]
mod server_keys;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod server_message;
#[cfg(any(feature = "mysql", feature = "postgres", feature = "redis"))]
mod server_store;
mod sql;
pub mod sqlite;
#[cfg(any(feature = "postgres", feature = "redis"))]
mod tcp;
#[cfg(test)]
mod testing;
#[cfg(any(feature = "postgres", feature = "redis"))]
mod tls;
#[cfg(any(feature = "mysql", feature = "postgres", feature = "redis"))]
mod transport;
mod zone;

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

/// The result of a read.
pub type ReadResult = Result<Reading, ReadError>;

/// One source's store.
pub trait Store: fmt::Debug + Send {
    /// Reads all leases of the source from one snapshot.
    ///
    /// The read ends at `deadline`, and leaves nothing running that a later read would have to wait for.
    ///
    /// # Errors
    /// See [`ReadError`].
    fn read(&mut self, deadline: Instant) -> Pin<Box<dyn Future<Output = ReadResult> + Send + '_>>;
}

/// Why a source could not be read. The text may name columns, tables, and files that the configuration names beside the
/// store. It never has the store's address, a parameter or a value.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The store cannot be reached or opened. The operator of the store has to act.
    #[error("{0}")]
    Unreachable(String),
    /// The store did not answer in time. The operator of the store has to act, or `timeout` is too short.
    #[error("{0}")]
    Timeout(String),
    /// The store answered with an error. The administrator of the store has to act.
    #[error("{0}")]
    Refused(String),
    /// Tables or columns are not those that the query or preset needs. The configuration has to change.
    #[error("{0}")]
    SchemaMismatch(String),
    /// The result as a whole breaks the reading contract. The query has to change.
    #[error("{0}")]
    InvalidRecord(String),
}

impl ReadError {
    /// The kind of failure, which is the value of a label.
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
