use std::fs::{self, OpenOptions};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::Connection;
use tempfile::TempDir;

use super::*;
use crate::lease::ReadFailure;
use crate::store::Scope;

const LEASES: usize = 300;

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// Some leases, whose records take many small pages.
fn database(path: &Path, mode: &str) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(&format!(
            "PRAGMA page_size = 1024; PRAGMA journal_mode = {mode}; PRAGMA wal_autocheckpoint = 0;
             CREATE TABLE other (x); CREATE TABLE lease (name, holder)"
        ))
        .unwrap();
    fill(&connection, LEASES);
    connection
}

fn fill(connection: &Connection, leases: usize) {
    let sql = format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {leases})
         INSERT INTO lease SELECT printf('lease-%07d', i), 'holder' FROM n"
    );
    connection.execute_batch(&sql).unwrap();
}

fn store(path: &Path) -> SqliteStore {
    let sql = "SELECT unixepoch() AS store_now, name AS lease, holder FROM (SELECT 1) LEFT JOIN lease";
    SqliteStore::new(
        path.to_owned(),
        SqliteQuery::new(sql.into(), Scope { only_lease: "own".into(), max_leases: 1_000_000 }),
    )
}

/// How many leases a reading shows, or why there is none.
async fn read(store: &mut SqliteStore) -> Result<usize, (ReadFailure, String)> {
    let taken = Store::read(store, Instant::now() + Duration::from_secs(60)).await;
    let reading = taken.map_err(|error| (error.failure(), error.to_string()))?;
    assert!(reading.records.rejected.is_empty(), "{:?}", reading.records.rejected);
    Ok(reading.records.accepted.len())
}

async fn is_refused(store: &mut SqliteStore, case: &str) {
    let (failure, told) = read(store).await.expect_err(case);
    assert_eq!(failure, ReadFailure::Refused, "{case}: {told}");
    assert!(told.contains("cut short") || told.contains("damaged"), "{case}: {told}");
}

fn cut(path: &Path, length: u64) {
    OpenOptions::new().write(true).open(path).unwrap().set_len(length).unwrap();
}

/// Lengths within the first pages, and at and around the ends of some others.
fn lengths(whole: u64) -> Vec<u64> {
    let mut lengths = vec![16, 99, 100, 511, 512, 1023, 1024, 1025, 2048, 3000];
    lengths.extend([whole / 2, whole / 2 + 1, whole / 2 + 511, whole / 2 + 1023]);
    lengths.extend([2048, 1025, 1024, 1023, 700, 512, 300, 100, 10, 1].map(|less| whole - less));
    lengths
}

#[tokio::test]
async fn a_file_that_was_cut_short_anywhere_is_refused() {
    for mode in ["delete", "wal"] {
        let folder = folder();
        let (path, source) = (folder.path().join("cut.db"), folder.path().join("whole.db"));
        // Closing the last connection leaves everything in the file itself.
        drop(database(&source, mode));
        let whole = fs::metadata(&source).unwrap().len();
        for length in lengths(whole) {
            let case = format!("{mode}, {length} of {whole}");
            // Both what opens the file as it is cut, and what had it open before.
            fs::copy(&source, &path).unwrap();
            let mut before = store(&path);
            assert_eq!(read(&mut before).await, Ok(LEASES), "{case}");
            cut(&path, length);
            is_refused(&mut before, &case).await;
            is_refused(&mut store(&path), &case).await;
            // It is read again once it is whole.
            fs::copy(&source, &path).unwrap();
            assert_eq!(read(&mut before).await, Ok(LEASES), "{case}");
        }
    }
}

#[tokio::test]
async fn a_file_whose_header_does_not_count_its_pages_is_refused_where_its_last_page_was_cut() {
    let folder = folder();
    let path = folder.path().join("old.db");
    drop(database(&path, "delete"));
    // As programs before SQLite 3.7 leave it.
    let mut bytes = fs::read(&path).unwrap();
    bytes[95] ^= 1;
    fs::write(&path, &bytes).unwrap();
    assert_eq!(read(&mut store(&path)).await, Ok(LEASES));
    cut(&path, bytes.len() as u64 - 300);
    is_refused(&mut store(&path), "its last page").await;
}

