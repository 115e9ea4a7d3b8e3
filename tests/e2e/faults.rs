//! SQLite files that are missing, damaged or locked: the lease is unknown with a reason, and known again afterwards.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;

use rusqlite::Connection;
use tempfile::TempDir;

use super::harness::exporter::configure;
use super::harness::process::{command_of, program};
use super::harness::store::{ENDLESS, STEADY, active, database, folder, reference};
use super::harness::{Exporter, Metrics, Process, check, eventually, status};

/// A source of the reference protocol with one expected lease.
fn config(file: &Path) -> String {
    format!(
        "sources:\n  - name: documents\n    store: sqlite://{}\n    preset: reference\n    reuse_for: 0s\n    \
         timeout: 500ms\nleases:\n  - match: {{ lease: planner }}\n",
        file.display()
    )
}

fn says(metrics: &Metrics) -> (&str, &str) {
    metrics.says("documents", "planner").unwrap()
}

fn up(metrics: &Metrics) -> bool {
    metrics.source("lease_source_up", "documents") == Some(1.0)
}

/// Checks that the lease is unknown for a reason everywhere, and that the log and `check` have the cause.
fn shows(exporter: &Exporter, folder: &TempDir, yaml: &str, reason: &str, told: &str) {
    let metrics = exporter.scrape();
    assert_eq!(says(&metrics), ("unknown", reason));
    assert!(!up(&metrics));
    for absent in ["lease_epoch", "lease_age_seconds", "lease_due", "lease_last_progress_age_seconds"] {
        assert_eq!(metrics.of(absent, "documents", "planner"), None, "{absent} is shown though nothing is known");
    }
    assert_eq!(metrics.source("lease_source_leases", "documents"), None);
    assert!(metrics.counted("lease_source_read_failures_total", "documents", reason) >= 1.0);
    let line = exporter.process().stderr.wait_for(&format!("reason={reason}"));
    assert!(line.contains("source=documents") && line.contains(told), "{line}");
    let check = check(folder.path(), yaml);
    assert_eq!(check.code, Some(2), "{}", check.all());
    assert!(check.stdout.contains(reason) && check.stdout.contains(told), "{}", check.stdout);
    let status = status(folder.path(), yaml);
    assert_eq!(status.code, Some(2), "{}", status.all());
    assert!(status.stdout.contains(reason) && status.stdout.contains("unknown"), "{}", status.stdout);
}

/// Checks that the next scrape has the state again, and that the log reports it.
fn recovers(exporter: &Exporter) {
    let metrics = exporter.scrape();
    assert_eq!(says(&metrics), ("active", "progressing"));
    assert!(up(&metrics));
    exporter.process().stderr.wait_for("can be read again");
}

/// A file with the reference tables and one active lease, to be moved to the path of the source.
fn whole(folder: &TempDir) -> std::path::PathBuf {
    let path = folder.path().join("whole.db");
    drop(reference(&path).execute_batch(&active("planner")));
    path
}

#[test]
fn tables_without_rows_are_a_source_that_is_up_and_a_lease_that_is_absent() {
    let folder = folder();
    let file = folder.path().join("scheduler.db");
    let connection = reference(&file);
    let exporter = Exporter::start(folder.path(), &config(&file));
    let metrics = exporter.scrape();
    assert_eq!(says(&metrics), ("no_leader", "absent"));
    assert!(up(&metrics));
    assert_eq!(metrics.source("lease_source_leases", "documents"), Some(0.0));
    assert_eq!(metrics.of("lease_epoch", "documents", "planner"), None);
    connection.execute_batch(&active("planner")).unwrap();
    assert_eq!(says(&exporter.scrape()), ("active", "progressing"));
}

#[test]
fn a_missing_table_is_named_in_the_log_and_by_check() {
    let folder = folder();
    let file = folder.path().join("scheduler.db");
    let connection = reference(&file);
    connection.execute_batch(&active("planner")).unwrap();
    connection.execute_batch("ALTER TABLE scheduler_progress RENAME TO elsewhere").unwrap();
    let yaml = config(&file);
    let exporter = Exporter::start(folder.path(), &yaml);
    shows(&exporter, &folder, &yaml, "schema_mismatch", "no such table: scheduler_progress");
    connection.execute_batch("ALTER TABLE elsewhere RENAME TO scheduler_progress").unwrap();
    recovers(&exporter);
}

