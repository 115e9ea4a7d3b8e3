//! Repeated events are logged once and then counted.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Map, Value};

use super::reader::{json, logfmt};
use crate::harness::Exporter;
use crate::harness::store::{STEADY, database, folder};
use crate::servers::Certificates;

/// The number of events that the lines report.
fn events<'a>(lines: impl Iterator<Item = &'a Map<String, Value>>) -> u64 {
    let suppressed = |line: &Map<String, Value>| match line.get("suppressed") {
        None => 0,
        Some(Value::String(count)) => count.parse().unwrap(),
        Some(count) => count.as_u64().unwrap(),
    };
    lines.map(|line| 1 + suppressed(line)).sum()
}

#[test]
fn flapping_store_is_logged_in_few_lines_with_exact_counts_and_the_final_state() {
    for (format, read) in [("logfmt", logfmt as fn(&str) -> Vec<_>), ("json", json)] {
        let folder = folder();
        let path = folder.path().join("flaps.db");
        database(&path, "CREATE TABLE t (x)");
        let sources = ["flaps", "sound"].map(|name| {
            format!("  - {{name: {name}, store: 'sqlite://{name}.db', reuse_for: 0s, query: \"{STEADY}\"}}\n")
        });
        database(&folder.path().join("sound.db"), "CREATE TABLE t (x)");
        let yaml = format!("sources:\n{}", sources.concat());
        let exporter = Exporter::start_with(folder.path(), &yaml, &[&format!("--log.format={format}")]);
        let away = folder.path().join("away.db");
        // The store is up at the end, so the last line must report that.
        for _ in 0..50 {
            fs::rename(&path, &away).unwrap();
            assert_eq!(exporter.scrape().source("lease_source_up", "flaps"), Some(0.0));
            fs::rename(&away, &path).unwrap();
            assert_eq!(exporter.scrape().source("lease_source_up", "flaps"), Some(1.0));
        }
        assert_eq!(exporter.scrape().counted("lease_source_read_failures_total", "flaps", "store_unreachable"), 50.0);
        let log = exporter.log();
        let so_far = read(&log);
        let so_far: Vec<_> = so_far.iter().filter(|line| line.get("source").is_some()).collect();
        // The lines of one minute, and of a second minute if the test took that long.
        assert!((2..=4).contains(&so_far.len()), "{log}");
        let (first, second) = (so_far[0]["msg"].as_str().unwrap(), so_far[1]["msg"].as_str().unwrap());
        assert!(first.contains("cannot be read") && second.contains("can be read again"), "{log}");
        let finished = exporter.stop();
        let lines = read(&finished.stderr);
        assert!(
            lines.iter().all(|line| line.get("source").is_none_or(|source| source == "flaps")),
            "{}",
            finished.stderr
        );
        let told: Vec<_> = lines.iter().filter(|line| line.get("source").is_some()).collect();
        assert_eq!(events(told.iter().copied()), 100, "{}", finished.stderr);
        assert_eq!(told.len(), so_far.len() + 1, "{}", finished.stderr);
        assert_eq!(told.last().unwrap()["msg"], second, "{}", finished.stderr);
    }
}

#[test]
fn ten_thousand_changing_leases_cause_no_log_line() {
    let folder = folder();
    database(&folder.path().join("many.db"), "CREATE TABLE t (x)");
    let query = "WITH RECURSIVE clock AS MATERIALIZED (SELECT unixepoch('subsec') AS now), n(i) AS (SELECT 1 UNION ALL SELECT \
        i + 1 FROM n WHERE i < 10000) SELECT now AS store_now, 'lease-' || i AS lease, CASE WHEN abs(random()) % 2 THEN \
        'holder' END AS holder, now AS renewed_at, 60 AS ttl_seconds FROM clock, n";
    let yaml = format!("sources: [{{name: many, store: 'sqlite://many.db', reuse_for: 0s, query: \"{query}\"}}]\n");
    let exporter = Exporter::start_with(folder.path(), &yaml, &["--log.level=debug"]);
    let before = logfmt(&exporter.log()).len();
    for _ in 0..3 {
        assert_eq!(exporter.scrape().leases("many").len(), 10_000);
    }
    let lines = logfmt(&exporter.log());
    let of_leases = lines[before..].iter().filter(|line| line.get("source").is_some()).count();
    assert_eq!(of_leases, 0, "{}", exporter.log());
}

#[test]
fn a_thousand_refused_clients_are_logged_in_few_lines() {
    let (folder, certificates) = (folder(), Certificates::make());
    database(&folder.path().join("own.db"), "CREATE TABLE t (x)");
    let yaml = format!("sources: [{{name: own, store: 'sqlite://own.db', query: \"{STEADY}\"}}]\n");
    let server = certificates.server();
    let hash = bcrypt::hash_with_salt("right", 4, *b"sixteen bytes ok").unwrap();
    for (web, request, msg) in [
        (
            format!(
                "tls_server_config: {{cert_file: {}, key_file: {}}}\n",
                server.certificate_file.display(),
                server.key_file.display()
            ),
            "GET / HTTP/1.1\r\n\r\n".to_owned(),
            "a connection could not be protected",
        ),
        (
            format!("basic_auth_users: {{someone: {hash}}}\n"),
            "GET /metrics HTTP/1.1\r\nHost: h\r\nConnection: close\r\nAuthorization: Basic c29tZW9uZTp3cm9uZw==\r\n\r\n"
                .to_owned(),
            "a login was refused",
        ),
    ] {
        let file = folder.path().join("web.yml");
        fs::write(&file, web).unwrap();
        let exporter = Exporter::start_with(folder.path(), &yaml, &[&format!("--web.config.file={}", file.display())]);
        for _ in 0..1000 {
            let mut stream = TcpStream::connect(exporter.address()).unwrap();
            let _ = stream.write_all(request.as_bytes());
            let _ = stream.read_to_end(&mut Vec::new());
        }
        let finished = exporter.stop();
        let lines = logfmt(&finished.stderr);
        let told: Vec<_> = lines.iter().filter(|line| line["msg"] == msg).collect();
        assert!((2..=6).contains(&told.len()), "{}", finished.stderr);
        assert_eq!(events(told.into_iter()), 1000, "{}", finished.stderr);
    }
}
