//! The reference preset on tables without constraints: an invalid value affects only its own lease.

use std::path::Path;

use rusqlite::Connection;

use super::harness::store::{STEADY, active, database, folder, reference};
use super::harness::{Exporter, Metrics, promtool};

/// The tables of the reference protocol without types, keys and constraints.
const UNCHECKED: &str = "CREATE TABLE scheduler_lease (lease, holder, epoch, acquired_at_ms, renewed_at_ms, expires_at_ms); \
    CREATE TABLE scheduler_progress (lease, epoch, progress_at_ms, cursor); \
    CREATE TABLE occurrence (idempotency_key, lease, action, due_at_ms, planned_at_ms, planned_epoch, planned_by)";

const YAML: &str =
    "sources:\n  - name: documents\n    store: sqlite://scheduler.db\n    preset: reference\n    reuse_for: 0s\n";

fn unchecked(folder: &Path) -> Connection {
    let connection = database(&folder.join("scheduler.db"), UNCHECKED);
    connection.execute_batch(&(active("sound") + &active("bad"))).unwrap();
    connection
}

/// Starts an exporter and scrapes it. The valid lease must be active.
fn scrape(folder: &Path) -> Metrics {
    let metrics = Exporter::start(folder, YAML).scrape();
    assert_eq!(metrics.says("documents", "sound"), Some(("active", "progressing")), "{}", metrics.text());
    assert_eq!(metrics.source("lease_source_up", "documents"), Some(1.0));
    promtool::accepts(metrics.text());
    metrics
}

#[test]
fn invalid_value_in_the_reference_tables_affects_only_its_own_lease() {
    for (table, column, value, reason, named) in [
        ("scheduler_lease", "epoch", "-1", "out_of_range", true),
        ("scheduler_lease", "epoch", "'first'", "unreadable", true),
        ("scheduler_lease", "holder", "x'0102'", "wrong_type", true),
        ("scheduler_lease", "holder", "hex(zeroblob(32768))", "name_too_long", true),
        ("scheduler_lease", "renewed_at_ms", "9e999", "out_of_range", true),
        ("scheduler_lease", "expires_at_ms", "unixepoch() * 1000000", "out_of_range", true),
        ("scheduler_lease", "lease", "x'0102'", "wrong_type", false),
        ("scheduler_lease", "lease", "CAST(x'ff' AS TEXT)", "unreadable", false),
        ("scheduler_lease", "lease", "hex(zeroblob(32768))", "name_too_long", false),
        ("scheduler_progress", "epoch", "-1", "out_of_range", true),
        ("scheduler_progress", "progress_at_ms", "-9e999", "out_of_range", true),
        ("scheduler_progress", "cursor", "x'0102'", "wrong_type", true),
    ] {
        let folder = folder();
        let connection = unchecked(folder.path());
        connection.execute_batch(&format!("UPDATE {table} SET {column} = {value} WHERE lease = 'bad'")).unwrap();
        let metrics = scrape(folder.path());
        let what = format!("{table}.{column} = {value}");
        let counted = metrics.counted("lease_source_rows_rejected_total", "documents", reason);
        assert_eq!(counted, 1.0, "{what}");
        let shown = named.then_some(("unknown", "invalid_record"));
        assert_eq!(metrics.says("documents", "bad"), shown, "{what}");
    }
}

#[test]
fn a_row_renewed_an_hour_from_now_is_clock_skew() {
    let folder = folder();
    let connection = unchecked(folder.path());
    let later = "renewed_at_ms = renewed_at_ms + 3600000, expires_at_ms = expires_at_ms + 3600000";
    connection.execute_batch(&format!("UPDATE scheduler_lease SET {later} WHERE lease = 'bad'")).unwrap();
    let metrics = scrape(folder.path());
    assert_eq!(metrics.says("documents", "bad"), Some(("unknown", "clock_skew")));
    assert_eq!(metrics.of("lease_age_seconds", "documents", "bad"), None);
    let anomaly = [("source", "documents"), ("lease", "bad"), ("anomaly", "clock_skew")];
    assert_eq!(metrics.value("lease_anomalies_total", &anomaly), Some(1.0));
}