#[test]
fn a_missing_column_is_named_in_the_log_and_by_check() {
    let folder = folder();
    let file = folder.path().join("scheduler.db");
    let connection = reference(&file);
    connection.execute_batch(&active("planner")).unwrap();
    let yaml = config(&file);
    let exporter = Exporter::start(folder.path(), &yaml);
    assert_eq!(says(&exporter.scrape()), ("active", "progressing"));
    connection.execute_batch("ALTER TABLE scheduler_progress RENAME COLUMN cursor TO position").unwrap();
    shows(&exporter, &folder, &yaml, "schema_mismatch", "no such column: made.cursor");
    connection.execute_batch("ALTER TABLE scheduler_progress RENAME COLUMN position TO cursor").unwrap();
    recovers(&exporter);
}

#[test]
fn missing_file_is_unreachable_until_it_exists() {
    let folder = folder();
    let file = folder.path().join("scheduler.db");
    let yaml = config(&file);
    let exporter = Exporter::start(folder.path(), &yaml);
    shows(&exporter, &folder, &yaml, "store_unreachable", "there is no file at the configured path");
    assert!(!file.exists(), "a reader made the file");
    fs::rename(whole(&folder), &file).unwrap();
    recovers(&exporter);
    fs::remove_file(&file).unwrap();
    assert_eq!(says(&exporter.scrape()), ("unknown", "store_unreachable"));
}

#[test]
fn file_without_a_database_a_folder_and_an_empty_file_have_different_errors() {
    let folder = folder();
    let file = folder.path().join("scheduler.db");
    let yaml = config(&file);
    fs::write(&file, "These are not the tables that you are looking for.".repeat(100)).unwrap();
    let exporter = Exporter::start(folder.path(), &yaml);
    shows(&exporter, &folder, &yaml, "schema_mismatch", "not an SQLite database");
    fs::write(&file, "").unwrap();
    let metrics = exporter.scrape();
    assert_eq!(says(&metrics), ("unknown", "schema_mismatch"));
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let metrics = exporter.scrape();
    assert_eq!(says(&metrics), ("unknown", "store_unreachable"));
    let line = exporter.process().stderr.wait_for("reason=store_unreachable");
    assert!(line.contains("is not a file"), "{line}");
    fs::remove_dir(&file).unwrap();
    fs::rename(whole(&folder), &file).unwrap();
    recovers(&exporter);
}

#[test]
fn a_file_that_may_not_be_read_is_refused() {
    let folder = folder();
    let file = folder.path().join("scheduler.db");
    fs::rename(whole(&folder), &file).unwrap();
    let exporter = unprivileged(&folder, &config(&file));
    fs::set_permissions(&file, Permissions::from_mode(0o000)).unwrap();
    let metrics = exporter.scrape();
    assert_eq!(metrics.says("documents", "planner").map(|(state, _)| state), Some("unknown"));
    let line = exporter.process().stderr.wait_for("source=documents");
    assert!(line.contains("cannot be opened") || line.contains("may not read"), "{line}");
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    recovers(&exporter);
}

#[test]
fn locked_file_is_reported_within_the_limit_and_read_at_the_next_scrape() {
    let folder = folder();
    let file = folder.path().join("scheduler.db");
    // A writer locks readers out in rollback-journal mode, but not in WAL mode.
    let connection = reference(&file);
    connection.execute_batch(&active("planner")).unwrap();
    let yaml = config(&file);
    let exporter = Exporter::start(folder.path(), &yaml);
    assert_eq!(says(&exporter.scrape()), ("active", "progressing"));
    connection.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let reply = exporter.get("/metrics");
    assert!(reply.took.as_secs() < 10, "answered after {:?}", reply.took);
    assert_eq!(says(&Metrics::parse(&reply.body)), ("unknown", "store_timeout"));
    shows(&exporter, &folder, &yaml, "store_timeout", "kept the database locked");
    connection.execute_batch("ROLLBACK").unwrap();
    recovers(&exporter);
}

