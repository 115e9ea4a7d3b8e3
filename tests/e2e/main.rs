//! End-to-end tests: the program runs as a process and is asked over HTTP.
//!
//! Every test has a folder of its own and ports that the system gives, and ends the processes that it started even when
//! it fails. Nothing waits for a fixed time where it can wait for what it needs.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests; the exemption in clippy.toml does not reach their helpers"
)]

mod alerts;
mod build;
mod changes;
mod command;
mod concurrency;
mod contract;
mod dashboard;
mod demo_on_servers;
mod documentation;
#[path = "../exposition/mod.rs"]
mod exposition;
mod faults;
mod files;
mod formats;
mod harness;
mod invalid_rows;
mod kubernetes;
mod limits;
mod log;
mod mysql;
mod packaging;
mod page;
mod postgres;
mod preset;
mod proxy;
mod readings;
mod redis;
mod reload;
mod rollout;
mod schedulers;
mod schedulers_on_servers;
mod secrets;
mod server_faults;
mod soak;
mod terminal;
mod test_servers;
mod web;

use test_support as servers;
