//! Real schedulers on one SQLite file, observed over HTTP: take-over, stall and recovery.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use rustix::process::Signal;

use super::harness::store::folder;
use super::harness::{Exporter, Metrics, Scheduler, eventually, now, sleep_until, status};

const SOURCE: &str = "documents";
const LEASE: &str = "planner";

fn config(database: &Path, stall_after: &str) -> String {
    format!(
        "sources:\n  - name: {SOURCE}\n    store: sqlite://{}\n    preset: reference\n    reuse_for: 0s\n\
         defaults: {{ stall_after: {stall_after} }}\nleases:\n  - match: {{ lease: {LEASE} }}\n",
        database.display()
    )
}

fn known(metrics: &Metrics, name: &str) -> f64 {
    metrics.known(name, SOURCE, LEASE)
}

#[test]
fn a_leader_whose_work_moves_is_active_with_two_small_ages() {
    let folder = folder();
    let database = folder.path().join("scheduler.db");
    let often = ["--ttl", "60s", "--renew-every", "200ms", "--work-takes", "10ms", "--enqueue-every", "100ms"];
    let scheduler = Scheduler::start(&database, LEASE, &often);
    scheduler.wait_for("planned ");
    let yaml = config(&database, "60s");
    let exporter = Exporter::start(folder.path(), &yaml);
    let metrics = exporter.scrape_until("an active leader with small ages", |metrics| {
        metrics.says(SOURCE, LEASE) == Some(("active", "progressing"))
            && known(metrics, "lease_age_seconds") < 2.0
            && known(metrics, "lease_last_progress_age_seconds") < 2.0
    });
    assert_eq!(known(&metrics, "lease_epoch"), 1.0);
    assert_eq!(known(&metrics, "lease_last_progress_epoch"), 1.0);
    assert_eq!(known(&metrics, "lease_holders"), 1.0);
    assert_eq!(metrics.source("lease_source_up", SOURCE), Some(1.0));
    let status = status(folder.path(), &yaml);
    assert_eq!(status.code, Some(0), "{}", status.all());
    assert!(status.stdout.contains("active") && status.stdout.contains("held"), "{}", status.stdout);
}

#[test]
fn a_leader_that_renews_while_its_work_is_frozen_is_stalled_until_thawed() {
    const TTL: f64 = 30.0;
    let folder = folder();
    let database = folder.path().join("scheduler.db");
    let often = ["--ttl", "30s", "--renew-every", "100ms", "--work-takes", "10ms", "--enqueue-every", "100ms"];
    let scheduler = Scheduler::start(&database, LEASE, &often);
    scheduler.wait_for("planned ");
    let yaml = config(&database, "3s");
    let exporter = Exporter::start(folder.path(), &yaml);
    exporter.until(SOURCE, LEASE, "active", "progressing");

    scheduler.toggle_work();
    scheduler.wait_for("frozen");
    let first = exporter.until(SOURCE, LEASE, "stalled", "no_progress");
    assert!(known(&first, "lease_last_progress_age_seconds") > 3.0);
    let mut before = first;
    for _ in 0..5 {
        let renewed = known(&before, "lease_renewed_timestamp_seconds");
        let metrics = exporter
            .scrape_until("another renewal", |metrics| known(metrics, "lease_renewed_timestamp_seconds") > renewed);
        assert_eq!(metrics.says(SOURCE, LEASE), Some(("stalled", "no_progress")));
        // The lease is still renewed, and only the progress gets older.
        assert!(known(&metrics, "lease_age_seconds") < TTL);
        assert_eq!(known(&metrics, "lease_epoch"), 1.0);
        for grows in ["lease_last_progress_age_seconds", "lease_renewals_since_progress"] {
            assert!(known(&metrics, grows) > known(&before, grows), "{grows} does not grow");
        }
        let progressed = "lease_last_progress_timestamp_seconds";
        assert_eq!(known(&metrics, progressed), known(&before, progressed));
        before = metrics;
    }
    let status = status(folder.path(), &yaml);
    assert_eq!(status.code, Some(1), "{}", status.all());
    assert!(status.stdout.contains("stalled") && status.stdout.contains("no progress for"), "{}", status.stdout);

    scheduler.toggle_work();
    scheduler.wait_for("thawed");
    let thawed = exporter.until(SOURCE, LEASE, "active", "progressing");
    assert_eq!(known(&thawed, "lease_epoch"), 1.0);
}