#[test]
fn a_database_in_wal_mode_in_a_folder_that_cannot_be_written_says_what_to_do() {
    let folder = folder();
    let inner = folder.path().join("read-only");
    fs::create_dir(&inner).unwrap();
    let file = inner.join("scheduler.db");
    let connection = database(&file, "PRAGMA journal_mode = WAL");
    connection.execute_batch(lease_protocol::sqlite::SCHEMA).unwrap();
    connection.execute_batch(&active("planner")).unwrap();
    // Closing the last connection removes the -wal and -shm files.
    connection.close().unwrap();
    assert_eq!(fs::read_dir(&inner).unwrap().count(), 1);
    fs::set_permissions(&inner, Permissions::from_mode(0o555)).unwrap();
    let exporter = unprivileged(&folder, &config(&file));
    let metrics = exporter.scrape();
    // The rights are restored at once, so that the folder can be removed after a failure.
    fs::set_permissions(&inner, Permissions::from_mode(0o777)).unwrap();
    assert_eq!(says(&metrics), ("unknown", "store_unreachable"));
    let line = exporter.process().stderr.wait_for("reason=store_unreachable");
    for told in ["WAL mode", "-wal and -shm", "mount the folder writable", "PRAGMA journal_mode=DELETE"] {
        assert!(line.contains(told), "{line}");
    }
    recovers(&exporter);
}

/// An exporter that is subject to file permissions. For root, it runs as another user.
fn unprivileged(folder: &TempDir, yaml: &str) -> Exporter {
    const NOBODY: u32 = 65534;
    if !rustix::process::getuid().is_root() {
        return Exporter::start(folder.path(), yaml);
    }
    // A copy that the other user can run.
    let copy = folder.path().join("lease-exporter");
    fs::copy(program(), &copy).unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let config = format!("--config.file={}", configure(folder.path(), yaml).display());
    let mut command = command_of(&copy, [config.as_str(), "--web.listen-address=127.0.0.1:0"]);
    command.uid(NOBODY).gid(NOBODY).current_dir("/");
    Exporter::started(Process::start(command))
}

#[test]
fn a_file_that_is_replaced_while_the_exporter_runs_shows_its_new_content() {
    let folder = folder();
    let file = folder.path().join("scheduler.db");
    fs::rename(whole(&folder), &file).unwrap();
    let exporter = Exporter::start(folder.path(), &config(&file));
    assert_eq!(says(&exporter.scrape()), ("active", "progressing"));
    let new = folder.path().join("new.db");
    drop(reference(&new).execute_batch(&active("successor")));
    fs::rename(&new, &file).unwrap();
    let metrics = exporter.scrape();
    assert_eq!(metrics.says("documents", "successor"), Some(("active", "progressing")));
    assert_eq!(says(&metrics), ("no_leader", "absent"));
    assert_eq!(metrics.source("lease_source_leases", "documents"), Some(1.0));
}

#[test]
fn file_damaged_at_run_time_is_not_served_from_an_earlier_reading() {
    let folder = folder();
    let file = folder.path().join("scheduler.db");
    fs::rename(whole(&folder), &file).unwrap();
    let yaml = config(&file);
    let exporter = Exporter::start(folder.path(), &yaml);
    assert_eq!(says(&exporter.scrape()), ("active", "progressing"));
    let sound = fs::read(&file).unwrap();
    let garbage = vec![0xa5; sound.len()];
    // With another change counter, as after any write. Otherwise SQLite may use its cache.
    let mut header = [&sound[..100], &garbage[100..]].concat();
    header[24..28].copy_from_slice(&[0x7f; 4]);
    for (damage, content, reasons) in [
        ("cut in the middle of a page", &sound[..5000], &["store_refused", "schema_mismatch"][..]),
        ("cut to nothing", &[], &["schema_mismatch"]),
        ("overwritten", &garbage, &["schema_mismatch"]),
        ("overwritten but for its header", &header, &["store_refused"]),
    ] {
        fs::write(&file, content).unwrap();
        let metrics = exporter.scrape();
        let (state, reason) = says(&metrics);
        assert!(state == "unknown" && reasons.contains(&reason), "{damage}: {state}/{reason}");
        assert_eq!(check(folder.path(), &yaml).code, Some(2), "{damage}");
        fs::write(&file, &sound).unwrap();
        let metrics = exporter.scrape();
        assert_eq!(says(&metrics), ("active", "progressing"), "after it was {damage}");
    }
}

