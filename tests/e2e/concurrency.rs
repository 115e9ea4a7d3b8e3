//! Slow stores, concurrent scrapes, and shutdown.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use rusqlite::Connection;
use rustix::process::Signal;

use super::harness::store::{ENDLESS, STEADY, database, folder};
use super::harness::{Exporter, Metrics, eventually, http, now};

/// A source that answers at once and a source that never does.
fn beside_a_slow_one(timeout: &str) -> String {
    format!(
        "sources:\n  - name: slow\n    store: sqlite://any.db\n    reuse_for: 0s\n    timeout: {timeout}\n    \
         query: \"{ENDLESS}\"\n  - name: fast\n    store: sqlite://any.db\n    reuse_for: 0s\n    \
         query: \"{STEADY}\"\nleases:\n  - match: {{ source: slow, lease: slow }}\n"
    )
}

#[test]
fn a_slow_query_delays_neither_other_sources_nor_a_scrape_beyond_its_own_limit() {
    let folder = folder();
    let file = database(&folder.path().join("any.db"), "CREATE TABLE t (x)");
    let exporter = Exporter::start(folder.path(), &beside_a_slow_one("600s"));
    // A scrape with a longer limit waits for the same read, which is still in progress when the others are answered.
    let patient = send_scrape(&exporter, "600");
    eventually("the read to be in progress", || is_being_read(&file).then_some(()));
    for scrape in 0..3 {
        let header = [("X-Prometheus-Scrape-Timeout-Seconds", "2".to_owned())];
        let reply = http::get(exporter.address(), "/metrics", &header);
        let took = reply.took.as_secs_f64();
        // The limit less half a second for the response. A busy machine takes longer, so there is no upper limit.
        assert!(took > 1.4, "scrape {scrape} took {took} s");
        assert!(is_being_read(&file), "the read has ended");
        assert!(is_unanswered(&patient), "the scrape with the longer limit is answered");
        let metrics = Metrics::parse(&reply.body);
        assert_eq!(metrics.says("slow", "slow"), Some(("unknown", "store_timeout")));
        assert_eq!(metrics.source("lease_source_up", "slow"), Some(0.0));
        assert_eq!(metrics.says("fast", "steady"), Some(("active", "progressing")));
        assert_eq!(metrics.source("lease_source_up", "fast"), Some(1.0));
        // The read goes on until the timeout of the source, so it has not failed.
        assert_eq!(metrics.counted("lease_source_read_failures_total", "slow", "store_timeout"), 0.0);
    }
}

#[test]
fn a_sources_own_timeout_ends_its_read_before_the_scrapes_limit_does() {
    let folder = folder();
    database(&folder.path().join("any.db"), "CREATE TABLE t (x)");
    let exporter = Exporter::start(folder.path(), &beside_a_slow_one("300ms"));
    let began = now();
    let metrics = exporter.scrape_within(Some(600.0));
    assert!(now() - began < Duration::from_secs(10));
    assert_eq!(metrics.says("slow", "slow"), Some(("unknown", "store_timeout")));
    assert_eq!(metrics.says("fast", "steady"), Some(("active", "progressing")));
    let read = metrics.source("lease_source_read_seconds", "slow").unwrap();
    assert!((0.25..8.0).contains(&read), "{read}");
}

/// A source whose query takes some time and returns another value each time.
fn changing(reuse_for: &str) -> String {
    let query = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) \
        SELECT unixepoch('subsec') AS store_now, 'changing' AS lease, 'x' AS holder, \
        count(*) * 1000000 + abs(random() % 1000000) AS due FROM n";
    format!(
        "sources:\n  - name: own\n    store: sqlite://any.db\n    reuse_for: {reuse_for}\n    timeout: 60s\n    \
         query: \"{query}\"\n"
    )
}

