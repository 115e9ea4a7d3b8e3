//! The protocol on each store. The tests of PostgreSQL, Redis and Valkey start these servers.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests; the exemption in clippy.toml does not reach their helpers"
)]

mod contract;
#[path = "../../examples/lease.rs"]
mod example;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
mod sqlite;
