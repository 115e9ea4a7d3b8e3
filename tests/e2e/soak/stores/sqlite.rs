//! SQLite: the reference tables in WAL mode, and another table without.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lease_protocol::sqlite::SCHEMA;
use rusqlite::Connection;

use super::sql::{TABLES, lease_query, rows};
use super::{LEADER, LONG_AGO, Leases, MAX_LEASES, STUCK, Store};
use crate::soak::environment::TIMEOUT;
use crate::soak::fault::Fault;

const NOW: &str = "unixepoch('subsec')";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Tables {
    Reference,
    Own,
}

pub(super) struct Sqlite {
    file: PathBuf,
    tables: Tables,
    /// The writer's connection, or `None` while the file is missing.
    writer: Mutex<Option<Connection>>,
}

impl Sqlite {
    pub(super) fn reference(folder: &Path) -> Self {
        Self::at(folder.join("documents.db"), Tables::Reference)
    }

    pub(super) fn own(folder: &Path) -> Self {
        Self::at(folder.join("ledger.db"), Tables::Own)
    }

    fn at(file: PathBuf, tables: Tables) -> Self {
        let writer = Mutex::new(Some(open(&file, tables)));
        Self { file, tables, writer }
    }

    fn writer(&self) -> MutexGuard<'_, Option<Connection>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn execute(&self, sql: &str) {
        let writer = self.writer();
        writer.as_ref().unwrap().execute_batch(sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
    }

    fn away(&self) -> PathBuf {
        self.file.with_extension("away")
    }

    fn take_away(&self) {
        *self.writer() = None;
        fs::rename(&self.file, self.away()).unwrap();
    }

    /// Replaces the file by a copy.
    fn put_back(&self) {
        let copy = self.file.with_extension("copy");
        fs::copy(self.away(), &copy).unwrap();
        fs::rename(&copy, &self.file).unwrap();
        fs::remove_file(self.away()).unwrap();
        *self.writer() = Some(open(&self.file, self.tables));
    }
}

fn open(file: &Path, tables: Tables) -> Connection {
    let connection = Connection::open(file).unwrap();
    connection.busy_timeout(Duration::from_secs(60)).unwrap();
    let mode = if tables == Tables::Reference { "wal" } else { "delete" };
    connection.execute_batch(&format!("PRAGMA journal_mode = {mode}; PRAGMA synchronous = OFF;")).unwrap();
    connection
}

fn reference_rows(leases: &Leases) -> String {
    let now = "(SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER))";
    let (holder, epoch, [acquired, progress, due]) = (leases.holder(), leases.epoch, LONG_AGO.map(|at| at * 1000));
    let mut sql = format!(
        "BEGIN IMMEDIATE; DELETE FROM scheduler_lease; DELETE FROM scheduler_progress; \
         INSERT OR IGNORE INTO occurrence VALUES ('waits', '{STUCK}', 'plan_retention', {due}, NULL, NULL, NULL); \
         INSERT INTO scheduler_progress VALUES ('{LEADER}', {epoch}, {now}, {epoch}), ('{STUCK}', 1, {progress}, 1); \
         INSERT INTO scheduler_lease VALUES ('{LEADER}', '{holder}', {epoch}, {now}, {now}, {now} + 86400000), \
         ('{STUCK}', 'stuck', 1, {acquired}, {now}, {now} + 86400000)"
    );
    for name in leases.passing() {
        write!(sql, ", ('{name}', '{holder}', {epoch}, {now}, {now}, {now} + 1000)").unwrap();
    }
    sql.push_str("; COMMIT;");
    sql
}

impl Store for Sqlite {
    fn name(&self) -> &'static str {
        if self.tables == Tables::Reference { "sqlite with a log" } else { "sqlite" }
    }

    fn sources(&self) -> &'static [&'static str] {
        if self.tables == Tables::Reference { &["documents"] } else { &["ledger"] }
    }

    fn yaml(&self) -> String {
        let own = format!("query: \"{}\"\n    kind: standing\n    clock: store", lease_query(NOW));
        let (name, reads) = match self.tables {
            // This source reuses readings, as sources do by default.
            Tables::Reference => ("documents", "preset: reference\n    reuse_for: 50ms"),
            Tables::Own => ("ledger", &*(own + "\n    reuse_for: 0s")),
        };
        format!(
            "  - name: {name}\n    store: sqlite://{}\n    timeout: {TIMEOUT}\n    max_leases: {MAX_LEASES}\n    {reads}\n",
            self.file.display()
        )
    }

    fn write(&self, leases: &Leases) {
        self.execute(&match self.tables {
            Tables::Reference => format!("{SCHEMA}{}", reference_rows(leases)),
            Tables::Own => format!("{TABLES}{}", rows(leases, NOW)),
        });
    }

    fn faults(&self) -> Vec<Fault<'_>> {
        match self.tables {
            Tables::Reference => vec![
                Fault::new(
                    "tables dropped and made anew",
                    || self.execute("DROP TABLE scheduler_lease; DROP TABLE scheduler_progress"),
                    || {},
                ),
                Fault::new(
                    "a column of another name",
                    || self.execute("ALTER TABLE scheduler_lease RENAME epoch TO term"),
                    || self.execute("ALTER TABLE scheduler_lease RENAME term TO epoch"),
                ),
            ],
            Tables::Own => vec![
                Fault::new("locked", || self.execute("BEGIN EXCLUSIVE"), || self.execute("ROLLBACK")),
                Fault::new("taken away and put back as another", || self.take_away(), || self.put_back()),
                Fault::new("tables dropped and made anew", || self.execute("DROP TABLE lease"), || {}),
            ],
        }
    }

    fn connections(&self) -> Option<usize> {
        None
    }
}
