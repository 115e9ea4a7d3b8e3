//! Real servers for tests: PostgreSQL, MariaDB, Redis, Valkey, Prometheus and Alertmanager, private to the test process.
//!
//! ```text
//! let database = test_support::postgres().database();     // one server for the process, one database for the test
//! database.execute("CREATE TABLE lease (name text)");     // as its owner; its reader may read it
//! let (url, password_file) = (database.url(), database.password_file());
//!
//! let server = Server::start(Kind::MariaDb, &["max_connections=10"]);   // a server of the test, which it may break
//! server.freeze();
//!
//! let prometheus = Prometheus::start("global: { scrape_interval: 1s }", &[Path::new("alerts/lease.rules.yaml")]);
//! prometheus.api().query("up");
//! ```
//!
//! Each server keeps its data in a private folder and listens on a loopback port. It ends with its guard or with the test
//! process, however that ends: the script `supervise` watches the process. A test fails if its server is not installed.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "this package is used by tests only"
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

pub use alertmanager::{Alertmanager, AlertmanagerApi, Received};
pub use certificates::{Certificate, Certificates};
pub use database::{Database, Login};
pub use keyspace::Keyspace;
pub use kind::{Kind, is_left_out, wanted};
pub use programs::find as program;
pub use prometheus::{Alert, Labels, Prometheus, PrometheusApi, Sample, Series, Target};
pub use server::{Server, free_port};

/// The PostgreSQL server that the tests of this process share. A test must not break it.
pub fn postgres() -> &'static Server {
    static SHARED: OnceLock<Server> = OnceLock::new();
    SHARED.get_or_init(|| Server::start(Kind::Postgres, &["max_connections=200"]))
}

/// The MariaDB server that the tests of this process share. A test must not break it.
pub fn mariadb() -> &'static Server {
    static SHARED: OnceLock<Server> = OnceLock::new();
    SHARED.get_or_init(|| Server::start(Kind::MariaDb, &[]))
}

/// The Redis server that the tests of this process share. A test must not break it.
pub fn redis() -> &'static Server {
    static SHARED: OnceLock<Server> = OnceLock::new();
    SHARED.get_or_init(|| Server::start(Kind::Redis, &[]))
}

/// The Valkey server that the tests of this process share. A test must not break it. See also [`wanted`].
pub fn valkey() -> &'static Server {
    static SHARED: OnceLock<Server> = OnceLock::new();
    SHARED.get_or_init(|| Server::start(Kind::Valkey, &[]))
}

/// Repeats an attempt until it returns a value, for at most a minute.
fn patiently<T>(mut attempt: impl FnMut() -> Option<T>) -> Option<T> {
    const PAUSE: std::time::Duration = std::time::Duration::from_millis(10);
    (0..6000).find_map(|_| {
        attempt().or_else(|| {
            std::thread::sleep(PAUSE);
            None
        })
    })
}
