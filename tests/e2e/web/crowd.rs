//! Clients that are slow, silent, many, or mean, while others go on.

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

/// What the exporter says of itself.
fn own(exporter: &Exporter) -> (f64, f64) {
    let metrics = exporter.scrape();
    let value = |name: &str| metrics.value(name, &[]).unwrap();
    (value("process_resident_memory_bytes") / 1048576.0, value("process_open_fds"))
}

/// The most memory that it has had, in MiB.
fn peak(exporter: &Exporter) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", exporter.process().pid())).unwrap();
    let kib = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")).unwrap();
    kib.parse::<f64>().unwrap() / 1024.0
}

/// A query without a table that gives so many leases.
fn query_of(leases: u32) -> String {
    format!(
        "WITH RECURSIVE clock AS MATERIALIZED (SELECT unixepoch('subsec') AS now), \
         n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {leases}) \
         SELECT now AS store_now, printf('lease-%05d', i) AS lease, 'holder' AS holder, 1 AS epoch, \
         now - 9 AS acquired_at, now - 1 AS renewed_at, now + 60 AS expires_at, now - 1 AS progress_at, \
         1 AS progress_epoch, 0 AS due FROM n, clock"
    )
}

/// Sources `s0`, `s1` and so on of so many leases each.
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

/// Asks as an honest client does while something else goes on; gives the longest time that an answer took.
fn honest_while(exporter: &Exporter, something: impl FnOnce()) -> Duration {
    let (done, longest) = (AtomicBool::new(false), AtomicU32::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                let reply = exporter.get("/metrics");
                assert_eq!(reply.status, 200);
                longest.fetch_max(u32::try_from(reply.took.as_millis()).unwrap(), Ordering::SeqCst);
            }
        });
        let _done = Done(&done);
        something();
    });
    Duration::from_millis(longest.into_inner().into())
}