/// The metrics of leases and sources, without those of the exporter itself.
fn of_leases(body: &str) -> String {
    let lines = body.lines().filter(|line| line.starts_with("lease_") && !line.starts_with("lease_exporter_"));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn sixteen_scrapes_at_once_share_one_reading() {
    let folder = folder();
    database(&folder.path().join("any.db"), "CREATE TABLE t (x)");
    let exporter = Exporter::start(folder.path(), &changing("1m"));
    let replies = exporter.get_at_once("/metrics", 16);
    let metrics = Metrics::parse(&replies[0].body);
    assert!(metrics.known("lease_due", "own", "changing") > 3e11);
    let bodies: Vec<_> = replies.iter().map(|reply| of_leases(&reply.body)).collect();
    assert!(bodies.iter().all(|body| *body == bodies[0]), "{bodies:?}");
    // The page and the JSON show the same reading.
    let due = metrics.text_of("lease_due", &[]).unwrap().to_owned();
    assert!(exporter.get("/api/v1/leases").body.contains(&format!("\"count\":{due}")));
    assert!(exporter.get("/").body.contains(&due));
}

#[test]
fn consecutive_scrapes_without_reuse_read_each_time() {
    let folder = folder();
    database(&folder.path().join("any.db"), "CREATE TABLE t (x)");
    let exporter = Exporter::start(folder.path(), &changing("0s"));
    let due = || exporter.scrape().known("lease_due", "own", "changing");
    let seen = [due(), due(), due(), due()];
    assert!(seen.iter().any(|value| *value != seen[0]), "{seen:?}");
}

#[test]
fn requests_beyond_the_limit_are_refused_and_not_queued_behind_a_slow_store() {
    let folder = folder();
    database(&folder.path().join("any.db"), "CREATE TABLE t (x)");
    let limit = "--web.max-requests=2";
    let exporter = Exporter::start_with(folder.path(), &beside_a_slow_one("3s"), &[limit]);
    let replies = exporter.get_at_once("/metrics", 6);
    let answered = |status| replies.iter().filter(|reply| reply.status == status).count();
    assert!(answered(200) >= 2 && answered(503) >= 1, "{} and {}", answered(200), answered(503));
    assert_eq!(answered(200) + answered(503), 6);
    assert_eq!(exporter.get("/-/healthy").status, 200);
}

#[test]
fn the_health_of_the_exporter_does_not_depend_on_a_store() {
    let folder = folder();
    let exporter = Exporter::start(folder.path(), &beside_a_slow_one("1s"));
    for path in ["/-/healthy", "/-/ready"] {
        let reply = exporter.get(path);
        assert_eq!((reply.status, reply.body.as_str()), (200, "OK\n"));
    }
    assert_eq!(exporter.get("/-/elsewhere").status, 404);
}

#[test]
fn sigterm_and_sigint_end_the_exporter_promptly_with_exit_code_0() {
    for signal in [Signal::TERM, Signal::INT] {
        let folder = folder();
        database(&folder.path().join("any.db"), "CREATE TABLE t (x)");
        let exporter = Exporter::start(folder.path(), &beside_a_slow_one("100ms"));
        exporter.scrape();
        // An idle connection does not delay the exit.
        let mut idle = TcpStream::connect(exporter.address()).unwrap();
        idle.write_all(b"GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        idle.read_exact(&mut [0; 15]).unwrap();
        let began = now();
        let finished = exporter.stop_by(signal);
        assert_eq!(finished.code, Some(0), "{}", finished.all());
        assert!(now() - began < Duration::from_secs(10), "it took {:?}", now() - began);
    }
}

#[test]
fn sigterm_lets_a_scrape_in_progress_finish() {
    let folder = folder();
    let file = database(&folder.path().join("any.db"), "CREATE TABLE t (x)");
    let exporter = Exporter::start(folder.path(), &beside_a_slow_one("600s"));
    let scrape = send_scrape(&exporter, "4");
    eventually("the read to be in progress", || is_being_read(&file).then_some(()));
    let finished = exporter.stop_by(Signal::TERM);
    assert_eq!(finished.code, Some(0), "{}", finished.all());
    let metrics = Metrics::parse(&http::answer(scrape).body);
    assert_eq!(metrics.says("fast", "steady"), Some(("active", "progressing")));
    assert_eq!(metrics.says("slow", "slow"), Some(("unknown", "store_timeout")));
}

#[test]
fn sigterm_does_not_wait_for_a_read_without_a_waiting_scrape() {
    let folder = folder();
    let file = database(&folder.path().join("any.db"), "CREATE TABLE t (x)");
    let exporter = Exporter::start(folder.path(), &beside_a_slow_one("600s"));
    let scrape = send_scrape(&exporter, "600");
    eventually("the read to be in progress", || is_being_read(&file).then_some(()));
    drop(scrape);
    let began = now();
    let finished = exporter.stop_by(Signal::TERM);
    assert_eq!(finished.code, Some(0), "{}", finished.all());
    // Without the signal, the read goes on for two minutes, the longest time of a scrape.
    assert!(now() - began < Duration::from_secs(30), "it took {:?}", now() - began);
}

/// Sends a scrape and does not wait for the response.
fn send_scrape(exporter: &Exporter, seconds: &str) -> TcpStream {
    let mut stream = TcpStream::connect(exporter.address()).unwrap();
    let header = format!("X-Prometheus-Scrape-Timeout-Seconds: {seconds}");
    let request = format!("GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{header}\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

/// Whether a connection has received nothing yet.
fn is_unanswered(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let nothing = stream.peek(&mut [0]).is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock);
    stream.set_nonblocking(false).unwrap();
    nothing
}

/// Whether the exporter is reading this file. A read in progress prevents an exclusive transaction.
fn is_being_read(file: &Connection) -> bool {
    file.busy_timeout(Duration::ZERO).unwrap();
    file.execute_batch("BEGIN EXCLUSIVE; ROLLBACK").is_err()
}
