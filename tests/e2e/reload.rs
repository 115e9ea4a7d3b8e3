//! SIGHUP: the configuration loaded again while the exporter serves.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rustix::process::Signal;

use crate::harness::Exporter;
use crate::harness::eventually;
use crate::harness::exporter::configure;
use crate::harness::metrics::Metrics;
use crate::harness::store::{STEADY, database, folder};

const TAKEN: &str = "the configuration was loaded again";
const REFUSED: &str = "the configuration cannot be used";

/// Reloads another configuration, waits for the result in the log, and returns that line.
fn reload(exporter: &Exporter, folder: &Path, yaml: &str, outcome: &str) -> String {
    let so_far = exporter.log().len();
    configure(folder, yaml);
    exporter.process().signal(Signal::HUP);
    eventually(outcome, || {
        let said = exporter.log()[so_far..].to_owned();
        said.contains(outcome).then_some(said)
    })
}

fn steady(source: &str) -> String {
    format!(
        "  - {{name: {source}, store: 'sqlite://steady.db', kind: standing, clock: store, reuse_for: 0s, query: \"{STEADY}\"}}\n"
    )
}

fn own(metrics: &Metrics, name: &str) -> f64 {
    metrics.value(&format!("lease_exporter_config_last_reload_{name}"), &[]).unwrap()
}

#[test]
fn an_alert_is_enabled_and_disabled_again_and_a_limit_changed() {
    let folder = folder();
    database(&folder.path().join("steady.db"), "CREATE TABLE t (x)");
    let sources = format!("sources:\n{}", steady("a"));
    let with = |leases: &str| format!("{sources}leases: [{{match: {{lease: steady}}{leases}}}]\n");
    let exporter = Exporter::start(folder.path(), &with(""));
    let enabled = |metrics: &Metrics| {
        metrics.value("lease_alert_enabled", &[("source", "a"), ("lease", "steady"), ("alert", "LeaseWorkStalled")])
    };
    assert_eq!(enabled(&exporter.scrape()), None);
    reload(&exporter, folder.path(), &with(", stall_after: 7s, alerts: [LeaseWorkStalled]"), TAKEN);
    let metrics = exporter.scrape();
    assert_eq!(enabled(&metrics), Some(1.0));
    assert_eq!(metrics.known("lease_stall_after_seconds", "a", "steady"), 7.0);
    assert_eq!(metrics.says("a", "steady"), Some(("active", "progressing")));
    reload(&exporter, folder.path(), &with(""), TAKEN);
    let metrics = exporter.scrape();
    assert_eq!(enabled(&metrics), None);
    assert_eq!(metrics.known("lease_stall_after_seconds", "a", "steady"), 300.0);
}

#[test]
fn invalid_configuration_changes_nothing_and_its_errors_have_positions() {
    let folder = folder();
    database(&folder.path().join("steady.db"), "CREATE TABLE t (x)");
    let good = format!("sources:\n{}", steady("a"));
    let exporter = Exporter::start(folder.path(), &good);
    let before = exporter.scrape();
    assert_eq!(own(&before, "successful"), 1.0);
    let bad = format!("sources:\n{}  - {{name: b, store: 'sqlite://b.db', preset: refrence}}\n", steady("c"));
    let said = reload(&exporter, folder.path(), &bad, REFUSED);
    assert!(said.contains("exporter.yml") && said.contains("refrence") && said.contains("reference"), "{said}");
    let refused = exporter.scrape();
    assert_eq!(own(&refused, "successful"), 0.0);
    assert_eq!(own(&refused, "success_timestamp_seconds"), own(&before, "success_timestamp_seconds"));
    assert_eq!(refused.says("a", "steady"), Some(("active", "progressing")));
    assert_eq!(refused.says("c", "steady"), None, "not even what is right of it is taken");
    std::fs::remove_file(folder.path().join("exporter.yml")).unwrap();
    exporter.process().signal(Signal::HUP);
    eventually("the file that is gone to be told", || (exporter.log().matches(REFUSED).count() == 2).then_some(()));
    reload(&exporter, folder.path(), &good, TAKEN);
    let again = exporter.scrape();
    assert_eq!(own(&again, "successful"), 1.0);
    assert!(own(&again, "success_timestamp_seconds") > own(&before, "success_timestamp_seconds"));
}

