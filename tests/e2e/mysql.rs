//! MySQL and MariaDB, on a real MariaDB.

mod access;
mod contract;
mod replication;
mod rows;
mod statements;
mod types;
mod zones;

use super::harness::store::folder;
use super::harness::{Exporter, Metrics, check};
use super::servers::{self, Database};

/// The name of the source.
const SOURCE: &str = "own";

/// An empty database on the shared server.
fn database() -> Database {
    servers::mariadb().database()
}

/// A source of the database with a query and further keys, one on each line.
fn source(name: &str, database: &Database, more: &str, query: &str) -> String {
    let more: String = more.lines().map(|line| format!("    {line}\n")).collect();
    let (url, file, query) = (database.url(), database.password_file().display(), query.replace('\n', "\n      "));
    format!(
        "  - name: {name}\n    store: {url}\n    password_file: {file}\n    reuse_for: 0s\n{more}    query: |-\n      {query}\n"
    )
}

/// A configuration with only this source.
fn config(database: &Database, more: &str, query: &str) -> String {
    format!("sources:\n{}", source(SOURCE, database, more, query))
}

/// The error of `check` about an unreadable source.
fn complaint(yaml: &str) -> String {
    let check = check(folder().path(), yaml);
    assert_eq!(check.code, Some(2), "{}", check.all());
    assert!(check.stderr.is_empty(), "{}", check.stderr);
    let line = check.stdout.lines().find_map(|line| line.trim_start().strip_prefix("cannot be read "));
    line.unwrap_or_else(|| panic!("no complaint:\n{}", check.all())).to_owned()
}

/// One scrape.
fn scrape(yaml: &str) -> Metrics {
    Exporter::start(folder().path(), yaml).scrape()
}

/// A query without a table whose lease `steady` is always active.
const STEADY: &str = "SELECT UTC_TIMESTAMP(6) AS store_now, 'steady' AS lease, 'someone' AS holder, 1 AS epoch, \
    1000000000 AS acquired_at, UTC_TIMESTAMP(6) AS renewed_at, 60 AS ttl_seconds, UTC_TIMESTAMP(6) AS progress_at, \
    1 AS progress_epoch, 0 AS due";
