//! `/leases/{source}/{lease}/live`.

use super::client::{login, plainly};
use super::{configure, user};
use crate::harness::Exporter;
use crate::harness::store::{ENDLESS, active, database, folder, reference};

fn state(exporter: &Exporter, path: &str) -> (u16, String) {
    let answer = plainly(exporter.address(), "GET", path, "").unwrap();
    (answer.status, answer.body)
}

#[test]
fn only_a_stalled_lease_fails_its_probe() {
    let folder = folder();
    let store = reference(&folder.path().join("scheduler.db"));
    store.execute_batch(&active("planner")).unwrap();
    let yaml = "sources:\n  - {name: documents, store: 'sqlite://scheduler.db', preset: reference, reuse_for: 0s}\n  \
        - {name: gone, store: 'sqlite://gone.db', preset: reference}\n  \
        - {name: own, store: 'sqlite://scheduler.db', kind: standing, clock: store, reuse_for: 0s, query: \"WITH clock AS MATERIALIZED (SELECT \
        unixepoch('subsec') AS now) SELECT now AS store_now, 'stuck/it is' AS lease, 'h' AS holder, 1 AS epoch, 1000000000 AS \
        acquired_at, now AS renewed_at, now + 60 AS expires_at, 1000000500 AS progress_at, 1 AS progress_epoch, 5 AS due, \
        1000000600 AS oldest_due_at FROM clock\"}\n\
        leases: [{match: {lease: 'stuck*'}, stall_after: 1m}, {match: {lease: expected}}]\n";
    let exporter = Exporter::start_with(folder.path(), yaml, &["--web.enable-probes"]);
    assert_eq!(state(&exporter, "/leases/documents/planner/live"), (200, "active\n".to_owned()));
    assert_eq!(state(&exporter, "/leases/own/stuck%2Fit%20is/live"), (503, "stalled\n".to_owned()));
    assert_eq!(state(&exporter, "/leases/own/stuck/it%20is/live"), (503, "stalled\n".to_owned()));
    // The leases of an unreadable store are not known.
    assert_eq!(state(&exporter, "/leases/gone/expected/live"), (200, "unknown\n".to_owned()));
    assert_eq!(state(&exporter, "/leases/gone/whatever/live"), (200, "unknown\n".to_owned()));
    // A holder that has not yet acquired the lease since a restart of the exporter.
    let absent = (200, "unknown: there is no lease of that name\n".to_owned());
    assert_eq!(state(&exporter, "/leases/documents/nobody/live"), absent);
    for path in ["/leases/nowhere/planner/live", "/leases/documents/planner", "/leases//live"] {
        assert_eq!(state(&exporter, path), (404, "not found\n".to_owned()), "{path}");
    }
    assert_eq!(plainly(exporter.address(), "POST", "/leases/documents/planner/live", "").unwrap().status, 405);
    let metrics = exporter.scrape();
    assert_eq!(metrics.says("own", "stuck/it is").map(|(state, _)| state), Some("stalled"), "as a scrape says");
}

#[test]
fn hanging_store_fails_no_probe_and_delays_it_within_its_limit() {
    let folder = folder();
    database(&folder.path().join("slow.db"), "CREATE TABLE t (x)");
    let yaml = format!("sources: [{{name: slow, store: 'sqlite://slow.db', timeout: 60s, query: \"{ENDLESS}\"}}]\n");
    let exporter = Exporter::start_with(folder.path(), &yaml, &["--web.enable-probes", "--web.max-requests=1"]);
    let began = crate::harness::now();
    assert_eq!(state(&exporter, "/leases/slow/slow/live"), (200, "unknown\n".to_owned()));
    let took = crate::harness::now() - began;
    assert!(took.as_millis() < 5_000, "{took:?}");
}

#[test]
fn probe_needs_a_password_and_does_not_count_for_the_rate_limit() {
    let folder = folder();
    let web = format!("basic_auth_users:\n{}rate_limit: {{interval: 1h, burst: 1}}\n", user("kubelet", "right"));
    let web = configure(folder.path(), &web);
    let exporter = Exporter::start_with(folder.path(), &super::steady(folder.path()), &["--web.enable-probes", &web]);
    let ask = |path: &str, headers: &str| plainly(exporter.address(), "GET", path, headers).unwrap().status;
    let right = login("kubelet", "right");
    assert_eq!((ask("/metrics", &right), ask("/metrics", &right)), (200, 429));
    for _ in 0..3 {
        assert_eq!(ask("/leases/own/steady/live", &right), 200);
        assert_eq!(ask("/leases/own/steady/live", ""), 401);
    }
}

#[test]
fn without_the_option_there_is_no_probe() {
    let folder = folder();
    let exporter = Exporter::start(folder.path(), &super::steady(folder.path()));
    assert_eq!(state(&exporter, "/leases/own/steady/live").0, 404);
}
