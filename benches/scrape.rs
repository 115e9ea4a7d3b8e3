//! The cost of a scrape, beside the bare `SELECT` of the same rows in the same run.
//!
//! `make bench`; see `benches/README.md` for figures.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

use std::hint::black_box;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use lease_exporter::clock;
use lease_exporter::expose::Format;
use lease_exporter::expose::metrics::{Exposition, SourceMetrics};
use lease_exporter::lease::{Clock, LeaseKind, Policies, Policy, Reading, Rules, SourceEvaluator, TokenKey};
use lease_exporter::preset::Preset;
use lease_exporter::store::Scope;
use lease_exporter::store::sqlite::SqliteQuery;
use rusqlite::Connection;

const SIZES: [usize; 4] = [100, 1_000, 10_000, 100_000];

#[derive(Debug)]
struct Defaults(Arc<Policy>);

impl Policies for Defaults {
    fn policy(&self, _: &str) -> Arc<Policy> {
        Arc::clone(&self.0)
    }

    fn expected_leases(&self) -> Vec<Arc<str>> {
        Vec::new()
    }
}

/// A store with this many leases, each held and with progress, and one due occurrence in ten.
fn filled(leases: usize) -> (tempfile::TempDir, Connection) {
    let folder = tempfile::tempdir().unwrap();
    let connection = Connection::open(folder.path().join("store.db")).unwrap();
    connection.execute_batch(&format!("PRAGMA journal_mode = WAL; {}", lease_protocol::sqlite::SCHEMA)).unwrap();
    let now = (clock::unix_seconds() * 1000.0) as i64;
    connection
        .execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
             INSERT INTO scheduler_lease SELECT printf('retention-%06d', i), printf('instance-%d', i % 7), 1 + i % 1000,
                 ?2 - 3600123, ?2 - 1789 - 1 + i % 1000, ?2 + 600000 FROM n",
            (i64::try_from(leases).unwrap(), now),
        )
        .unwrap();
    connection
        .execute(
            "INSERT INTO scheduler_progress SELECT lease, epoch, renewed_at_ms - 4321, epoch * 17 FROM scheduler_lease",
            (),
        )
        .unwrap();
    connection
        .execute(
            "INSERT INTO occurrence SELECT lease || '/1', lease, 'plan_retention', renewed_at_ms - 9876, NULL, NULL, NULL
             FROM scheduler_lease WHERE epoch % 10 = 0",
            (),
        )
        .unwrap();
    connection.execute_batch("ANALYZE; PRAGMA wal_checkpoint(TRUNCATE);").unwrap();
    (folder, connection)
}

fn bare_select(connection: &Connection, sql: &str) -> usize {
    let mut statement = connection.prepare_cached(sql).unwrap();
    let columns = statement.column_count();
    let mut rows = statement.query([]).unwrap();
    let mut seen = 0;
    while let Some(row) = rows.next().unwrap() {
        for column in 0..columns {
            black_box(row.get_ref(column).unwrap());
        }
        seen += 1;
    }
    seen
}

fn read(connection: &Connection, query: &SqliteQuery) -> Reading {
    query.read(connection, Duration::MAX, &clock::monotonic).ok().unwrap()
}

fn parts(criterion: &mut Criterion) {
    let sql = Preset::named("reference").and_then(|preset| preset.query_text("sqlite")).unwrap();
    for size in SIZES {
        let (_folder, connection) = filled(size);
        let query = SqliteQuery::new(sql.as_str().into(), Scope { only_lease: "documents".into(), max_leases: size });
        let rules = Rules {
            kind: LeaseKind::Standing,
            clock: Clock::Store,
            clock_skew: Rules::CLOCK_SKEW,
            max_leases: size,
            resolution: Duration::ZERO,
        };
        let evaluator = || {
            SourceEvaluator::new("documents".into(), rules, TokenKey::new(b"bench"), Arc::new(Defaults(Arc::default())))
        };
        let whole = Exposition::without(|_| false);
        let evaluate = |evaluator: &mut SourceEvaluator, reading| evaluator.evaluate(reading, Duration::ZERO);

        let mut group = criterion.benchmark_group("scrape");
        group.throughput(Throughput::Elements(size as u64));
        if size >= 10_000 {
            group.sample_size(10);
        }
        group.bench_function(BenchmarkId::new("bare_select", size), |bencher| {
            bencher.iter(|| bare_select(&connection, &sql));
        });
        group.bench_function(BenchmarkId::new("read", size), |bencher| bencher.iter(|| read(&connection, &query)));
        let mut known = evaluator();
        evaluate(&mut known, read(&connection, &query));
        group.bench_function(BenchmarkId::new("memory_and_judge", size), |bencher| {
            bencher.iter_batched(
                || read(&connection, &query),
                |reading| evaluate(&mut known, reading),
                criterion::BatchSize::PerIteration,
            );
        });
        let mut reading = || Arc::new(SourceMetrics::new(Arc::new(evaluate(&mut known, read(&connection, &query)))));
        let (format, rest) = (Format::OpenMetrics, [Bytes::from_static(b"# EOF\n")]);
        let source = reading();
        group.bench_function(BenchmarkId::new("render", size), |bencher| {
            bencher.iter(|| {
                whole.text(format, vec![Arc::clone(&source)], rest.to_vec()).map(|piece| piece.len()).sum::<usize>()
            });
        });
        group.bench_function(BenchmarkId::new("compress", size), |bencher| {
            bencher.iter(|| whole.compress(&source, None).unwrap());
        });
        // Ages are others in each reading, and little else is.
        let mut previous = whole.compress(&source, None).unwrap();
        group.bench_function(BenchmarkId::new("compress_next", size), |bencher| {
            bencher.iter_batched(
                &mut reading,
                |source| previous = whole.compress(&source, Some(&previous)).unwrap(),
                criterion::BatchSize::PerIteration,
            );
        });
        let compressed = whole.compress(&source, None).unwrap();
        group.bench_function(BenchmarkId::new("join_compressed", size), |bencher| {
            bencher.iter(|| whole.joined_gzip(format, &[(&source, &compressed)], &rest).unwrap());
        });
        let mut previous = compressed;
        group.bench_function(BenchmarkId::new("read_judge_compress", size), |bencher| {
            bencher.iter(|| previous = whole.compress(&reading(), Some(&previous)).unwrap());
        });
        group.finish();
    }
}

