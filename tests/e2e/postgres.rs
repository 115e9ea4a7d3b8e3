//! PostgreSQL as a store: the contract, invalid rows, special features, and the load on the server.

mod access;
mod contract;
mod cost;
mod pipeline;
mod repeated_names;
mod rows;
mod types;

use std::path::Path;

use tempfile::TempDir;

use super::harness::store::folder;
use super::harness::{Exporter, Metrics, check};
use super::servers::{self, Database};

const SOURCE: &str = "own";

/// A source of a database with a query. `more` are further keys, one on each line.
fn config(database: &Database, more: &str, query: &str) -> String {
    let query = query.replace('\n', "\n      ");
    let more: String = more.lines().map(|line| format!("    {line}\n")).collect();
    format!(
        "sources:\n  - name: {SOURCE}\n    store: {}\n    password_file: {}\n    reuse_for: 0s\n{more}    query: |-\n      \
         {query}\n",
        database.url(),
        database.password_file().display()
    )
}

/// The reason and the message of a failed reading.
fn refused(folder: &Path, yaml: &str) -> String {
    let check = check(folder, yaml);
    assert_eq!(check.code, Some(2), "{}", check.all());
    let line = check.stdout.lines().find(|line| line.contains("cannot be read"));
    line.unwrap_or_else(|| panic!("{}", check.all())).to_owned()
}

const LEASES: &str = "CREATE TABLE leases (lease text, holder text, epoch numeric, acquired_at timestamptz, \
    renewed_at timestamptz, expires_at timestamptz, ttl_seconds float8, progress_at timestamptz, \
    progress_epoch numeric, progress_cursor text, due int8, oldest_due_at timestamptz);
    INSERT INTO leases SELECT 'sound', 'someone', 7, now() - interval '100 s', now() - interval '1 s', \
    now() + interval '600 s', 600, now() - interval '2 s', 7, '41', 3, now() - interval '1 s';";

const READ: &str =
    "SELECT statement_timestamp() AS store_now, leases.* FROM (SELECT 1) AS one LEFT JOIN leases ON true";

/// A database with a valid lease.
struct Table {
    folder: TempDir,
    database: Database,
}

impl Table {
    fn new() -> Self {
        let database = servers::postgres().database();
        database.execute(LEASES);
        Self { folder: folder(), database }
    }

    /// Inserts a row that is valid except for the columns that `change` sets.
    fn add(&self, lease: &str, change: &str) {
        self.database.execute(&format!(
            "CREATE TEMP TABLE made AS SELECT * FROM leases WHERE lease = 'sound';
             UPDATE made SET lease = '{lease}'; UPDATE made SET {change}; INSERT INTO leases SELECT * FROM made;"
        ));
    }

    fn exporter(&self) -> Exporter {
        Exporter::start(self.folder.path(), &config(&self.database, "", READ))
    }
}

fn says<'a>(metrics: &'a Metrics, lease: &str) -> (&'a str, &'a str) {
    metrics.says(SOURCE, lease).unwrap_or_else(|| panic!("no {lease} in\n{}", metrics.text()))
}

fn rejected(metrics: &Metrics, reason: &str) -> f64 {
    metrics.counted("lease_source_rows_rejected_total", SOURCE, reason)
}
