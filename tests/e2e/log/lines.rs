//! Log lines with content from stores, clients and configuration.

use std::io::Write as _;
use std::net::TcpStream;

use rustix::process::Signal;

use super::reader::{json, logfmt, unquoted_by_go};
use crate::harness::exporter::configure;
use crate::harness::store::{STEADY, database, folder};
use crate::harness::{Exporter, eventually, run};

/// Sources whose errors contain special characters.
fn hostile(folder: &std::path::Path) -> String {
    let at = |name: &str| folder.join(name);
    let odd = database(&at("odd.db"), "CREATE TABLE odd (store_now, xx)");
    // A column name in invalid UTF-8, on which a library may panic.
    odd.execute_batch(
        "INSERT INTO odd VALUES (1000, 1); PRAGMA writable_schema = ON; \
         UPDATE sqlite_schema SET sql = CAST(x'435245415445205441424c45206f6464202873746f72655f6e6f772c20ff782900' AS TEXT)",
    )
    .unwrap();
    odd.close().unwrap();
    database(&at("own.db"), "CREATE TABLE own (x)");
    let mut yaml =
        String::from("sources:\n  - {name: odd, store: 'sqlite://odd.db', reuse_for: 0s, query: SELECT * FROM odd}\n");
    for (number, query) in [
        STEADY,
        "SELECT 1 AS store_now, 2 AS \\\"it's = a \\\\\\\"column\\\\\\\"\\\"",
        "SELECT 1 AS store_now, 2 AS \\\"forged\\nts=1 level=error msg=forged\\\"",
        "SELECT 1 AS store_now, 2 AS \\\"\\e[2J\\u202e\\u2028\\x7f\\U000e0041\\\"",
        "SELECT 1 AS store_now, 2 AS \\\"no = such\\\" FROM \\\"it's\\\"",
    ]
    .iter()
    .enumerate()
    {
        yaml += &format!("  - {{name: own-{number}, store: 'sqlite://own.db', reuse_for: 0s, query: \"{query}\"}}\n");
    }
    yaml
}

#[test]
fn every_log_line_can_be_parsed_whatever_stores_and_clients_send() {
    for format in ["logfmt", "json"] {
        let folder = folder();
        let yaml = hostile(folder.path());
        let more = ["--log.level=debug", &format!("--log.format={format}"), "--web.enable-lifecycle"];
        let exporter = Exporter::start_with(folder.path(), &yaml, &more);
        let metrics = exporter.scrape();
        assert_eq!(metrics.source("lease_source_up", "own-0"), Some(1.0));
        for path in ["/?q=%22%0Alevel=error", "/x%0Ay", "/lease?source=%22%1b&lease=%E2%80%AE"] {
            exporter.get(path);
        }
        for garbage in ["\"\\' = \n\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET /\u{1b} HTTP/1.1\r\nA\"=: b\r\n\r\n"] {
            let mut stream = TcpStream::connect(exporter.address()).unwrap();
            stream.write_all(garbage.as_bytes()).unwrap();
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
        }
        configure(folder.path(), "sources:\n  - {name: \"it's = \\\"\\e[2J\", store: 'x:y', 'a\"b': 1}\n");
        exporter.process().signal(Signal::HUP);
        eventually("the reload to be told", || exporter.log().contains("the one before stays").then_some(()));
        let finished = exporter.stop();
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), ""));
        let log = &finished.stderr;
        let lines = if format == "json" { json(log) } else { logfmt(log) };
        assert!(!log.contains(['\u{1b}', '\u{202e}', '\u{2028}', '\u{7f}', '\r', '\u{e0041}']), "{log}");
        assert!(lines.iter().all(|line| line["msg"] != "forged"), "{log}");
        for (msg, at_least) in
            [("the source cannot be read", 5), ("listening", 1), ("the configuration cannot be used", 1)]
        {
            let told = lines.iter().filter(|line| line["msg"].as_str().unwrap().starts_with(msg)).count();
            assert!(told >= at_least, "{told} of {msg}: {log}");
        }
        if format == "logfmt" {
            assert!(unquoted_by_go(log).iter().any(|text| text.contains("cannot be read")));
        }
    }
}

#[test]
fn panic_logs_only_its_location() {
    let folder = folder();
    let config = format!("--config.file={}", configure(folder.path(), &hostile(folder.path())).display());
    let status = run(&["status", &config]);
    let lines = logfmt(&status.stderr);
    let told: Vec<_> = lines.iter().filter(|line| line["msg"].as_str().unwrap().contains("panicked")).collect();
    assert_eq!(told.len(), 1, "{}", status.stderr);
    let place = told[0]["place"].as_str().unwrap();
    let checked = run(&["check", "--connect", &config]);
    assert_eq!(checked.stderr, format!("lease-exporter: a bug: a part of it panicked at {place}"));
}

#[test]
fn startup_failure_is_logged() {
    let folder = folder();
    let wrong =
        configure(folder.path(), "sources:\n  - {name: a, store: 'sqlite://a.db', preset: refrence, timeout: 0s}\n");
    let config = format!("--config.file={}", wrong.display());
    for (arguments, errors) in [(vec![config.as_str()], 2), (vec!["--config.file=/nowhere/it's = \"none\".yml"], 1)] {
        for (format, read) in [("logfmt", logfmt as fn(&str) -> _), ("json", json)] {
            let format = format!("--log.format={format}");
            let finished = run(&[arguments.as_slice(), &[&format]].concat());
            assert_eq!(finished.code, Some(3), "{}", finished.all());
            let lines = read(&finished.stderr);
            assert_eq!(lines.len(), errors, "{}", finished.stderr);
            assert!(
                lines.iter().all(|line| line["level"] == "error" && line["error"].as_str().unwrap().contains(".yml"))
            );
        }
    }
}
