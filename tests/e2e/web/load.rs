//! Memory, descriptors and response times while clients are many, slow, silent or malformed.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use super::client::{connect, plainly};
use super::{configure, start, steady};
use crate::harness::store::{folder, reference};
use crate::harness::{Exporter, eventually, now};

/// Memory that other responses may hold while one is sent, in MiB. Documented under addresses and limits.
const RESPONSE_BUDGET: f64 = 32.0;
/// Most connections. Documented in the same place.
const MAX_CONNECTIONS: f64 = 512.0;
/// Largest head of a request, and the memory allowed for everything else of a connection, in MiB.
const MAX_HEAD: f64 = 32.0 / 1024.0;

/// The number of open descriptors, by the exporter's own metrics.
fn open_descriptors(exporter: &Exporter) -> f64 {
    exporter.scrape().value("process_open_fds", &[]).unwrap()
}

/// A size from `/proc/PID/status`, in MiB.
fn status_size(exporter: &Exporter, key: &str) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", exporter.process().pid())).unwrap();
    let kib = status.lines().find_map(|line| line.strip_prefix(key)?.trim().strip_suffix(" kB")).unwrap();
    kib.parse::<f64>().unwrap() / 1024.0
}

/// Resets the peak of the resident memory, applies a load, and returns by how many MiB the peak during the load exceeds
/// the resident memory before it.
fn peak_growth(exporter: &Exporter, load: impl FnOnce()) -> f64 {
    std::fs::write(format!("/proc/{}/clear_refs", exporter.process().pid()), "5").unwrap();
    let before = status_size(exporter, "VmRSS:");
    load();
    status_size(exporter, "VmHWM:") - before
}

/// A size in MiB.
fn mebibytes(bytes: usize) -> f64 {
    bytes as f64 / 1_048_576.0
}

/// A query without a table that returns a number of leases.
fn query_of(leases: u32) -> String {
    format!(
        "WITH RECURSIVE clock AS MATERIALIZED (SELECT unixepoch('subsec') AS now), \
         n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {leases}) \
         SELECT now AS store_now, printf('lease-%05d', i) AS lease, 'holder' AS holder, 1 AS epoch, \
         now - 9 AS acquired_at, now - 1 AS renewed_at, now + 60 AS expires_at, now - 1 AS progress_at, \
         1 AS progress_epoch, 0 AS due FROM n, clock"
    )
}

/// Sources `s0`, `s1` and so on with a number of leases each.
fn sources_of(folder: &std::path::Path, sources: usize, leases: u32, reuse_for: &str) -> String {
    drop(crate::harness::store::database(&folder.join("empty.db"), "CREATE TABLE t (x)"));
    let query = query_of(leases);
    let source = |number| {
        format!(
            "  - {{ name: s{number}, store: 'sqlite://empty.db', timeout: 60s, reuse_for: {reuse_for}, query: \"{query}\" }}\n"
        )
    };
    format!("sources:\n{}", (0..sources).map(source).collect::<String>())
}

/// Scrapes again and again while a load is applied, and returns the longest time that a scrape took.
fn longest_scrape_during(exporter: &Exporter, load: impl FnOnce()) -> Duration {
    let (done, longest) = (AtomicBool::new(false), AtomicU32::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                let reply = exporter.get("/metrics");
                assert_eq!(reply.status, 200);
                longest.fetch_max(u32::try_from(reply.took.as_millis()).unwrap(), Ordering::SeqCst);
            }
        });
        let _guard = SetOnDrop(&done);
        load();
    });
    Duration::from_millis(longest.into_inner().into())
}