#[test]
fn leader_stopped_beyond_its_expiry_is_replaced_and_its_late_write_is_fenced() {
    const WORK_TAKES: Duration = Duration::from_secs(6);
    let folder = folder();
    let database = folder.path().join("scheduler.db");
    let exporter = Exporter::start(folder.path(), &config(&database, "60s"));

    let slowly = ["--ttl", "3s", "--renew-every", "300ms", "--work-takes", "6s", "--enqueue-every", "100ms"];
    let former = Scheduler::start(&database, LEASE, &slowly);
    // The scheduler is stopped right after it has started work.
    let key = former.wait_for("taken ").strip_prefix("taken key=").unwrap().to_owned();
    let taken = now();
    former.stop_between_writes(&database);
    let expired = exporter.until(SOURCE, LEASE, "no_leader", "expired");
    assert_eq!(known(&expired, "lease_epoch"), 1.0);
    assert!(known(&expired, "lease_expires_in_seconds") <= 0.0);

    let quickly = ["--ttl", "600s", "--renew-every", "300ms", "--work-takes", "10ms", "--enqueue-every", "100ms"];
    let successor = Scheduler::start(&database, LEASE, &quickly);
    successor.wait_for("acquired epoch=2");
    successor.wait_for(&format!("planned key={key} epoch=2"));
    let metrics = exporter.until(SOURCE, LEASE, "active", "progressing");
    assert_eq!(known(&metrics, "lease_epoch"), 2.0);
    assert_eq!(known(&metrics, "lease_last_progress_epoch"), 2.0);

    sleep_until(taken + WORK_TAKES);
    former.0.signal(Signal::CONT);
    assert_eq!(former.wait_for("fenced "), format!("fenced epoch=1 key={key}"));
    let since = known(&exporter.scrape(), "lease_renewed_timestamp_seconds");
    let metrics = exporter
        .scrape_until("two more renewals", |metrics| known(metrics, "lease_renewed_timestamp_seconds") > since + 0.4);
    assert_eq!(known(&metrics, "lease_epoch"), 2.0);
    assert_eq!(known(&metrics, "lease_last_progress_epoch"), 2.0);
    let stale = [("source", SOURCE), ("lease", LEASE), ("anomaly", "progress_from_stale_epoch")];
    assert_eq!(metrics.value("lease_anomalies_total", &stale), Some(0.0));

    nothing_was_planned_twice(&database, [former, successor]);
}

/// Checks that the schedulers and the table report the same runs, each once.
fn nothing_was_planned_twice(database: &Path, schedulers: impl IntoIterator<Item = Scheduler>) {
    let mut planned = BTreeMap::new();
    for scheduler in schedulers {
        for line in scheduler.end().lines() {
            if let Some((key, epoch)) = line.strip_prefix("planned key=").and_then(|rest| rest.split_once(" epoch=")) {
                assert_eq!(planned.insert(key.to_owned(), epoch.to_owned()), None, "{key} was planned twice");
            }
        }
    }
    assert!(!planned.is_empty());
    let connection = Connection::open(database).unwrap();
    let mut statement = connection
        .prepare("SELECT idempotency_key, CAST(planned_epoch AS TEXT) FROM occurrence WHERE planned_at_ms IS NOT NULL")
        .unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let table: BTreeMap<String, String> = rows.map(Result::unwrap).collect();
    assert_eq!(planned, table);
}