#[test]
fn two_records_of_one_lease_leave_it_unknown() {
    let folder = folder();
    let connection = unchecked(folder.path());
    connection.execute_batch(&active("bad")).unwrap();
    let metrics = scrape(folder.path());
    assert_eq!(metrics.says("documents", "bad"), Some(("unknown", "invalid_record")));
    assert!(metrics.counted("lease_source_rows_rejected_total", "documents", "duplicate") >= 2.0);
}

#[test]
fn an_epoch_that_goes_back_is_noticed_and_stays_unknown_until_the_next_acquisition() {
    let folder = folder();
    let connection = unchecked(folder.path());
    let epoch = |epoch: u32| {
        let sql = format!("UPDATE scheduler_lease SET epoch = {epoch}; UPDATE scheduler_progress SET epoch = {epoch}");
        connection.execute_batch(&sql).unwrap();
    };
    epoch(7);
    let exporter = Exporter::start(folder.path(), YAML);
    assert_eq!(exporter.scrape().says("documents", "bad"), Some(("active", "progressing")));
    epoch(6);
    for _ in 0..2 {
        let metrics = exporter.scrape();
        assert_eq!(metrics.says("documents", "bad"), Some(("unknown", "epoch_regressed")));
        let anomaly = [("source", "documents"), ("lease", "bad"), ("anomaly", "epoch_regressed")];
        assert_eq!(metrics.value("lease_anomalies_total", &anomaly), Some(1.0));
        assert_eq!(metrics.of("lease_epoch", "documents", "bad"), Some(6.0));
    }
    epoch(8);
    assert_eq!(exporter.scrape().says("documents", "bad"), Some(("active", "progressing")));
}

#[test]
fn backlog_is_counted_up_to_a_limit() {
    let folder = folder();
    let connection = reference(&folder.path().join("scheduler.db"));
    connection.execute_batch(&active("sound")).unwrap();
    connection
        .execute_batch(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) \
             INSERT INTO occurrence (idempotency_key, lease, action, due_at_ms) \
             SELECT 'sound/' || i, 'sound', 'plan_retention', 1000 * i FROM n",
        )
        .unwrap();
    let metrics = scrape(folder.path());
    assert_eq!(metrics.of("lease_due", "documents", "sound"), Some(10_001.0));
    assert!(metrics.known("lease_oldest_due_age_seconds", "documents", "sound") > 1e9);
}

#[test]
fn column_name_in_invalid_utf8_fails_only_its_source() {
    let folder = folder();
    let connection = database(&folder.path().join("odd.db"), "CREATE TABLE odd (store_now, xx)");
    connection
        .execute_batch(
            "INSERT INTO odd VALUES (1000, 1); PRAGMA writable_schema = ON; \
             UPDATE sqlite_schema SET sql = CAST(x'435245415445205441424c45206f6464202873746f72655f6e6f772c20ff782900' AS TEXT)",
        )
        .unwrap();
    connection.close().unwrap();
    let yaml = format!(
        "sources:\n  - name: odd\n    store: sqlite://odd.db\n    reuse_for: 0s\n    query: SELECT * FROM odd\n  \
         - name: own\n    store: sqlite://odd.db\n    reuse_for: 0s\n    query: \"{STEADY}\"\n\
         leases:\n  - match: {{ source: odd, lease: expected }}\n"
    );
    let exporter = Exporter::start(folder.path(), &yaml);
    for _ in 0..3 {
        let metrics = exporter.scrape();
        assert_eq!(metrics.says("odd", "expected").map(|(state, _)| state), Some("unknown"));
        assert_eq!(metrics.source("lease_source_up", "odd"), Some(0.0));
        assert_eq!(metrics.says("own", "steady"), Some(("active", "progressing")));
    }
    exporter.process().stderr.wait_for("ended unexpectedly");
}
