//! An exporter that reads a table of leases. Their work moves unless a row has a time of progress.

use std::time::Duration;

use rusqlite::{Connection, params};
use tempfile::TempDir;

use crate::harness::Exporter;
use crate::harness::store::{database, folder};

pub(super) const TABLE: &str =
    "CREATE TABLE work (lease, holder DEFAULT 'someone', progress_at, due DEFAULT 0, oldest_due_at)";
const QUERY: &str = "WITH clock AS MATERIALIZED (SELECT unixepoch('subsec') AS now) \
    SELECT now AS store_now, lease, holder, 7 AS epoch, 1000000000 AS acquired_at, now AS renewed_at, \
    now + 60 AS expires_at, COALESCE(progress_at, now) AS progress_at, 7 AS progress_epoch, due, oldest_due_at \
    FROM clock LEFT JOIN work ON true";
/// Leases in each state, in the order of the page.
pub(super) const EACH_STATE: [(&str, &str); 5] =
    [("retention", "stalled"), ("mailer", "no leader"), ("audit", "unknown"), ("planner", "active"), ("index", "idle")];

pub(super) struct PageFixture {
    pub(super) table: Connection,
    pub(super) exporter: Exporter,
    _folder: TempDir,
}

/// Unreadable sources for the configuration.
pub(super) fn unreadable(names: impl IntoIterator<Item = String>) -> String {
    let source = |name| format!("  - {{ name: {name}, store: sqlite://nowhere.db, preset: reference }}\n");
    names.into_iter().map(source).collect()
}

impl PageFixture {
    /// An exporter that reads the table, with the given `stall_after`.
    pub(super) fn new(rows: &str, stall_after: Duration) -> Self {
        Self::beside(rows, stall_after, "")
    }

    /// The same with further sources.
    pub(super) fn beside(rows: &str, stall_after: Duration, sources: &str) -> Self {
        Self::with(rows, stall_after, "", sources)
    }

    /// The same with the given `reuse_for`.
    pub(super) fn reused(rows: &str, stall_after: Duration, reuse_for: &str) -> Self {
        Self::with(rows, stall_after, &format!("    reuse_for: {reuse_for}\n"), "")
    }

    fn with(rows: &str, stall_after: Duration, keys: &str, sources: &str) -> Self {
        let folder = folder();
        let table = database(&folder.path().join("own.db"), &format!("{TABLE};{rows}"));
        let yaml = format!(
            "sources:\n  - name: own\n    store: sqlite://own.db\n    query: {QUERY:?}\n{keys}{sources}\
             defaults: {{ stall_after: {}s }}\n",
            stall_after.as_secs()
        );
        let exporter = Exporter::start(folder.path(), &yaml);
        Self { table, exporter, _folder: folder }
    }

    /// A fixture with a lease in each state.
    pub(super) fn of_each_state() -> Self {
        Self::new(
            "INSERT INTO work (lease) VALUES ('planner'); \
             INSERT INTO work (lease, holder, progress_at) VALUES ('mailer', NULL, unixepoch() - 3600); \
             INSERT INTO work (lease, progress_at, due) VALUES ('index', unixepoch() - 3600, 0); \
             INSERT INTO work (lease, progress_at, due) VALUES ('audit', unixepoch() - 3600, NULL); \
             INSERT INTO work VALUES ('retention', 'someone', unixepoch() - 3600, 14, unixepoch() - 3600);",
            Duration::from_secs(300),
        )
    }

    pub(super) fn address(&self, path: &str) -> String {
        format!("http://{}{path}", self.exporter.address())
    }

    /// Makes the work of a lease progress from now on.
    pub(super) fn let_work(&self, lease: &str) {
        let work = "UPDATE work SET progress_at = NULL, due = 0, oldest_due_at = NULL WHERE lease = ?1";
        assert_eq!(self.table.execute(work, params![lease]).unwrap(), 1);
    }

    /// Makes a lease renew without progress from now on.
    pub(super) fn let_hang(&self, lease: &str) {
        let hang = "UPDATE work SET progress_at = unixepoch('subsec'), due = 1, oldest_due_at = unixepoch('subsec') \
                    WHERE lease = ?1";
        assert_eq!(self.table.execute(hang, params![lease]).unwrap(), 1);
    }
}
