//! The exporter, the stores that it reads, and the counters of the run.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use tempfile::TempDir;

use super::Choices;
use super::client::{Answer, Endpoint, LONGEST, PASSWORD, Request, Transport, USER};
use super::counters::Counters;
use super::random::Random;
use super::stores::{self, LEADER, REGISTRY, STUCK, SharedStore};
use super::unreadable::UnreadableSources;
use super::usage::Peak;
use crate::harness::process::{Process, command_of, program};
use crate::harness::store::folder;
use crate::harness::{Exporter, Metrics, eventually, now};
use crate::servers::Certificates;
use crate::web::client::Client;

/// The timeout of sources: short, so that faults are quick, and long enough for a response on a busy machine.
pub(super) const TIMEOUT: &str = "400ms";

/// The environment of a run. Fields are in the order in which they must be dropped.
pub(super) struct Environment {
    pub(super) exporter: Exporter,
    pub(super) pid: i32,
    pub(super) endpoint: Endpoint,
    pub(super) stores: Vec<SharedStore>,
    pub(super) certificates: Certificates,
    pub(super) folder: TempDir,
    pub(super) seed: u64,
    pub(super) unreadable: UnreadableSources,
    pub(super) requests: Counters,
    pub(super) faults: Counters,
    pub(super) reloads: Counters,
    pub(super) peak: Peak,
    /// Odd during a reload. Each reload increases it by two.
    pub(super) generation: AtomicU64,
    /// Read-locked during a request. Write-locked to change the credentials or to prevent requests.
    asking: RwLock<()>,
    stopped: AtomicBool,
}

impl Environment {
    pub(super) fn set(choices: &Choices) -> Self {
        let (folder, certificates) = (folder(), Certificates::make());
        let stores = stores::all(folder.path(), choices.seed);
        let socket = folder.path().join("exporter.sock");
        fs::create_dir(temporary(folder.path())).unwrap();
        fs::write(folder.path().join("exporter.yml"), configuration(&stores, "", "2s")).unwrap();
        fs::write(folder.path().join("web.yml"), web("")).unwrap();
        let server = certificates.server();
        fs::copy(server.certificate_file, folder.path().join("server.pem")).unwrap();
        fs::copy(server.key_file, folder.path().join("server.key")).unwrap();
        let program = choices.program.clone().unwrap_or_else(program);
        let mut command = command_of(
            &program,
            [
                format!("--config.file={}", folder.path().join("exporter.yml").display()),
                format!("--web.config.file={}", folder.path().join("web.yml").display()),
                "--web.listen-address=127.0.0.1:0".to_owned(),
                format!("--web.listen-address=unix:{}", socket.display()),
                "--web.enable-lifecycle".to_owned(),
                "--web.enable-probes".to_owned(),
            ],
        );
        command.env("TMPDIR", temporary(folder.path()));
        let process = Process::start(command);
        process.stderr.wait_for("address=unix:");
        let exporter = Exporter::started(process);
        let client = Client::trusting(&certificates.ca_file());
        Self {
            pid: exporter.process().pid().as_raw_pid(),
            endpoint: Endpoint { address: exporter.address(), socket, client },
            exporter,
            stores,
            certificates,
            folder,
            seed: choices.seed,
            unreadable: UnreadableSources::default(),
            requests: Counters::default(),
            faults: Counters::default(),
            reloads: Counters::default(),
            peak: Peak::default(),
            generation: AtomicU64::new(0),
            asking: RwLock::default(),
            stopped: AtomicBool::new(false),
        }
    }

    /// A random generator for a thread, determined by the seed.
    pub(super) fn random(&self, whose: u64) -> Random {
        Random::new(self.seed.wrapping_mul(1_000_003).wrapping_add(whose))
    }

    pub(super) fn sources(&self) -> impl Iterator<Item = &'static str> {
        self.stores.iter().flat_map(|shared| shared.store.sources().iter().copied())
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    /// Returns a guard that stops all threads when it is dropped, also by a panic.
    pub(super) fn stops_with_guard(&self) -> StopGuard<'_> {
        StopGuard(&self.stopped)
    }

    /// A read lock for a request.
    pub(super) fn asking(&self) -> RwLockReadGuard<'_, ()> {
        self.asking.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// A write lock that prevents requests.
    pub(super) fn alone(&self) -> RwLockWriteGuard<'_, ()> {
        self.asking.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a valid request, which must be answered in time, and counts it.
    pub(super) fn ask(&self, kind: &str, way: Transport, request: &Request) -> Answer {
        let _asking = self.asking();
        self.ask_now(kind, way, request)
    }

    /// The same without a lock, for a caller that holds the write lock.
    fn ask_now(&self, kind: &str, way: Transport, request: &Request) -> Answer {
        let began = now();
        let asked = self.endpoint.open(way).and_then(|mut stream| {
            request.send(&mut *stream)?;
            Answer::read(&mut *stream, request.method)
        });
        let took = now() - began;
        let answer = asked.unwrap_or_else(|error| panic!("{kind} ({way:?}, after {took:?}): {error}"));
        assert!(took < LONGEST, "{kind} took {took:?}");
        let by_way = format!("{kind}, {} over {way:?}", answer.status);
        self.requests.count(&by_way, took);
        answer
    }

    pub(super) fn scrape(&self) -> Metrics {
        let _asking = self.asking();
        self.scrape_now()
    }

    /// The same without a lock, for a caller that holds the write lock.
    pub(super) fn scrape_now(&self) -> Metrics {
        let answer = self.ask_now("metrics", Transport::Tcp, &Request::get("/metrics"));
        assert_eq!(answer.status, 200, "{}", answer.head);
        Metrics::parse(&answer.text())
    }

    /// Scrapes until a condition holds.
    pub(super) fn scrape_until(&self, what: &str, holds: impl Fn(&Metrics) -> bool) {
        eventually(what, || {
            assert!(!self.is_stopped(), "somebody else has failed");
            holds(&self.scrape()).then_some(())
        });
    }
}

/// See [`Environment::stops_with_guard`].
pub(super) struct StopGuard<'a>(&'a AtomicBool);

impl Drop for StopGuard<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// The folder for temporary files of the exporter.
pub(super) fn temporary(folder: &Path) -> std::path::PathBuf {
    folder.join("temporary")
}

/// The configuration of these stores with `more` sources and a limit for leases without a rule.
/// Leaders are named exactly, so that they have a state before the first reading.
pub(super) fn configuration(stores: &[SharedStore], more: &str, stall_after: &str) -> String {
    let yaml: String = stores.iter().map(|shared| shared.store.yaml()).collect();
    let sources = stores.iter().flat_map(|shared| shared.store.sources()).filter(|source| **source != REGISTRY);
    let leaders: String =
        sources.map(|source| format!("  - match: {{ source: {source}, lease: {LEADER} }}\n")).collect();
    format!(
        "sources:\n{yaml}{more}defaults: {{ stall_after: {stall_after} }}\nleases:\n{leaders}  \
         - match: {{ lease: {STUCK} }}\n    stall_after: 2s\n    alerts: [LeaseWorkStalled]\n"
    )
}

/// The web configuration with `more` users.
pub(super) fn web(more: &str) -> String {
    format!("tls_server_config: {{ cert_file: server.pem, key_file: server.key }}\n{}", users(more))
}

/// The part of it with the users.
pub(super) fn users(more: &str) -> String {
    let hash = bcrypt::hash_with_salt(PASSWORD, 4, *b"sixteen bytes ok").unwrap();
    format!("basic_auth_users:\n  {USER}: {hash}\n{more}")
}
