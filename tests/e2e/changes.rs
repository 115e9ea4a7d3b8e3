//! SQLite files that change while the exporter has them open.

use std::fs;

use crate::harness::Exporter;
use crate::harness::store::{active, folder, reference};

#[test]
fn a_wal_database_that_is_copied_over_shows_its_new_content() {
    let folder = folder();
    let (file, backup) = (folder.path().join("scheduler.db"), folder.path().join("backup.db"));
    let wal = |path, lease| {
        let connection = reference(path);
        connection.pragma_update(None, "journal_mode", "wal").unwrap();
        connection.execute_batch(&active(lease)).unwrap();
        connection.close().unwrap();
    };
    wal(&backup, "of the backup");
    wal(&file, "of before");
    let yaml = format!(
        "sources: [{{name: documents, store: 'sqlite://{}', preset: reference, reuse_for: 0s}}]\n",
        file.display()
    );
    let exporter = Exporter::start(folder.path(), &yaml);
    assert_eq!(exporter.scrape().says("documents", "of before"), Some(("active", "progressing")));
    // In place, as cp does, so that the inode stays the same.
    fs::write(&file, fs::read(&backup).unwrap()).unwrap();
    let metrics = exporter.scrape();
    assert_eq!(metrics.says("documents", "of the backup"), Some(("active", "progressing")));
    assert_eq!(metrics.says("documents", "of before"), Some(("no_leader", "absent")));
}

#[test]
fn reordered_columns_are_followed_and_no_holder_is_shown_as_a_lease() {
    let folder = folder();
    let file = folder.path().join("own.db");
    let connection = rusqlite::Connection::open(&file).unwrap();
    connection.execute_batch("CREATE TABLE own (lease, holder); INSERT INTO own VALUES ('mine', 'planted');").unwrap();
    let yaml = format!(
        "sources:\n  - name: own\n    store: sqlite://{}\n    reuse_for: 0s\n    query: SELECT unixepoch('subsec') AS store_now, * FROM own\n",
        file.display()
    );
    let exporter = Exporter::start(folder.path(), &yaml);
    for _ in 0..2 {
        assert_eq!(exporter.scrape().leases("own"), ["mine"]);
        connection
            .execute_batch(
                "BEGIN; DROP TABLE own; CREATE TABLE own (holder, lease);
                 INSERT INTO own VALUES ('planted', 'mine'); COMMIT;",
            )
            .unwrap();
    }
    let metrics = exporter.scrape();
    assert_eq!(metrics.leases("own"), ["mine"]);
    assert!(!metrics.text().contains("planted"));
}