#[test]
fn reload_that_hangs_is_aborted_and_the_next_one_succeeds() {
    let folder = folder();
    database(&folder.path().join("steady.db"), "CREATE TABLE t (x)");
    let good = format!("sources:\n{}", steady("a"));
    let exporter = Exporter::start(folder.path(), &good);
    let file = folder.path().join("exporter.yml");
    std::fs::remove_file(&file).unwrap();
    let made = Command::new("mkfifo").arg(&file).status().unwrap();
    assert!(made.success());
    exporter.process().signal(Signal::HUP);
    eventually("the reload to be given up", || {
        exporter.log().contains("the file is a pipe that nobody wrote to").then_some(())
    });
    assert_eq!(own(&exporter.scrape(), "successful"), 0.0);
    std::fs::remove_file(&file).unwrap();
    reload(&exporter, folder.path(), &good, TAKEN);
    assert_eq!(own(&exporter.scrape(), "successful"), 1.0);
}

#[test]
fn history_of_a_lease_survives_a_reload_unless_its_query_changes() {
    let folder = folder();
    let table = database(
        &folder.path().join("own.db"),
        "CREATE TABLE own (cursor, renewed); INSERT INTO own VALUES (1, unixepoch('subsec'));",
    );
    let with = |query_ends: &str, leases: &str| {
        format!(
            "sources:\n  - name: own\n    store: sqlite://own.db\n    kind: standing\n    clock: store\n    reuse_for: 0s\n    query: \
             SELECT unixepoch('subsec') AS store_now, 'someone' AS holder, renewed AS renewed_at, cursor AS \
             progress_cursor, 5 AS due, 1 AS oldest_due_at FROM own{query_ends}\nleases: {leases}\n"
        )
    };
    let exporter = Exporter::start(folder.path(), &with("", "[]"));
    exporter.until("own", "own", "unknown", "not_observed_yet");
    table.execute_batch("UPDATE own SET cursor = 2").unwrap();
    exporter.until("own", "own", "active", "progressing");
    table.execute_batch("UPDATE own SET renewed = unixepoch('subsec')").unwrap();
    assert_eq!(exporter.scrape().known("lease_renewals_since_progress", "own", "own"), 1.0);
    reload(&exporter, folder.path(), &with("", "[{match: {lease: own}, stall_after: 1m}]"), TAKEN);
    let metrics = exporter.scrape();
    assert_eq!(metrics.says("own", "own"), Some(("active", "progressing")));
    assert_eq!(metrics.known("lease_renewals_since_progress", "own", "own"), 1.0);
    let said = reload(&exporter, folder.path(), &with(" WHERE true", "[]"), TAKEN);
    assert!(said.contains("read_anew=own"), "{said}");
    assert_eq!(exporter.scrape().says("own", "own"), Some(("unknown", "not_observed_yet")));
}

#[test]
fn sources_come_and_go_and_so_do_families() {
    let folder = folder();
    database(&folder.path().join("steady.db"), "CREATE TABLE t (x)");
    let exporter = Exporter::start(folder.path(), &format!("sources:\n{}{}", steady("a"), steady("b")));
    assert_eq!(exporter.scrape().leases("b"), ["steady"]);
    let other = format!("sources:\n{}{}metrics: {{drop: [lease_epoch]}}\n", steady("c"), steady("a"));
    reload(&exporter, folder.path(), &other, TAKEN);
    let metrics = exporter.scrape();
    assert_eq!((metrics.leases("a").len(), metrics.leases("b").len(), metrics.leases("c").len()), (1, 0, 1));
    assert_eq!(metrics.of("lease_epoch", "a", "steady"), None);
    assert!(!exporter.get("/api/v1/leases").body.contains(r#""source":"b""#));
}

#[test]
fn scrapes_are_complete_during_a_hundred_reloads() {
    let folder = folder();
    database(&folder.path().join("steady.db"), "CREATE TABLE t (x)");
    let one = format!("sources:\n{}{}", steady("a"), steady("b"));
    let other = format!("sources:\n{}{}metrics: {{drop: [lease_epoch]}}\n", steady("b"), steady("c"));
    let exporter = Exporter::start(folder.path(), &one);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let scrapers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let mut scrapes = 0;
                    while !done.load(Ordering::SeqCst) {
                        let metrics = exporter.scrape();
                        assert_eq!(metrics.says("b", "steady"), Some(("active", "progressing")), "{}", metrics.text());
                        let (a, c) = (metrics.leases("a").len(), metrics.leases("c").len());
                        let has_epoch = metrics.of("lease_epoch", "b", "steady").is_some();
                        assert!((a, c, has_epoch) == (1, 0, true) || (a, c, has_epoch) == (0, 1, false));
                        scrapes += 1;
                    }
                    scrapes
                })
            })
            .collect();
        for yaml in [&other, &one].into_iter().cycle().take(100) {
            reload(&exporter, folder.path(), yaml, TAKEN);
        }
        done.store(true, Ordering::SeqCst);
        assert!(scrapers.into_iter().map(|scraper| scraper.join().unwrap()).sum::<u32>() > 0);
    });
    let finished = exporter.stop();
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
}