#[test]
fn released_lease_has_no_leader_with_reason_released() {
    let folder = folder();
    let database = folder.path().join("scheduler.db");
    let mut scheduler = Scheduler::start(&database, LEASE, &["--ttl", "60s"]);
    scheduler.wait_for("planned ");
    let yaml = config(&database, "60s");
    let exporter = Exporter::start(folder.path(), &yaml);
    exporter.until(SOURCE, LEASE, "active", "progressing");
    scheduler.0.signal(Signal::TERM);
    assert_eq!(scheduler.0.wait().code(), Some(0));
    scheduler.wait_for("released epoch=1");
    let metrics = exporter.scrape();
    assert_eq!(metrics.says(SOURCE, LEASE), Some(("no_leader", "released")));
    assert_eq!(known(&metrics, "lease_epoch"), 1.0);
    assert_eq!(known(&metrics, "lease_holders"), 0.0);
    assert_eq!(metrics.of("lease_age_seconds", SOURCE, LEASE), None);
    assert_eq!(status(folder.path(), &yaml).code, Some(1));
}

#[test]
fn lease_of_a_crashed_leader_expires_after_its_ttl() {
    let folder = folder();
    let database = folder.path().join("scheduler.db");
    let mut scheduler = Scheduler::start(&database, LEASE, &["--ttl", "5s", "--renew-every", "500ms"]);
    scheduler.wait_for("planned ");
    let exporter = Exporter::start(folder.path(), &config(&database, "60s"));
    exporter.until(SOURCE, LEASE, "active", "progressing");
    scheduler.0.signal(Signal::KILL);
    assert_eq!(scheduler.0.wait().code(), None);
    // Usually 1. If the machine paused for longer than the TTL, the scheduler has acquired the lease again.
    let said = scheduler.0.stdout.whole();
    let mut epochs = said.lines().filter_map(|line| line.strip_prefix("acquired epoch=")?.parse::<f64>().ok());
    let epoch = epochs.next_back();
    // Each scrape has one of two states, which depends only on the clock of the store.
    let expired = eventually("the lease to expire", || {
        let metrics = exporter.scrape();
        let left = known(&metrics, "lease_expires_in_seconds");
        let expected = if left > 0.0 { ("active", "progressing") } else { ("no_leader", "expired") };
        assert_eq!(metrics.says(SOURCE, LEASE), Some(expected), "{left} s left");
        (left <= 0.0).then_some(metrics)
    });
    assert_eq!(expired.of("lease_epoch", SOURCE, LEASE), epoch);
    assert_eq!(known(&expired, "lease_holders"), 0.0);
    assert!(known(&expired, "lease_age_seconds") >= 5.0);
}

#[test]
fn a_standby_takes_over_from_a_leader_that_gives_up_without_a_gap_in_the_epochs() {
    let folder = folder();
    let database = folder.path().join("scheduler.db");
    let arguments = ["--ttl", "60s", "--renew-every", "100ms", "--work-takes", "10ms", "--enqueue-every", "100ms"];
    let mut first = Scheduler::start(&database, LEASE, &arguments);
    first.wait_for("planned ");
    let second = Scheduler::start(&database, LEASE, &arguments);
    let exporter = Exporter::start(folder.path(), &config(&database, "60s"));
    let before = exporter.until(SOURCE, LEASE, "active", "progressing");
    assert_eq!(known(&before, "lease_epoch"), 1.0);
    first.0.signal(Signal::INT);
    assert_eq!(first.0.wait().code(), Some(0));
    second.wait_for("planned ");
    let after = exporter.until(SOURCE, LEASE, "active", "progressing");
    assert_eq!(known(&after, "lease_epoch"), 2.0);
    assert_ne!(holder(&before), holder(&after));
    nothing_was_planned_twice(&database, [first, second]);
}

/// The token of the holder.
fn holder(metrics: &Metrics) -> String {
    let line = metrics.text().lines().find(|line| line.starts_with("lease_holder_info{")).unwrap();
    let token = line.split("holder=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    assert!(token.len() == 16 && token.bytes().all(|byte| byte.is_ascii_hexdigit()), "{line}");
    token.to_owned()
}