#[tokio::test]
async fn a_file_is_whole_though_its_last_pages_are_in_its_write_ahead_log_alone() {
    let folder = folder();
    let (path, link) = (folder.path().join("logged.db"), folder.path().join("link.db"));
    let writer = database(&path, "wal");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let (main, log) = (fs::metadata(&path).unwrap().len(), fs::metadata(folder.path().join("logged.db-wal")).unwrap());
    assert!(main < log.len(), "everything is in the log");
    for path in [&path, &link] {
        assert_eq!(read(&mut store(path)).await, Ok(LEASES));
    }
    // Copied to the file, and then more: what is in the log now is not what was there first.
    writer.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(())).unwrap();
    fill(&writer, 100);
    assert_eq!(read(&mut store(&path)).await, Ok(LEASES + 100));
}

#[tokio::test]
async fn a_file_that_was_cut_short_beside_its_write_ahead_log_is_refused_or_read_whole() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let writer = database(&at("whole.db"), "wal");
    writer.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(())).unwrap();
    // The log has its last pages, and behind them what it had before it began anew.
    fill(&writer, 40);
    let whole = fs::metadata(at("whole.db")).unwrap().len();
    let (mut refused, mut read_whole) = (0, 0);
    for length in lengths(whole).into_iter().filter(|length| *length >= 1024) {
        fs::copy(at("whole.db"), at("cut.db")).unwrap();
        fs::copy(at("whole.db-wal"), at("cut.db-wal")).unwrap();
        let _ = fs::remove_file(at("cut.db-shm"));
        cut(&at("cut.db"), length);
        let mut store = store(&at("cut.db"));
        match read(&mut store).await {
            Ok(leases) => {
                assert_eq!(leases, LEASES + 40, "{length} of {whole}");
                read_whole += 1;
            }
            Err((failure, told)) => {
                assert_eq!(failure, ReadFailure::Refused, "{length} of {whole}: {told}");
                refused += 1;
            }
        }
    }
    assert!(refused >= 10 && read_whole >= 1, "{refused} refused, {read_whole} read whole");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_being_written_is_whole_at_each_reading() {
    for mode in ["delete", "wal"] {
        let folder = folder();
        let path = folder.path().join("grows.db");
        let writer = database(&path, mode);
        let over = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&over);
        let writing = std::thread::spawn(move || {
            writer.busy_timeout(Duration::from_secs(60)).unwrap();
            writer.execute_batch("PRAGMA wal_autocheckpoint = 20; PRAGMA synchronous = OFF").unwrap();
            while !ended.load(Ordering::Relaxed) {
                fill(&writer, 50);
                writer.execute_batch("DELETE FROM other; INSERT INTO other VALUES (zeroblob(20000))").unwrap();
                // Now and then it shrinks.
                if writer.query_row("SELECT count(*) > 3000 FROM lease", [], |row| row.get(0)).unwrap() {
                    writer.execute_batch("DELETE FROM lease; VACUUM").unwrap();
                    fill(&writer, LEASES);
                }
            }
        });
        let mut store = store(&path);
        for _ in 0..200 {
            let read = read(&mut store).await;
            assert!(read.is_ok(), "{mode}: {read:?}");
        }
        over.store(true, Ordering::Relaxed);
        writing.join().unwrap();
    }
}

#[tokio::test]
async fn an_empty_file_has_no_tables_and_what_is_beside_it_stays() {
    let folder = folder();
    let (path, log) = (folder.path().join("empty.db"), folder.path().join("empty.db-wal"));
    for content in ["", "S"] {
        fs::write(&path, content).unwrap();
        fs::write(&log, "what SQLite would take away").unwrap();
        let (failure, told) = read(&mut store(&path)).await.unwrap_err();
        assert_eq!(failure, ReadFailure::SchemaMismatch);
        assert!(told.contains("is empty"), "{told}");
        assert!(log.exists());
    }
}
