//! SQLite files that the exporter reads.

use std::path::Path;

use lease_protocol::sqlite::SCHEMA;
use rusqlite::Connection;
use tempfile::TempDir;

/// A temporary folder, removed when the guard is dropped.
pub(crate) fn folder() -> TempDir {
    tempfile::Builder::new().prefix("lease-exporter-e2e-").tempdir().unwrap()
}

/// A database file on which statements have been run.
pub(crate) fn database(path: &Path, sql: &str) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch(sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
    connection
}

/// A file with the tables of the reference protocol.
pub(crate) fn reference(path: &Path) -> Connection {
    database(path, SCHEMA)
}

/// Statements that insert a lease of the reference protocol that is active from now on.
pub(crate) fn active(lease: &str) -> String {
    format!(
        "WITH clock AS (SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER) AS now) \
         INSERT INTO scheduler_lease SELECT '{lease}', 'holder-of-{lease}', 1, now - 9000, now - 1000, now + 3600000 FROM clock; \
         WITH clock AS (SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER) AS now) \
         INSERT INTO scheduler_progress SELECT '{lease}', 1, now - 500, 1 FROM clock;"
    )
}

/// A query without a table, which returns the always active lease `steady`.
pub(crate) const STEADY: &str = "WITH clock AS MATERIALIZED (SELECT unixepoch('subsec') AS now) \
    SELECT now AS store_now, 'steady' AS lease, 'someone' AS holder, 1 AS epoch, 1000000000 AS acquired_at, \
    now AS renewed_at, now + 60 AS expires_at, now AS progress_at, 1 AS progress_epoch, 0 AS due FROM clock";

/// A query that runs for hours and locks out writers meanwhile.
pub(crate) const ENDLESS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000000000) \
    SELECT unixepoch() AS store_now, 'slow' AS lease, count(*) + (SELECT count(*) FROM sqlite_schema) AS due FROM n";
