//! The reference lease protocol and a synthetic scheduler that follows it.
//!
//! The protocol ([`protocol`], with the rules ALEASE-101 to 107) says how schedulers share a lease so that exactly one
//! leads, and a former leader's late write is refused. [`SqliteProtocol`] is its reference implementation; on servers
//! there are `PostgresProtocol` and `RedisProtocol`, each with the cargo feature of its store, and a [`StoreAddress`]
//! opens any of them. [`Instance`] is a scheduler with made-up work: it plans retention that nobody carries out.
//! [`start`] runs one in real time. The demo and the tests use all this; the exporter does not, and this imports nothing
//! of the exporter.

pub mod protocol;

mod address;
mod authority;
#[cfg(test)]
mod contract;
mod event;
mod instance;
mod occurrence;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
mod run;
mod sqlite;
mod statements;
mod store;
mod stored;
mod timing;
mod virtual_clock;

pub use address::{InvalidAddress, ServerAddress, StoreAddress, Transport};
pub use authority::{Epoch, InstanceToken, InvalidToken, InvalidTtl, StoreTime, Ttl};
pub use event::Event;
pub use instance::Instance;
pub use occurrence::{Backlog, Fencing, MaintenanceAction, Occurrence};
#[cfg(feature = "postgres")]
pub use postgres::PostgresProtocol;
pub use protocol::{LeaseProtocol, ProtocolError, StoreCode};
#[cfg(feature = "redis")]
pub use redis::RedisProtocol;
pub use run::{Panicked, Running, start};
pub use sqlite::{SCHEMA, SqliteProtocol};
pub use statements::Statements;
pub use store::AnyProtocol;
pub use timing::{InvalidTiming, Timing};
pub use virtual_clock::VirtualClock;
