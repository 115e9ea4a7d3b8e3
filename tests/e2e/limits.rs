//! Sources and requests beyond the limits.

use std::path::Path;

use super::harness::store::{database, folder, reference};
use super::harness::{Exporter, Metrics, now};

const SOURCE: &str = "documents";

fn config(file: &Path, max_leases: usize, read: &str) -> String {
    format!(
        "sources:\n  - name: {SOURCE}\n    store: sqlite://{}\n    timeout: 120s\n    reuse_for: 0s\n    \
         max_leases: {max_leases}\n    {read}\n",
        file.display()
    )
}

fn over_limit(metrics: &Metrics) -> f64 {
    metrics.counted("lease_source_rows_rejected_total", SOURCE, "over_limit")
}

#[test]
fn of_a_hundred_thousand_leases_the_first_ten_thousand_by_name_are_kept_and_the_rest_counted() {
    let folder = folder();
    let file = folder.path().join("scheduler.db");
    // Inserted in reverse order of names, so that the order of the file does not help.
    reference(&file)
        .execute_batch(
            "WITH RECURSIVE n(i) AS (SELECT 99999 UNION ALL SELECT i - 1 FROM n WHERE i > 0), \
             clock AS (SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER) AS now) \
             INSERT INTO scheduler_lease \
             SELECT printf('lease-%05d', i), 'holder-' || i, i + 1, now - 9000, now - 1000, now + 3600000 FROM n, clock",
        )
        .unwrap();
    let exporter = Exporter::start(folder.path(), &config(&file, 10_000, "preset: reference"));
    for scrapes in 1..=2 {
        let began = now();
        let metrics = exporter.scrape_within(Some(120.0));
        let took = now() - began;
        assert!(took.as_secs() < 60, "a scrape took {took:?}");
        let expected: Vec<_> = (0..10_000).map(|i| format!("lease-{i:05}")).collect();
        assert_eq!(metrics.leases(SOURCE), expected);
        assert_eq!(metrics.source("lease_source_leases", SOURCE), Some(10_000.0));
        assert_eq!(over_limit(&metrics), 90_000.0 * f64::from(scrapes));
        let epochs = metrics.text().lines().filter(|line| line.starts_with("lease_epoch{"));
        assert_eq!(epochs.count(), 10_000);
    }
}

#[test]
fn leases_whose_records_are_all_wrong_do_not_get_past_the_limit() {
    let folder = folder();
    let file = folder.path().join("own.db");
    database(
        &file,
        "CREATE TABLE job (name, epoch); \
         WITH RECURSIVE n(i) AS (SELECT 2999 UNION ALL SELECT i - 1 FROM n WHERE i > 0) \
         INSERT INTO job SELECT printf('lease-%05d', i), -1 FROM n",
    );
    let query = "query: SELECT unixepoch() AS store_now, name AS lease, epoch FROM job";
    let exporter = Exporter::start(folder.path(), &config(&file, 100, query));
    let metrics = exporter.scrape();
    let expected: Vec<_> = (0..100).map(|i| format!("lease-{i:05}")).collect();
    assert_eq!(metrics.leases(SOURCE), expected);
    assert_eq!(metrics.says(SOURCE, "lease-00000"), Some(("unknown", "invalid_record")));
    let wrong = metrics.counted("lease_source_rows_rejected_total", SOURCE, "out_of_range");
    assert_eq!(over_limit(&metrics) + wrong, 3_000.0);
}

#[test]
fn leases_that_come_and_go_are_forgotten_down_to_the_limit() {
    let folder = folder();
    let file = folder.path().join("own.db");
    let connection = database(&file, "CREATE TABLE job (name)");
    let query = "query: SELECT unixepoch() AS store_now, name AS lease, 'x' AS holder FROM (SELECT 1) LEFT JOIN job";
    let yaml = config(&file, 100, query) + "leases:\n  - match: { lease: expected }\n";
    let exporter = Exporter::start(folder.path(), &yaml);
    for round in 0..20 {
        connection
            .execute_batch(&format!(
                "DELETE FROM job; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50) \
                 INSERT INTO job SELECT 'round-{round}-' || i FROM n"
            ))
            .unwrap();
        let metrics = exporter.scrape();
        let leases = metrics.leases(SOURCE);
        assert!(leases.len() <= 100, "{} leases are remembered", leases.len());
        assert!(leases.contains(&"expected"));
        let present = leases.iter().filter(|lease| lease.starts_with(&format!("round-{round}-")));
        assert_eq!(present.count(), 50);
    }
}

#[test]
fn a_query_that_repeats_the_name_of_a_lease_is_read_in_time_and_its_rows_are_counted() {
    let folder = folder();
    let file = folder.path().join("own.db");
    database(&file, "CREATE TABLE job (name)");
    let query = "query: WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) \
                 SELECT unixepoch() AS store_now, 'l' AS lease, 'h' || i AS holder, unixepoch() AS renewed_at FROM n";
    for (kind, reason, duplicates) in [("registry", "not_observed_yet", 0.0), ("standing", "invalid_record", 1_000.0)] {
        let yaml = config(&file, 10_000, &format!("kind: {kind}\n    {query}"));
        let exporter = Exporter::start(folder.path(), &yaml);
        let began = now();
        let metrics = exporter.scrape_within(Some(100.0));
        let took = now() - began;
        assert!(took.as_secs() < 30, "a scrape took {took:?}");
        assert_eq!(metrics.says(SOURCE, "l"), Some(("unknown", reason)));
        assert_eq!(over_limit(&metrics), 299_000.0);
        assert_eq!(metrics.counted("lease_source_rows_rejected_total", SOURCE, "duplicate"), duplicates);
    }
}
