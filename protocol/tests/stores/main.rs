//! The protocol on each store. The tests of PostgreSQL, Redis and Valkey start these servers.
#![allow(missing_docs, reason = "tests")]

mod contract;
#[path = "../../examples/lease.rs"]
mod example;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
mod sqlite;
