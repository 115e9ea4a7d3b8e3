//! Requests with different timeouts share one reading.

use std::path::Path;
use std::thread;

use rusqlite::Connection;

use super::harness::store::{STEADY, database, folder, reference};
use super::harness::{Exporter, Metrics, http};

const TIMEOUT: &str = "X-Prometheus-Scrape-Timeout-Seconds";

/// A scrape with a timeout in seconds.
fn scrape(exporter: &Exporter, seconds: &str) -> Metrics {
    let reply = http::get(exporter.address(), "/metrics", &[(TIMEOUT, seconds.to_owned())]);
    assert_eq!(reply.status, 200);
    Metrics::parse(&reply.body)
}

fn up(metrics: &Metrics) -> f64 {
    metrics.source("lease_source_up", "own").unwrap()
}

fn failures(metrics: &Metrics) -> f64 {
    metrics.counted("lease_source_read_failures_total", "own", "store_timeout")
}

#[test]
fn scrape_with_a_short_timeout_does_not_change_the_response_of_another() {
    let folder = folder();
    database(&folder.path().join("any.db"), "CREATE TABLE t (x)");
    let yaml =
        format!("sources:\n  - name: own\n    store: sqlite://any.db\n    reuse_for: 60s\n    query: \"{STEADY}\"\n");
    let exporter = Exporter::start(folder.path(), &yaml);
    for _ in 0..20 {
        scrape(&exporter, "0.001");
        let metrics = scrape(&exporter, "10");
        assert_eq!((up(&metrics), failures(&metrics)), (1.0, 0.0));
        assert_eq!(metrics.says("own", "steady"), Some(("active", "progressing")));
    }
}

#[test]
fn scrape_with_a_short_timeout_leaves_the_reading_to_a_later_one() {
    let folder = folder();
    database(&folder.path().join("any.db"), "CREATE TABLE t (x)");
    // Some seconds of work for SQLite: longer than the short scrape timeout, shorter than the long one.
    let query = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000000) \
        SELECT unixepoch() AS store_now, 'slow' AS lease, 'x' AS holder, count(*) AS due FROM n";
    let yaml = format!(
        "sources:\n  - name: own\n    store: sqlite://any.db\n    reuse_for: 0s\n    timeout: 100s\n    \
         query: \"{query}\"\nleases:\n  - match: {{ lease: slow }}\n"
    );
    let exporter = Exporter::start(folder.path(), &yaml);
    thread::scope(|scope| {
        let patient = scope.spawn(|| scrape(&exporter, "120"));
        let impatient = scrape(&exporter, "0.3");
        assert_eq!((up(&impatient), failures(&impatient)), (0.0, 0.0));
        assert_eq!(impatient.says("own", "slow"), Some(("unknown", "store_timeout")));
        let patient = patient.join().unwrap();
        assert_eq!((up(&patient), failures(&patient)), (1.0, 0.0));
        assert_eq!(patient.of("lease_due", "own", "slow"), Some(10_000_000.0));
    });
}

/// The peak of the resident memory of the exporter in MB.
fn peak(exporter: &Exporter) -> u64 {
    let status =
        std::fs::read_to_string(format!("/proc/{}/status", exporter.process().pid().as_raw_nonzero())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

/// A file with a number of leases of the reference protocol.
fn leases(file: &Path, count: u32) -> Connection {
    let store = reference(file);
    store
        .execute_batch(&format!(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count}), \
             clock AS (SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER) AS now) \
             INSERT INTO scheduler_lease \
             SELECT printf('lease-%05d', i), 'holder-' || i, i + 1, now - 9000, now - 1000, now + 3600000 FROM n, clock"
        ))
        .unwrap();
    store
}

#[test]
fn two_hundred_clients_of_a_hanging_store_share_one_response_of_ten_thousand_leases() {
    let folder = folder();
    let store = leases(&folder.path().join("own.db"), 10_000);
    let yaml = "sources:\n  - name: own\n    store: sqlite://own.db\n    reuse_for: 0s\n    timeout: 60s\n    \
        preset: reference\n";
    let exporter = Exporter::start_with(folder.path(), yaml, &["--web.max-requests=0"]);
    assert_eq!(up(&exporter.scrape_within(Some(60.0))), 1.0);
    // Locks out readers from now on.
    store.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let address = exporter.address();
    thread::scope(|scope| {
        for client in 0..200 {
            scope.spawn(move || {
                let mut headers = vec![(TIMEOUT, "1".to_owned())];
                if client % 4 > 0 {
                    headers.push(("Accept-Encoding", "gzip".to_owned()));
                }
                if client % 2 == 0 {
                    headers.push(("Accept", "application/openmetrics-text;version=1.0.0".to_owned()));
                }
                // The client fails unless the response is complete.
                let reply = http::get(address, "/metrics", &headers);
                assert_eq!(reply.status, 200);
                let unknown = reply.body.matches("reason=\"store_timeout\"} 1\n").count();
                assert_eq!(unknown, 10_000);
            });
        }
    });
    let peak = peak(&exporter);
    assert!(peak < 150, "{peak} MB");
    drop(store);
    assert_eq!(up(&exporter.scrape_within(Some(60.0))), 1.0);
}