/// Tells that something is done, even if it failed.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Whether the other side has closed it, or closes it in time.
fn is_closed(mut stream: TcpStream, within: Duration) -> bool {
    stream.set_read_timeout(Some(within)).unwrap();
    match stream.read(&mut [0; 1024]) {
        Ok(read) => read == 0,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

#[test]
fn a_thousand_idle_connections_keep_nobody_out() {
    let folder = folder();
    let exporter = Exporter::start(folder.path(), &steady(folder.path()));
    let before = own(&exporter);
    let mut idle = Vec::new();
    let mut during = (0.0, 0.0);
    let longest = honest_while(&exporter, || {
        // Silent, and in the midst of a head.
        for number in 0..1_000 {
            let mut stream = connect(exporter.address());
            if number % 2 == 0 {
                write!(stream, "GET /metrics HTTP/1.1\r\nX-").unwrap();
            }
            idle.push(stream);
        }
        for _ in 0..20 {
            let (memory, descriptors) = own(&exporter);
            during = (f64::max(during.0, memory), f64::max(during.1, descriptors));
        }
    });
    println!("before {before:?}, with 1,000 idle {during:?} (MiB, descriptors); longest answer {longest:?}");
    assert!(during.1 < 600.0, "{} descriptors", during.1);
    assert!(during.0 - before.0 < 64.0, "{} MiB more", during.0 - before.0);
    assert!(longest < Duration::from_secs(10), "an honest client waited {longest:?}");
    drop(idle);
    eventually("the connections to be gone", || (own(&exporter).1 < before.1 + 20.0).then_some(()));
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
    let before = own(&exporter);
    let began = now();
    let replies = exporter.get_at_once("/metrics", 200);
    let took = now() - began;
    assert!(replies.iter().all(|reply| reply.status == 200 && reply.body.len() > one.body.len() / 2));
    let peak = peak(&exporter);
    let megabytes = one.body.len() as f64 / 1e6;
    println!(
        "200 scrapes of {megabytes:.1} MB each at once: {took:?}; {before:?} before (MiB, descriptors), {peak} MiB at most"
    );
    // A few readings and what is on its way to each client, and no copy for each.
    assert!(peak - before.0 < 10.0 * megabytes + 32.0, "{} MiB more", peak - before.0);
}

#[test]
fn parallel_scrapes_of_different_sources_all_come_whole() {
    let folder = folder();
    let yaml = sources_of(folder.path(), 5, 10_000, "1s");
    let exporter = Exporter::start_with(folder.path(), &yaml, &["--web.max-requests=0"]);
    let sets: Vec<_> = (1..32_u32)
        .map(|set| {
            let of = |number: u32| if set & 1 << number == 0 { String::new() } else { format!("&source=s{number}") };
            (set.count_ones(), format!("/metrics?{}", (0..5).map(of).collect::<String>()))
        })
        .collect();
    // Five at a time, as in the scrapes of several jobs, and then all of them.
    for at_once in [5, 31] {
        for some in sets.chunks(at_once) {
            thread::scope(|scope| {
                for (sources, path) in some {
                    let exporter = &exporter;
                    scope.spawn(move || {
                        let patience = ("X-Prometheus-Scrape-Timeout-Seconds", "60".to_owned());
                        let reply = crate::harness::http::get(exporter.address(), path, &[patience]);
                        assert_eq!(reply.status, 200, "{path}: {}", reply.body);
                        let epochs = reply.body.lines().filter(|line| line.starts_with("lease_epoch{")).count();
                        assert_eq!(epochs, *sources as usize * 10_000, "{path}");
                    });
                }
            });
        }
    }
    println!("{} MiB at most", peak(&exporter));
    assert!(!exporter.log().contains("cut off"), "{}", exporter.log());
}

#[test]
fn clients_that_read_nothing_hold_little_memory_and_make_others_wait_only_for_a_moment() {
    let folder = folder();
    let exporter = Exporter::start(folder.path(), &sources_of(folder.path(), 1, 10_000, "0s"));
    let one = exporter.get("/metrics");
    let megabytes = one.body.len() as f64 / 1e6;
    let before = peak(&exporter);
    let mut stuck = Vec::new();
    for _ in 0..8 {
        // Each is sent another reading.
        let mut stream = connect(exporter.address());
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: test\r\n\r\n").unwrap();
        stream.read_exact(&mut [0]).unwrap();
        stuck.push(stream);
    }
    let reply = exporter.get("/metrics");
    assert_eq!(reply.status, 200);
    let after = peak(&exporter);
    println!(
        "{megabytes:.1} MB each; {before} MiB at most before, {after} MiB with eight; another waited {:?}",
        reply.took
    );
    assert!(after - before < 4.0 * megabytes + 32.0, "{before} MiB before, {after} MiB with eight");
    assert!(reply.took < Duration::from_secs(8), "{:?}", reply.took);
}

#[test]
fn scrapes_beyond_the_limit_are_refused_and_those_within_are_not() {
    let folder = folder();
    let exporter = Exporter::start_with(folder.path(), &steady(folder.path()), &["--web.max-requests=2"]);
    let replies = exporter.get_at_once("/metrics", 100);
    assert!(replies.iter().all(|reply| [200, 503].contains(&reply.status)));
    assert!(replies.iter().any(|reply| reply.status == 200));
    assert_eq!(exporter.get("/metrics").status, 200);
}

#[test]
fn heads_too_large_bodies_and_nonsense_cost_nobody_else_anything() {
    let folder = folder();
    let exporter = Exporter::start(folder.path(), &steady(folder.path()));
    let before = own(&exporter);
    let longest = honest_while(&exporter, || {
        for round in 0..20 {
            let send = |text: &[u8]| {
                let mut stream = connect(exporter.address());
                // It may be refused before all is sent.
                let _ = stream.write_all(text);
                stream
            };
            let long = format!("GET /metrics HTTP/1.1\r\nHost: test\r\nX: {}\r\n\r\n", "x".repeat(1 << 20));
            let many = format!("GET /metrics HTTP/1.1\r\nHost: test\r\n{}\r\n", "X: y\r\n".repeat(5_000));
            for (text, what) in [
                (long.as_bytes(), "a long header"),
                (many.as_bytes(), "many headers"),
                (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" as &[u8], "a hello of TLS"),
                (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "a preface of HTTP/2"),
                (b"\0\0\0\0\r\n\r\n\r\n\r\n\r\n", "nonsense"),
                (b"POST /metrics HTTP/1.1\r\nHost: test\r\nContent-Length: 99999999999\r\n\r\nxxxxx", "a body"),
            ] {
                let stream = send(text);
                let mut answer = Vec::new();
                let _ = stream.take(1 << 20).read_to_end(&mut answer);
                let answer = String::from_utf8_lossy(&answer).into_owned();
                assert!(!answer.contains(" 200 "), "{round} {what}: {answer}");
                assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{round} {what}: {answer}");
            }
        }
    });
    let after = own(&exporter);
    println!("{before:?} before, {after:?} after nonsense; longest answer {longest:?}");
    assert!(after.1 < before.1 + 20.0 && after.0 < before.0 + 32.0, "{before:?} {after:?}");
}

#[test]
fn who_does_not_finish_a_handshake_is_dropped() {
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

/// An exporter that may have so few descriptors.
fn with_descriptors(folder: &std::path::Path, most: usize) -> Exporter {
    let own = crate::harness::exporter::configure(folder, &steady(folder));
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &format!("ulimit -n {most}; exec \"$@\""), "sh"]).arg(crate::harness::process::program());
    shell.arg(format!("--config.file={}", own.display())).arg("--web.listen-address=127.0.0.1:0");
    shell.env_remove("LEASE_EXPORTER_CONFIG_FILE");
    Exporter::started(crate::harness::Process::start(shell))
}

#[test]
fn with_few_descriptors_there_are_fewer_connections_and_everybody_is_answered() {
    let folder = folder();
    let exporter = with_descriptors(folder.path(), 64);
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
fn out_of_descriptors_whoever_is_idle_makes_room() {
    let folder = folder();
    let exporter = Exporter::start(folder.path(), &steady(folder.path()));
    // Once it serves, it has looked at its limit.
    assert_eq!(plainly(exporter.address(), "GET", "/-/healthy", "").unwrap().status, 200);
    // Fewer than it began with, as if its stores and files had taken all others.
    let few = rustix::process::Rlimit { current: Some(64), maximum: Some(64) };
    rustix::process::prlimit(Some(exporter.process().pid()), rustix::process::Resource::Nofile, few).unwrap();
    let idle: Vec<_> = (0..104).map(|_| connect(exporter.address())).collect();
    exporter.process().stderr.wait_for("a connection could not be accepted");
    assert_eq!(plainly(exporter.address(), "GET", "/-/healthy", "").unwrap().status, 200);
    let told = exporter.log().matches("a connection could not be accepted").count();
    assert!(told < 10, "{told} lines");
    drop(idle);
    assert_eq!(exporter.scrape().leases("own"), ["steady"]);
}

#[test]
fn guesses_do_not_keep_a_user_out() {
    let folder = folder();
    // Of a cost that makes a guess felt: some 100 ms in an optimised build.
    let hash = bcrypt::hash_with_salt("right", 8, *b"sixteen bytes ok").unwrap();
    let web = configure(folder.path(), &format!("basic_auth_users: {{prometheus: {hash}}}\n"));
    let exporter = Arc::new(Exporter::start_with(folder.path(), &steady(folder.path()), &[&web]));
    let user = super::client::login("prometheus", "right");
    assert_eq!(plainly(exporter.address(), "GET", "/metrics", &user).unwrap().status, 200);
    let done = AtomicBool::new(false);
    let longest = thread::scope(|scope| {
        let _done = Done(&done);
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
    println!("longest answer for a user while eight clients guess: {longest:?}");
    assert!(longest < Duration::from_secs(5), "{longest:?}");
}
