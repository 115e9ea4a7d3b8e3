//! A join that repeats each lease name many times.

use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use super::{SOURCE, config, rejected, says};
use crate::harness::store::folder;
use crate::harness::{Exporter, Metrics, http, now};
use crate::servers;

/// A query that repeats the names of a number of leases.
fn repeating(rows: usize, leases: usize) -> String {
    format!(
        "SELECT now() AS store_now, 'l' || i % {leases} AS lease, 'h' || i AS holder, now() AS renewed_at \
         FROM generate_series(1, {rows}) AS i"
    )
}

/// The longest response time of the health endpoint during a reading.
fn health_during<T: Send>(exporter: &Exporter, act: impl FnOnce() -> T + Send) -> (T, Duration) {
    thread::scope(|scope| {
        let acting = scope.spawn(act);
        let mut longest = Duration::ZERO;
        while !acting.is_finished() {
            let reply = exporter.get("/-/healthy");
            assert_eq!(reply.status, 200);
            longest = longest.max(reply.took);
            thread::sleep(Duration::from_millis(20));
        }
        (acting.join().unwrap(), longest)
    })
}

#[test]
fn a_query_that_repeats_the_names_of_leases_holds_nothing_up_and_its_rows_are_counted() {
    let database = servers::postgres().database();
    for (kind, reason, leases) in
        [("registry", "not_observed_yet", 1), ("standing", "invalid_record", 1), ("registry", "not_observed_yet", 10)]
    {
        let folder = folder();
        let more = format!("kind: {kind}\ntimeout: 45s");
        let exporter = Exporter::start(folder.path(), &config(&database, &more, &repeating(300_000, leases)));
        let (metrics, longest) = health_during(&exporter, || exporter.scrape_within(Some(50.0)));
        // It takes milliseconds, more on a busy machine. Without pauses in the work, it would take as long as the reading.
        assert!(longest < Duration::from_secs(5), "{kind} of {leases}: {longest:?}");
        assert_eq!(metrics.source("lease_source_up", SOURCE), Some(1.0), "{kind} of {leases}");
        assert_eq!(says(&metrics, "l0"), ("unknown", reason), "{kind} of {leases}");
        assert_eq!(metrics.leases(SOURCE).len(), leases);
        let kept = 1_000 * leases;
        assert_eq!(rejected(&metrics, "over_limit"), (300_000 - kept) as f64, "{kind} of {leases}");
        let duplicates = if kind == "standing" { kept } else { 0 };
        assert_eq!(rejected(&metrics, "duplicate"), duplicates as f64, "{kind} of {leases}");
    }
}

#[test]
fn endless_rows_are_aborted_at_the_timeout_of_the_source_and_at_exit() {
    let (database, folder) = (servers::postgres().database(), folder());
    let more = "kind: registry\ntimeout: 1s";
    let exporter = Exporter::start(folder.path(), &config(&database, more, &repeating(1_000_000_000, 10)));
    let header = [("X-Prometheus-Scrape-Timeout-Seconds", "50".to_owned())];
    let (reply, longest) = health_during(&exporter, || http::get(exporter.address(), "/metrics", &header));
    let metrics = Metrics::parse(&reply.body);
    assert_eq!(metrics.counted("lease_source_read_failures_total", SOURCE, "store_timeout"), 1.0);
    assert!(reply.took < Duration::from_secs(15) && longest < Duration::from_secs(5), "{:?}, {longest:?}", reply.took);
    let address = exporter.address();
    let scraping = thread::spawn(move || http::get(address, "/metrics", &header));
    thread::sleep(Duration::from_millis(200));
    let began = now();
    assert_eq!(exporter.stop_by(Signal::TERM).code, Some(0));
    let took = now() - began;
    assert!(took < Duration::from_secs(15), "{took:?}");
    assert_eq!(scraping.join().unwrap().status, 200);
}