/// Sets a flag at the end of a scope, even if the scope panics.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Whether the peer closes the connection in time.
fn is_closed(mut stream: TcpStream, within: Duration) -> bool {
    stream.set_read_timeout(Some(within)).unwrap();
    match stream.read(&mut [0; 1024]) {
        Ok(read) => read == 0,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

#[test]
fn idle_connections_beyond_the_limit_delay_no_scrape_and_take_bounded_memory() {
    let folder = folder();
    let exporter = Exporter::start(folder.path(), &steady(folder.path()));
    let descriptors_before = open_descriptors(&exporter);
    let (mut idle, mut descriptors, mut longest) = (Vec::new(), 0.0, Duration::ZERO);
    let unfinished_head = format!("GET /metrics HTTP/1.1\r\nX: {}", "x".repeat(30_000));
    let growth = peak_growth(&exporter, || {
        longest = longest_scrape_during(&exporter, || {
            for number in 0..1_000 {
                let mut stream = connect(exporter.address());
                if number % 2 == 0 {
                    stream.write_all(unfinished_head.as_bytes()).unwrap();
                }
                idle.push(stream);
            }
            for _ in 0..20 {
                descriptors = f64::max(descriptors, open_descriptors(&exporter));
            }
        });
    });
    println!("{descriptors_before} descriptors before, {descriptors} during the load; longest scrape {longest:?}");
    assert!(descriptors < MAX_CONNECTIONS + 88.0, "{descriptors} descriptors");
    assert!(growth < MAX_CONNECTIONS * 2.0 * MAX_HEAD, "{growth} MiB more");
    assert!(longest < Duration::from_secs(10), "a scrape took {longest:?}");
    drop(idle);
    eventually("the connections to be closed", || {
        (open_descriptors(&exporter) < descriptors_before + 20.0).then_some(())
    });
}

#[test]
fn two_hundred_scrapes_at_once_share_readings_and_memory() {
    let folder = folder();
    let store = reference(&folder.path().join("scheduler.db"));
    store
        .execute_batch(
            "WITH RECURSIVE n(i) AS (SELECT 4999 UNION ALL SELECT i - 1 FROM n WHERE i > 0), \
             clock AS (SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER) AS now) \
             INSERT INTO scheduler_lease \
             SELECT printf('lease-%05d', i), 'holder', 1, now - 9000, now - 1000, now + 3600000 FROM n, clock",
        )
        .unwrap();
    let yaml = "sources: [{name: documents, store: 'sqlite://scheduler.db', preset: reference, timeout: 60s}]\n";
    let exporter = Exporter::start_with(folder.path(), yaml, &["--web.max-requests=0"]);
    let one = exporter.get("/metrics");
    let mut replies = Vec::new();
    let growth = peak_growth(&exporter, || replies = exporter.get_at_once("/metrics", 200));
    assert!(replies.iter().all(|reply| reply.status == 200 && reply.body.len() > one.body.len() / 2));
    let response = mebibytes(one.body.len());
    println!("200 scrapes of {response:.1} MiB each");
    // The response that is sent, and the budget of all others. A copy for each scrape would take two hundred times that.
    assert!(growth < response + RESPONSE_BUDGET, "{growth} MiB more for responses of {response} MiB");
}

#[test]
fn parallel_scrapes_of_different_sources_are_all_complete() {
    let folder = folder();
    let yaml = sources_of(folder.path(), 5, 10_000, "1s");
    let exporter = Exporter::start_with(folder.path(), &yaml, &["--web.max-requests=0"]);
    let sets: Vec<_> = (1..32_u32)
        .map(|set| {
            let of = |number: u32| if set & 1 << number == 0 { String::new() } else { format!("&source=s{number}") };
            (set.count_ones(), format!("/metrics?{}", (0..5).map(of).collect::<String>()))
        })
        .collect();
    // First five at a time, as several scrape jobs do, and then all of them.
    for at_once in [5, 31] {
        for some in sets.chunks(at_once) {
            thread::scope(|scope| {
                for (sources, path) in some {
                    let exporter = &exporter;
                    scope.spawn(move || {
                        let header = ("X-Prometheus-Scrape-Timeout-Seconds", "60".to_owned());
                        let reply = crate::harness::http::get(exporter.address(), path, &[header]);
                        assert_eq!(reply.status, 200, "{path}: {}", reply.body);
                        let epochs = reply.body.lines().filter(|line| line.starts_with("lease_epoch{")).count();
                        assert_eq!(epochs, *sources as usize * 10_000, "{path}");
                    });
                }
            });
        }
    }
    assert!(!exporter.log().contains("cut off"), "{}", exporter.log());
}

#[test]
fn clients_that_read_nothing_hold_no_more_than_the_response_budget_and_delay_a_scrape_only_briefly() {
    let folder = folder();
    let exporter = Exporter::start(folder.path(), &sources_of(folder.path(), 1, 10_000, "0s"));
    let response = mebibytes(exporter.get("/metrics").body.len());
    let (mut stuck, mut took) = (Vec::new(), Duration::ZERO);
    let growth = peak_growth(&exporter, || {
        for _ in 0..8 {
            // Nothing is reused, so each client is sent a reading that no other client is sent.
            let mut stream = connect(exporter.address());
            stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: test\r\n\r\n").unwrap();
            stream.read_exact(&mut [0]).unwrap();
            stuck.push(stream);
        }
        let reply = exporter.get("/metrics");
        assert_eq!(reply.status, 200);
        took = reply.took;
    });
    println!("eight clients with {response:.1} MiB each; another scrape took {took:?}");
    assert!(growth < response + f64::max(response, RESPONSE_BUDGET), "{growth} MiB more");
    assert!(took < Duration::from_secs(8), "{took:?}");
}

#[test]
fn scrapes_beyond_the_request_limit_are_refused_and_those_within_it_are_not() {
    let folder = folder();
    let exporter = Exporter::start_with(folder.path(), &steady(folder.path()), &["--web.max-requests=2"]);
    let replies = exporter.get_at_once("/metrics", 100);
    assert!(replies.iter().all(|reply| [200, 503].contains(&reply.status)));
    assert!(replies.iter().any(|reply| reply.status == 200));
    assert_eq!(exporter.get("/metrics").status, 200);
}

#[test]
fn oversized_heads_bodies_and_other_protocols_are_refused_and_take_bounded_memory() {
    const CLIENTS: usize = 100;
    let folder = folder();
    let exporter = Exporter::start(folder.path(), &steady(folder.path()));
    let descriptors_before = open_descriptors(&exporter);
    let long = format!("GET /metrics HTTP/1.1\r\nHost: test\r\nX: {}\r\n\r\n", "x".repeat(1 << 20));
    let many = format!("GET /metrics HTTP/1.1\r\nHost: test\r\n{}\r\n", "X: y\r\n".repeat(5_000));
    let requests = [
        (long.as_bytes(), "a long header"),
        (many.as_bytes(), "many headers"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" as &[u8], "a TLS hello"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "an HTTP/2 preface"),
        (b"\0\0\0\0\r\n\r\n\r\n\r\n\r\n", "binary data"),
        (b"POST /metrics HTTP/1.1\r\nHost: test\r\nContent-Length: 99999999999\r\n\r\nxxxxx", "a body"),
    ];
    let send = |text: &[u8]| {
        let mut stream = connect(exporter.address());
        // The exporter may refuse the request before all of it is sent.
        let _ = stream.write_all(text);
        stream
    };
    let (mut held, mut longest) = (Vec::new(), Duration::ZERO);
    let growth = peak_growth(&exporter, || {
        longest = longest_scrape_during(&exporter, || {
            for attempt in 0..20 {
                for (text, what) in requests {
                    let mut response = Vec::new();
                    let _ = send(text).take(1 << 20).read_to_end(&mut response);
                    let response = String::from_utf8_lossy(&response).into_owned();
                    assert!(!response.contains(" 200 "), "{attempt} {what}: {response}");
                    assert!(response.is_empty() || response.starts_with("HTTP/1.1 4"), "{attempt} {what}: {response}");
                }
            }
            held.extend((0..CLIENTS).map(|_| send(long.as_bytes())));
        });
    });
    println!("longest scrape {longest:?}");
    drop(held);
    eventually("the connections to be closed", || {
        (open_descriptors(&exporter) < descriptors_before + 20.0).then_some(())
    });
    // The clients send 100 MiB at once. Each connection may buffer one head; 8 MiB are for the scrapes beside them.
    assert!(growth < CLIENTS as f64 * 2.0 * MAX_HEAD + 8.0, "{growth} MiB more");
}

#[test]
fn unfinished_handshake_is_closed() {
    let (folder, certificates) = (folder(), crate::servers::Certificates::make());
    let server = certificates.server();
    let exporter = start(
        folder.path(),
        &format!(
            "tls_server_config: {{cert_file: {}, key_file: {}}}\n",
            server.certificate_file.display(),
            server.key_file.display()
        ),
    );
    let silent = connect(exporter.address());
    let mut half = connect(exporter.address());
    half.write_all(b"\x16\x03\x01\x02\x00\x01\x00").unwrap();
    assert!(is_closed(silent, Duration::from_secs(30)));
    assert!(is_closed(half, Duration::from_secs(30)));
}

/// Starts an exporter with a limit of open descriptors.
fn start_with_descriptor_limit(folder: &std::path::Path, limit: usize) -> Exporter {
    let config = crate::harness::exporter::configure(folder, &steady(folder));
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &format!("ulimit -n {limit}; exec \"$@\""), "sh"]).arg(crate::harness::process::program());
    shell.arg(format!("--config.file={}", config.display())).arg("--web.listen-address=127.0.0.1:0");
    shell.env_remove("LEASE_EXPORTER_CONFIG_FILE");
    Exporter::started(crate::harness::Process::start(shell))
}

#[test]
fn with_few_descriptors_fewer_connections_are_kept_and_each_client_is_answered() {
    let folder = folder();
    let exporter = start_with_descriptor_limit(folder.path(), 64);
    exporter.process().stderr.wait_for("connections=32");
    let idle: Vec<_> = (0..104).map(|_| connect(exporter.address())).collect();
    for _ in 0..3 {
        assert_eq!(plainly(exporter.address(), "GET", "/-/healthy", "").unwrap().status, 200);
        assert_eq!(exporter.scrape().leases("own"), ["steady"]);
    }
    assert!(!exporter.log().contains("a connection could not be accepted"), "{}", exporter.log());
    drop(idle);
}

#[test]
fn without_free_descriptors_idle_connections_are_closed() {
    let folder = folder();
    let exporter = Exporter::start(folder.path(), &steady(folder.path()));
    // The exporter reads its limit before it serves.
    assert_eq!(plainly(exporter.address(), "GET", "/-/healthy", "").unwrap().status, 200);
    // A lower limit than at the start, as if stores and files had taken all other descriptors.
    let few = rustix::process::Rlimit { current: Some(64), maximum: Some(64) };
    rustix::process::prlimit(Some(exporter.process().pid()), rustix::process::Resource::Nofile, few).unwrap();
    let idle: Vec<_> = (0..104).map(|_| connect(exporter.address())).collect();
    exporter.process().stderr.wait_for("a connection could not be accepted");
    assert_eq!(plainly(exporter.address(), "GET", "/-/healthy", "").unwrap().status, 200);
    let lines = exporter.log().matches("a connection could not be accepted").count();
    assert!(lines < 10, "{lines} lines");
    drop(idle);
    assert_eq!(exporter.scrape().leases("own"), ["steady"]);
}

#[test]
fn guessed_passwords_do_not_keep_a_user_out() {
    let folder = folder();
    // With this cost, a guess takes about 100 ms in an optimized build.
    let hash = bcrypt::hash_with_salt("right", 8, *b"sixteen bytes ok").unwrap();
    let web = configure(folder.path(), &format!("basic_auth_users: {{prometheus: {hash}}}\n"));
    let exporter = Arc::new(Exporter::start_with(folder.path(), &steady(folder.path()), &[&web]));
    let user = super::client::login("prometheus", "right");
    assert_eq!(plainly(exporter.address(), "GET", "/metrics", &user).unwrap().status, 200);
    let done = AtomicBool::new(false);
    let longest = thread::scope(|scope| {
        let _guard = SetOnDrop(&done);
        for guesser in 0..8 {
            let (exporter, done) = (&exporter, &done);
            scope.spawn(move || {
                for guess in 0.. {
                    if done.load(Ordering::SeqCst) {
                        return;
                    }
                    let login = super::client::login("prometheus", &format!("{guesser}-{guess}"));
                    assert_eq!(plainly(exporter.address(), "GET", "/metrics", &login).unwrap().status, 401);
                }
            });
        }
        let mut longest = Duration::ZERO;
        for _ in 0..50 {
            let began = now();
            assert_eq!(plainly(exporter.address(), "GET", "/metrics", &user).unwrap().status, 200);
            longest = longest.max(now() - began);
        }
        longest
    });
    println!("longest response for a user while eight clients guess: {longest:?}");
    assert!(longest < Duration::from_secs(5), "{longest:?}");
}
