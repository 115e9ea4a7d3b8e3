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

/// Rows that the tables refuse on every store with SQL.
const INVALID_ROWS: [&str; 14] = [
    "INSERT INTO scheduler_lease VALUES (NULL, NULL, 1, NULL, NULL, NULL)",
    "INSERT INTO scheduler_lease VALUES ('', NULL, 1, NULL, NULL, NULL)",
    "INSERT INTO scheduler_lease VALUES ('a', NULL, 0, NULL, NULL, NULL)",
    "INSERT INTO scheduler_lease VALUES ('a', '', 1, 1, 1, 2)",
    "INSERT INTO scheduler_lease VALUES ('a', 'b', 1, 1, 1, NULL)",
    "INSERT INTO scheduler_lease VALUES ('a', 'b', 1, 1, 1, 1)",
    "INSERT INTO scheduler_lease VALUES ('a', 'b', 1, 'soon', 1, 2)",
    "INSERT INTO scheduler_progress VALUES ('a', 0, 1, 1)",
    "INSERT INTO scheduler_progress VALUES ('a', 1, NULL, 1)",
    "INSERT INTO scheduler_progress VALUES ('a', 1, 1, 0)",
    "INSERT INTO occurrence VALUES ('k', 'a', 'delete', 1, NULL, NULL, NULL)",
    "INSERT INTO occurrence VALUES ('k', 'a', 'plan_retention', NULL, NULL, NULL, NULL)",
    "INSERT INTO occurrence VALUES ('k', 'a', 'plan_retention', 1, 1, NULL, 'b')",
    "INSERT INTO occurrence VALUES ('k', 'a', 'plan_retention', 1, NULL, 1, NULL)",
];
