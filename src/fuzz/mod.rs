//! Fuzz targets: whatever reads bytes that somebody else wrote, given far more of them than anyone would write by hand.
//!
//! A target is a test named after it, in a module `fuzz` beside what it tries. Its inputs are made with structure, or are
//! mutations of files that are there; what it asserts is what a plain second implementation says, or that nothing is
//! lost on the way there and back, and not only that nothing panics.
//!
//! `cargo test` runs a fixed number of cases of each, the same ones each time, so that a change has one verdict.
//! `make fuzz TARGET=accept MINUTES=10` runs one for longer, on other cases each time. What that finds is put into
//! `tests/fuzz/` by its seed, from where it is tried first from then on; once mended it becomes a case of an ordinary
//! test, because seeds mean nothing any more when a generator changes.

#[path = "../../tests/exposition/mod.rs"]
pub(crate) mod exposition;
pub(crate) mod hostile;
pub(crate) mod mutation;
mod target;
pub(crate) mod yaml;

pub(crate) use target::Target;

/// Declares the targets: their names and how many cases `cargo test` tries. One that no test runs is a warning.
macro_rules! targets {
    ($($(#[$doc:meta])* $target:ident = $name:literal, $cases:literal;)+) => {
        $($(#[$doc])*
        pub(crate) const $target: Target =
            Target { name: $name, cases: $cases, found: concat!("tests/fuzz/", $name, ".txt") };)+
    };
}

targets! {
    /// `Accept`: which format, under which content type.
    ACCEPT = "accept", 20_000;
    /// `Accept-Encoding`.
    ENCODING = "encoding", 20_000;
    /// `Authorization`: who asks.
    LOGIN = "login", 10_000;
    /// Queries and paths: sources, leases, what the status page is to show.
    QUERY = "query", 10_000;
    /// The exporter's configuration.
    CONFIG = "config", 6_000;
    /// The web configuration.
    WEB_CONFIG = "web_config", 3_000;
    /// Addresses of stores with secrets in them, alone and in a configuration.
    ADDRESS = "address", 10_000;
    /// Lengths of time.
    DURATION = "duration", 20_000;
    /// Parameters of presets, which become parts of SQL and of keys.
    PARAMETER = "parameter", 10_000;
    /// Names of keys, as patterns and templates say them.
    KEYS = "keys", 20_000;
    /// Names of leases in both formats of the metrics, in JSON, on the page and in the table.
    NAMES = "names", 400;
    /// A page of metrics, ours and ours mutated.
    METRICS = "metrics", 5_000;
    /// Values of SQLite's rows.
    SQLITE = "sqlite", 5_000;
    /// PostgreSQL's messages and binary values.
    POSTGRES = "postgres", 20_000;
    /// MySQL's binary values.
    MYSQL = "mysql", 20_000;
    /// Texts that stand for times and numbers.
    TEXT_VALUES = "text_values", 20_000;
    /// Redis's answers.
    REDIS = "redis", 10_000;
}
