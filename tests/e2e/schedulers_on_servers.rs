//! Two schedulers and the exporter on database servers: take-over, stall and recovery.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use lease_exporter::preset::Preset;
use rustix::process::Signal;
use tempfile::TempDir;

use super::harness::store::folder;
use super::harness::{Exporter, Metrics, Scheduler, now, sleep_until, status};
use super::servers::{self, Database, Keyspace, Server};

const SOURCE: &str = "documents";
const LEASE: &str = "planner";

/// A store on a server.
trait Shared {
    /// The arguments of a scheduler for the store.
    fn scheduler(&self) -> Vec<String>;

    /// The keys of a source with read access to the store, one on each line.
    fn exporter(&self) -> Vec<String>;

    /// The runs in the store, with their epochs.
    fn planned(&self) -> BTreeMap<String, String>;
}

struct Postgres(Database);

impl Shared for Postgres {
    fn scheduler(&self) -> Vec<String> {
        let owner = self.0.owner();
        vec!["--store".into(), owner.url().into(), "--password-file".into(), shown(owner.password_file())]
    }

    fn exporter(&self) -> Vec<String> {
        vec![
            format!("store: {}", self.0.url()),
            format!("password_file: {}", shown(self.0.password_file())),
            "preset: reference".into(),
        ]
    }

    fn planned(&self) -> BTreeMap<String, String> {
        let rows =
            self.0.query("SELECT idempotency_key, planned_epoch FROM occurrence WHERE planned_at_ms IS NOT NULL");
        rows.lines().map(|row| row.split_once('\t').unwrap()).map(|(key, epoch)| (key.into(), epoch.into())).collect()
    }
}

struct Redis {
    server: &'static Server,
    keyspace: Keyspace,
}

impl Redis {
    fn on(server: &'static Server) -> Self {
        Self { server, keyspace: server.keyspace() }
    }
}

impl Shared for Redis {
    fn scheduler(&self) -> Vec<String> {
        vec!["--store".into(), format!("redis://{}/{}", self.server.address(), self.keyspace.number())]
    }

    fn exporter(&self) -> Vec<String> {
        vec![
            format!("store: {}", self.keyspace.url()),
            format!("password_file: {}", shown(self.keyspace.password_file())),
            r#"keys: { hash: "scheduler:lease:*", due_set: "scheduler:due:{name}" }"#.into(),
        ]
    }

    fn planned(&self) -> BTreeMap<String, String> {
        let prefix = "scheduler:occurrence:";
        let keys = self.keyspace.command(&["KEYS", &format!("{prefix}*")]);
        let epoch = |key: &str| self.keyspace.command(&["HGET", key, "planned_epoch"]);
        let all = keys.lines().map(|key| (key.strip_prefix(prefix).unwrap().to_owned(), epoch(key)));
        all.filter(|(_, epoch)| !epoch.is_empty()).collect()
    }
}

