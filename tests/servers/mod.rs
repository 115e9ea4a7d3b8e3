//! Real servers for tests: PostgreSQL, MariaDB, Redis, Valkey, Prometheus and Alertmanager, private to the test process.
//!
//! ```ignore
//! let database = servers::postgres().database();          // one server a process, a database a test
//! database.execute("CREATE TABLE lease (name text)");     // as its owner; its reader may read it
//! let (url, password_file) = (database.url(), database.password_file());
//!
//! let server = Server::start(Kind::MariaDb, &["max_connections=10"]);   // one to break
//! server.freeze();
//!
//! let prometheus = Prometheus::start("global: { scrape_interval: 1s }", &[Path::new("alerts/lease.rules.yaml")]);
//! prometheus.api().query("up");
//! ```
//!
//! Each server keeps its data in a folder of its own, listens on a loopback port, and ends with its guard or with the test
//! process, however that ends: `supervise` sees to it. A kind of server that is not installed fails the test that needs it.
//!
//! Both the library's own tests and the end-to-end tests include this module, so it uses nothing of the crate.
#![allow(
    dead_code,
    unused_imports,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests; and what one of the two that include it does not use, the other does"
)]

mod alertmanager;
mod certificates;
mod database;
mod keyspace;
mod kind;
mod mariadb;
mod postgres;
mod programs;
mod prometheus;
mod redis;
mod server;
mod service;
mod supervisor;
mod web;

use std::sync::OnceLock;

pub(crate) use alertmanager::{Alertmanager, AlertmanagerApi, Received};
pub(crate) use certificates::{Certificate, Certificates};
pub(crate) use database::{Database, Login};
pub(crate) use keyspace::Keyspace;
pub(crate) use kind::{Kind, is_left_out, wanted};
pub(crate) use programs::find as program;
pub(crate) use prometheus::{Alert, Labels, Prometheus, PrometheusApi, Sample, Series, Target};
pub(crate) use server::{Server, free_port};

/// The PostgreSQL that the tests of this process share. Not for tests that break it.
pub(crate) fn postgres() -> &'static Server {
    static SHARED: OnceLock<Server> = OnceLock::new();
    SHARED.get_or_init(|| Server::start(Kind::Postgres, &["max_connections=200"]))
}

/// The MariaDB that the tests of this process share. Not for tests that break it.
pub(crate) fn mariadb() -> &'static Server {
    static SHARED: OnceLock<Server> = OnceLock::new();
    SHARED.get_or_init(|| Server::start(Kind::MariaDb, &[]))
}

/// The Redis that the tests of this process share. Not for tests that break it.
pub(crate) fn redis() -> &'static Server {
    static SHARED: OnceLock<Server> = OnceLock::new();
    SHARED.get_or_init(|| Server::start(Kind::Redis, &[]))
}

/// The Valkey that the tests of this process share. Not for tests that break it. See [`wanted`] too.
pub(crate) fn valkey() -> &'static Server {
    static SHARED: OnceLock<Server> = OnceLock::new();
    SHARED.get_or_init(|| Server::start(Kind::Valkey, &[]))
}

/// Tries until there is a value, for a minute at the most; nothing if there is none by then.
fn patiently<T>(mut attempt: impl FnMut() -> Option<T>) -> Option<T> {
    const PAUSE: std::time::Duration = std::time::Duration::from_millis(10);
    (0..6000).find_map(|_| {
        attempt().or_else(|| {
            std::thread::sleep(PAUSE);
            None
        })
    })
}