#[test]
fn two_hundred_faulty_scrapes_leave_no_file_open_and_no_thread_behind() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let locked = reference(Path::new(&at("locked.db")));
    locked.execute_batch("BEGIN EXCLUSIVE").unwrap();
    database(Path::new(&at("tables.db")), "CREATE TABLE other (x)");
    fs::write(at("text.db"), "x".repeat(4096)).unwrap();
    let source = |name: &str, file: &str, read: &str| {
        let store = at(file);
        format!("  - name: {name}\n    store: sqlite://{store}\n    {read}\n    reuse_for: 0s\n    timeout: 20ms\n")
    };
    let preset = "preset: reference";
    let yaml = ["missing", "text", "tables", "locked"].map(|name| source(name, &format!("{name}.db"), preset)).concat()
        + &source("slow", "tables.db", &format!("query: \"{ENDLESS}\""))
        + &source("steady", "tables.db", &format!("query: \"{STEADY}\""));
    let exporter = Exporter::start(folder.path(), &format!("sources:\n{yaml}"));
    let resources =
        |metrics: &Metrics| ["process_open_fds", "process_threads"].map(|name| metrics.value(name, &[]).unwrap());
    for _ in 0..20 {
        exporter.get_at_once("/metrics", 3);
    }
    let [files, _] = resources(&exporter.scrape());
    let mut metrics = exporter.scrape();
    for _ in 0..200 {
        metrics = exporter.scrape();
        for source in ["missing", "text", "tables", "locked", "slow"] {
            assert_eq!(metrics.source("lease_source_up", source), Some(0.0), "{source}");
        }
    }
    assert!(metrics.counted("lease_source_read_failures_total", "slow", "store_timeout") >= 200.0);
    // A closed connection may be counted for a moment.
    eventually("as few open files as before", || {
        let [files_now, threads_now] = resources(&exporter.scrape());
        // Idle threads end after a minute. There may be a reading and a rendering thread for each source.
        assert!(threads_now <= 20.0, "{threads_now} threads");
        (files_now <= files).then_some(())
    });
}

#[test]
fn a_wal_file_left_by_a_crashed_writer_is_read_whole() {
    let folder = folder();
    let file = folder.path().join("scheduler.db");
    let writer = database(&file, "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0");
    writer.execute_batch(lease_protocol::sqlite::SCHEMA).unwrap();
    writer.execute_batch(&active("planner")).unwrap();
    // The files as after a crash: all data are in the -wal file.
    let crashed = folder.path().join("crashed.db");
    fs::copy(&file, &crashed).unwrap();
    fs::copy(folder.path().join("scheduler.db-wal"), folder.path().join("crashed.db-wal")).unwrap();
    let exporter = Exporter::start(folder.path(), &config(&crashed));
    assert_eq!(says(&exporter.scrape()), ("active", "progressing"));
    // The reader does not lock out a writer.
    let connection = Connection::open(&crashed).unwrap();
    connection.execute_batch("UPDATE scheduler_lease SET epoch = 7").unwrap();
    assert_eq!(exporter.scrape().of("lease_epoch", "documents", "planner"), Some(7.0));
}

#[test]
fn pipe_instead_of_the_file_delays_no_request() {
    let folder = folder();
    let file = folder.path().join("scheduler.db");
    let made = std::process::Command::new("mkfifo").arg(&file).status().unwrap();
    assert!(made.success());
    let exporter = Exporter::start(folder.path(), &config(&file));
    for _ in 0..3 {
        assert_eq!(says(&exporter.scrape()), ("unknown", "store_unreachable"));
    }
    assert_eq!(exporter.stop().code, Some(0));
}

#[test]
fn a_file_that_was_cut_short_is_not_read_as_one_without_leases() {
    let folder = folder();
    let (file, whole) = (folder.path().join("scheduler.db"), folder.path().join("whole.db"));
    let yaml = config(&file);
    drop(database(
        &whole,
        &format!("PRAGMA page_size = 4096; {}; {}", lease_protocol::sqlite::SCHEMA, active("planner")),
    ));
    let length = fs::metadata(&whole).unwrap().len();
    // Within the last page, before it, and at the beginning.
    for (length, reason, told) in [
        (length - 100, "store_refused", "cut short"),
        (length - 4096, "store_refused", "damaged"),
        (0, "schema_mismatch", "is empty"),
    ] {
        fs::copy(&whole, &file).unwrap();
        let exporter = Exporter::start(folder.path(), &yaml);
        assert_eq!(says(&exporter.scrape()), ("active", "progressing"));
        fs::File::options().write(true).open(&file).unwrap().set_len(length).unwrap();
        shows(&exporter, &folder, &yaml, reason, told);
        fs::copy(&whole, &file).unwrap();
        recovers(&exporter);
    }
}