/// The exporter itself, as a process that serves one store.
struct Exporter {
    process: Child,
    connection: TcpStream,
    buffer: Vec<u8>,
}

impl Exporter {
    fn start(folder: &Path, leases: usize) -> Self {
        let config = folder.join("exporter.yml");
        let text = format!(
            "sources: [{{name: documents, store: 'sqlite://store.db', preset: reference, timeout: 60s, \
             reuse_for: 0s, max_leases: {leases}}}]\n"
        );
        std::fs::write(&config, text).unwrap();
        let mut process = Command::new(env!("CARGO_BIN_EXE_lease-exporter"))
            .arg(format!("--config.file={}", config.display()))
            .args(["--web.listen-address=127.0.0.1:0"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(process.stderr.take().unwrap());
        let mut line = String::new();
        let address = loop {
            line.clear();
            assert!(log.read_line(&mut line).unwrap() > 0, "the exporter did not start");
            if let Some((_, address)) = line.split_once("address=") {
                break address.trim().to_owned();
            }
        };
        Self { process, connection: TcpStream::connect(address).unwrap(), buffer: vec![0; 1 << 20] }
    }

    /// Scrapes over the same connection, with further headers, and gives the length of the body, in chunks or not.
    fn scrape(&mut self, headers: &str) -> usize {
        let request =
            format!("GET /metrics HTTP/1.1\r\nHost: bench\r\nX-Prometheus-Scrape-Timeout-Seconds: 60\r\n{headers}\r\n");
        self.connection.write_all(request.as_bytes()).unwrap();
        let (mut got, mut length) = (Vec::new(), None);
        loop {
            let read = self.connection.read(&mut self.buffer).unwrap();
            assert!(read > 0, "the exporter closed the connection");
            got.extend_from_slice(&self.buffer[..read]);
            if length.is_none()
                && let Some(end) = got.windows(4).position(|window| window == b"\r\n\r\n")
            {
                let text = String::from_utf8_lossy(&got[..end]).to_ascii_lowercase();
                let of_body = text.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next());
                length = Some(of_body.map(|length| end + 4 + length.parse::<usize>().unwrap()));
            }
            match length {
                Some(Some(length)) if got.len() == length => return length,
                // In chunks: no sample line ends like the last of them.
                Some(None) if got.ends_with(b"\r\n0\r\n\r\n") => return got.len(),
                _ => {}
            }
        }
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A scrape of the plain text; one as Prometheus asks.
const SCRAPES: [(&str, &str); 2] = [
    ("whole_scrape", ""),
    ("whole_scrape_gzip", "Accept: application/openmetrics-text;version=1.0.0\r\nAccept-Encoding: gzip\r\n"),
];

/// The whole of it: over HTTP, from a process of its own.
fn whole(criterion: &mut Criterion) {
    for size in SIZES {
        let (folder, connection) = filled(size);
        let mut exporter = Exporter::start(folder.path(), size);
        let mut group = criterion.benchmark_group("http");
        if size >= 10_000 {
            group.sample_size(10);
        }
        let sql = Preset::named("reference").and_then(|preset| preset.query_text("sqlite")).unwrap();
        group.bench_function(BenchmarkId::new("bare_select", size), |bencher| {
            bencher.iter(|| bare_select(&connection, &sql));
        });
        for (name, headers) in SCRAPES {
            group.bench_function(BenchmarkId::new(name, size), |bencher| bencher.iter(|| exporter.scrape(headers)));
            println!("{name}/{size}: {} bytes", exporter.scrape(headers));
        }
        group.finish();
    }
}

criterion_group!(benches, parts, whole);
criterion_main!(benches);
