//! The data for the dashboard: the demo, and leases with names that need escaping.

use std::net::SocketAddr;

use tempfile::TempDir;

use crate::harness::process::command;
use crate::harness::store::{active, folder, reference};
use crate::harness::{Exporter, Process, Scheduler, contents, eventually};
use crate::servers::{Prometheus, PrometheusApi};

/// The source and the lease of the demo.
pub(super) const DEMO: (&str, &str) = ("documents", "retention-planning");
/// A source and a lease with special characters of regular expressions.
pub(super) const HARD: (&str, &str) = ("jobs.eu", r"plan+[2]|(x)$\");
/// A name that the unescaped name of the lease matches.
pub(super) const DECOY: &str = "plan2";

/// The scrape interval in seconds.
pub(super) const SCRAPE: u32 = 1;

/// The environment, which ends when the guard is dropped.
pub(super) struct Environment {
    prometheus: Prometheus,
    _demo: Process,
    _scheduler: Scheduler,
    _exporters: [Exporter; 2],
    _folder: TempDir,
}

impl Environment {
    /// Starts the environment. The lease with the special name is held by a scheduler with frozen work. One exporter
    /// reports that, and another cannot reach the store.
    pub(super) fn start() -> Self {
        let folder = folder();
        let store = folder.path().join("jobs.db");
        reference(&store).execute_batch(&active(DECOY)).unwrap();
        let often = ["--ttl", "60s", "--renew-every", "200ms", "--work-takes", "10ms", "--enqueue-every", "100ms"];
        let scheduler = Scheduler::start(&store, HARD.1, &often);
        scheduler.wait_for("planned ");
        scheduler.toggle_work();
        scheduler.wait_for("frozen");

        let blind = folder.path().join("blind");
        std::fs::create_dir(&blind).unwrap();
        let exporters = [(folder.path(), "jobs.db"), (&blind, "not-there.db")]
            .map(|(at, store)| Exporter::start(at, &config(store)));
        let demo = Process::start(command(["demo", "--port", "0", "--speed", "2"]));
        let told = demo.stdout.wait_for("status page");
        let demo_address = told.split("http://").nth(1).and_then(|rest| rest.split('/').next()).unwrap();

        let rules = folder.path().join("lease.rules.yaml");
        std::fs::write(&rules, impatient_rules()).unwrap();
        let targets = [demo_address.parse().unwrap(), exporters[0].address(), exporters[1].address()];
        let prometheus = Prometheus::start(&scraping(&targets), &[&rules]);
        let seen = "count(count by (lease) (lease_age_seconds)) == 3";
        eventually("every lease to be scraped", || prometheus.api().query(seen).pop());
        Self { prometheus, _demo: demo, _scheduler: scheduler, _exporters: exporters, _folder: folder }
    }

    /// The Prometheus that scrapes the exporters.
    pub(super) fn api(&self) -> PrometheusApi {
        self.prometheus.api()
    }
}

fn config(store: &str) -> String {
    let (source, lease) = HARD;
    format!(
        "sources:\n  - {{ name: '{source}', store: 'sqlite://{store}', preset: reference, reuse_for: 0s }}\n\
         leases:\n  - match: {{ source: '{source}', lease: '{lease}' }}\n    stall_after: 1s\n    overdue_after: 1h\n    \
         alerts: [LeaseWorkStalled]\n"
    )
}

fn scraping(targets: &[SocketAddr]) -> String {
    let targets: Vec<String> = targets.iter().map(|target| format!("'{target}'")).collect();
    format!(
        "global: {{ scrape_interval: {SCRAPE}s, evaluation_interval: 1s }}\nrule_files: [lease.rules.yaml]\n\
         scrape_configs: [{{ job_name: lease-exporter, static_configs: [{{ targets: [{}] }}] }}]\n",
        targets.join(", ")
    )
}

/// The shipped rules without their `for` durations.
fn impatient_rules() -> String {
    let rules = contents("alerts/lease.rules.yaml");
    let impatient: String = rules
        .lines()
        .map(|line| if is_wait(line) { "        expr: vector(0)\n".to_owned() } else { format!("{line}\n") })
        .collect();
    assert_ne!(impatient, rules, "no waits to shorten");
    impatient
}

fn is_wait(line: &str) -> bool {
    line.trim()
        .strip_prefix("expr: vector(")
        .and_then(|rest| rest.strip_suffix(')'))
        .is_some_and(|number| number.parse::<u32>().is_ok())
}