fn shown(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// A store, and a folder for the configuration of the exporter.
struct Scene<S> {
    store: S,
    folder: TempDir,
    yaml: String,
}

impl<S: Shared> Scene<S> {
    fn new(store: S, stall_after: &str) -> Self {
        let source: String = store.exporter().iter().map(|line| format!("    {line}\n")).collect();
        let yaml = format!(
            "sources:\n  - name: {SOURCE}\n{source}    reuse_for: 0s\n\
             defaults: {{ stall_after: {stall_after} }}\nleases:\n  - match: {{ lease: {LEASE} }}\n"
        );
        Self { store, folder: folder(), yaml }
    }

    fn scheduler(&self, more: &[&str]) -> Scheduler {
        let store = self.store.scheduler();
        Scheduler::start_on(&store.iter().map(String::as_str).collect::<Vec<_>>(), LEASE, more)
    }

    fn exporter(&self) -> Exporter {
        Exporter::start(self.folder.path(), &self.yaml)
    }

    /// Checks that the schedulers and the store report the same runs, each once.
    fn nothing_was_planned_twice(&self, schedulers: impl IntoIterator<Item = Scheduler>) {
        let mut planned = BTreeMap::new();
        for scheduler in schedulers {
            for line in scheduler.end().lines() {
                let Some((key, epoch)) = line.strip_prefix("planned key=").and_then(|rest| rest.split_once(" epoch="))
                else {
                    continue;
                };
                assert_eq!(planned.insert(key.to_owned(), epoch.to_owned()), None, "{key} was planned twice");
            }
        }
        assert!(!planned.is_empty());
        assert_eq!(planned, self.store.planned());
    }
}

fn known(metrics: &Metrics, name: &str) -> f64 {
    metrics.known(name, SOURCE, LEASE)
}

/// Progress, freeze while renewing, thaw. The standby scheduler changes nothing.
fn a_leader_that_renews_while_its_work_is_frozen_is_stalled_until_thawed(store: impl Shared) {
    let scene = Scene::new(store, "2s");
    let often = ["--ttl", "30s", "--renew-every", "100ms", "--work-takes", "10ms", "--enqueue-every", "100ms"];
    let leader = scene.scheduler(&often);
    leader.wait_for("planned ");
    let standby = scene.scheduler(&often);
    let exporter = scene.exporter();
    let active = exporter.until(SOURCE, LEASE, "active", "progressing");
    assert_eq!((known(&active, "lease_epoch"), known(&active, "lease_last_progress_epoch")), (1.0, 1.0));
    assert_eq!(known(&active, "lease_holders"), 1.0);

    leader.toggle_work();
    leader.wait_for("frozen");
    let mut before = exporter.until(SOURCE, LEASE, "stalled", "no_progress");
    for _ in 0..3 {
        let renewed = known(&before, "lease_renewed_timestamp_seconds");
        let metrics = exporter
            .scrape_until("another renewal", |metrics| known(metrics, "lease_renewed_timestamp_seconds") > renewed);
        assert_eq!(metrics.says(SOURCE, LEASE), Some(("stalled", "no_progress")));
        // The lease is still renewed, and only the progress gets older.
        assert!(known(&metrics, "lease_age_seconds") < 30.0);
        assert!(known(&metrics, "lease_last_progress_age_seconds") > 2.0);
        for grows in ["lease_last_progress_age_seconds", "lease_renewals_since_progress"] {
            assert!(known(&metrics, grows) > known(&before, grows), "{grows} does not grow");
        }
        before = metrics;
    }
    assert!(known(&before, "lease_due") > 0.0);
    let status = status(scene.folder.path(), &scene.yaml);
    assert_eq!(status.code, Some(1), "{}", status.all());

    leader.toggle_work();
    leader.wait_for("thawed");
    let thawed = exporter.until(SOURCE, LEASE, "active", "progressing");
    assert_eq!(known(&thawed, "lease_epoch"), 1.0);
    scene.nothing_was_planned_twice([leader, standby]);
}

/// Pause beyond the expiry, take-over under the next epoch, then both run, and the late write is fenced.
fn leader_stopped_beyond_its_expiry_is_replaced_and_its_late_write_is_fenced(store: impl Shared) {
    const WORK_TAKES: Duration = Duration::from_secs(6);
    let scene = Scene::new(store, "60s");
    let slowly = ["--ttl", "3s", "--renew-every", "300ms", "--work-takes", "6s", "--enqueue-every", "100ms"];
    let former = scene.scheduler(&slowly);
    let key = former.wait_for("taken ").strip_prefix("taken key=").unwrap().to_owned();
    let taken = now();
    former.0.signal(Signal::STOP);
    let exporter = scene.exporter();
    let expired = exporter.until(SOURCE, LEASE, "no_leader", "expired");
    assert_eq!(known(&expired, "lease_epoch"), 1.0);
    assert!(known(&expired, "lease_expires_in_seconds") <= 0.0);

    let quickly = ["--ttl", "600s", "--renew-every", "300ms", "--work-takes", "10ms", "--enqueue-every", "100ms"];
    let successor = scene.scheduler(&quickly);
    successor.wait_for("acquired epoch=2");
    successor.wait_for(&format!("planned key={key} epoch=2"));
    let metrics = exporter.until(SOURCE, LEASE, "active", "progressing");
    assert_eq!((known(&metrics, "lease_epoch"), known(&metrics, "lease_last_progress_epoch")), (2.0, 2.0));

    sleep_until(taken + WORK_TAKES);
    former.0.signal(Signal::CONT);
    assert_eq!(former.wait_for("fenced "), format!("fenced epoch=1 key={key}"));
    let since = known(&exporter.scrape(), "lease_renewed_timestamp_seconds");
    let metrics = exporter
        .scrape_until("two more renewals", |metrics| known(metrics, "lease_renewed_timestamp_seconds") > since + 0.4);
    assert_eq!((known(&metrics, "lease_epoch"), known(&metrics, "lease_last_progress_epoch")), (2.0, 2.0));
    let stale = [("source", SOURCE), ("lease", LEASE), ("anomaly", "progress_from_stale_epoch")];
    assert_eq!(metrics.value("lease_anomalies_total", &stale), Some(0.0));
    scene.nothing_was_planned_twice([former, successor]);
}

/// Release and take-over under the next epoch, then a final release.
fn a_lease_given_back_is_taken_over_and_without_a_standby_has_no_leader(store: impl Shared) {
    let scene = Scene::new(store, "60s");
    let often = ["--ttl", "60s", "--renew-every", "100ms", "--work-takes", "10ms", "--enqueue-every", "100ms"];
    let mut first = scene.scheduler(&often);
    first.wait_for("planned ");
    let mut second = scene.scheduler(&often);
    let exporter = scene.exporter();
    exporter.until(SOURCE, LEASE, "active", "progressing");
    first.0.signal(Signal::INT);
    assert_eq!(first.0.wait().code(), Some(0));
    second.wait_for("planned ");
    let after = exporter.until(SOURCE, LEASE, "active", "progressing");
    assert_eq!(known(&after, "lease_epoch"), 2.0);
    second.0.signal(Signal::TERM);
    assert_eq!(second.0.wait().code(), Some(0));
    let released = exporter.until(SOURCE, LEASE, "no_leader", "released");
    assert_eq!((known(&released, "lease_epoch"), known(&released, "lease_holders")), (2.0, 0.0));
    assert_eq!(released.of("lease_age_seconds", SOURCE, LEASE), None);
    scene.nothing_was_planned_twice([first, second]);
}

/// The tests for the store that an expression creates.
macro_rules! story {
    ($module:ident, $store:expr) => {
        mod $module {
            use super::*;

            #[test]
            fn a_leader_that_renews_while_its_work_is_frozen_is_stalled_until_thawed() {
                super::a_leader_that_renews_while_its_work_is_frozen_is_stalled_until_thawed($store);
            }

            #[test]
            fn leader_stopped_beyond_its_expiry_is_replaced_and_its_late_write_is_fenced() {
                super::leader_stopped_beyond_its_expiry_is_replaced_and_its_late_write_is_fenced($store);
            }

            #[test]
            fn a_lease_given_back_is_taken_over_and_without_a_standby_has_no_leader() {
                super::a_lease_given_back_is_taken_over_and_without_a_standby_has_no_leader($store);
            }
        }
    };
}

story!(on_postgres, Postgres(servers::postgres().database()));
story!(on_redis, Redis::on(servers::redis()));
story!(on_valkey, Redis::on(servers::valkey()));

#[test]
fn scheduler_reports_a_store_error_without_the_address() {
    let database = servers::postgres().database();
    let owner = database.owner();
    let [reader, password] = [database.reader(), owner].map(|login| shown(login.password_file()));
    let nowhere = format!("{}_planted", owner.url());
    for (arguments, code, told) in [
        (vec!["--store", "postgres://planted:planted@localhost/db"], 3, "a password must not stand in it"),
        (vec!["--store", "redis://:planted@localhost"], 3, "a password must not stand in it"),
        (vec!["--store", "mysql://planted@localhost/db"], 3, "expected sqlite:///"),
        (vec!["--store", owner.url(), "--password-file", &reader], 4, "the server refuses the user or the password"),
        (vec!["--store", &nowhere, "--password-file", &password], 4, "--create makes tables, not databases"),
        (vec!["--store", owner.url(), "--password-file", "/none/planted"], 4, "the password file cannot be read"),
        (vec!["--store", "redis://127.0.0.1:1/0"], 4, "the store cannot be reached"),
    ] {
        let finished = Scheduler::start_on(&arguments, LEASE, &[]).0.finish();
        assert_eq!(finished.code, Some(code), "{}", finished.all());
        let said = finished.all();
        assert!(said.contains(told) && !said.contains("planted") && !said.contains(database.name()), "{said}");
    }
}

#[test]
fn printed_grants_are_sufficient_on_postgres() {
    let scene = Scene::new(Postgres(servers::postgres().database()), "60s");
    let database = &scene.store.0;
    let reader = database.reader().name();
    database.execute(lease_protocol::postgres::SCHEMA);
    database.execute(&format!("REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {reader}"));
    let exporter = scene.exporter();
    let refused = exporter.scrape();
    assert_eq!(refused.says(SOURCE, LEASE), Some(("unknown", "store_refused")));
    let [view] = Preset::named("reference").unwrap().with([]).views("postgres").try_into().unwrap();
    database.execute(&view.grants.replace("TO lease_exporter", &format!("TO {reader}")));
    exporter.until(SOURCE, LEASE, "no_leader", "absent");
    database.execute(
        "INSERT INTO scheduler_lease SELECT 'planner', 'someone', 7, now - 9000, now - 1000, now + 600000
         FROM (SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now) AS clock;
         INSERT INTO scheduler_progress SELECT lease, 6, renewed_at_ms, 41 FROM scheduler_lease;
         INSERT INTO occurrence SELECT n::text, lease, 'plan_retention', renewed_at_ms - n
         FROM scheduler_lease, generate_series(1, 10002) AS n;
         INSERT INTO occurrence SELECT 'later', lease, 'plan_retention', expires_at_ms FROM scheduler_lease",
    );
    // A second exporter without a history, because the first has seen the gap.
    let metrics = scene.exporter().scrape();
    assert_eq!((known(&metrics, "lease_epoch"), known(&metrics, "lease_last_progress_epoch")), (7.0, 6.0));
    assert_eq!(known(&metrics, "lease_due"), 10_001.0);
    assert!((11.0..60.0).contains(&known(&metrics, "lease_oldest_due_age_seconds")));
    assert!((9.0..60.0).contains(&known(&metrics, "lease_held_seconds")));
    let millis = known(&metrics, "lease_renewed_timestamp_seconds") * 1000.0;
    assert_eq!(database.query("SELECT renewed_at_ms FROM scheduler_lease"), format!("{millis:.0}"));
}
