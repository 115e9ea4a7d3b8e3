//! Presets on the tables and keys of the systems that they are for: what is stored, and the state and reason that must
//! show. Each row goes the exporter's own way, from the configuration over the store and memory to the judge.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests; the exemption in clippy.toml does not reach their helpers"
)]

mod airflow;
mod cases;
mod command;
mod db_scheduler;
mod grants;
mod quartz;
mod redbeat;
mod river;
mod shedlock;
mod source_reader;
mod zones;

use test_support as servers;
