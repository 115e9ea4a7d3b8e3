//! Applies each fault in turn and checks the metrics before, during and after it.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::backend::{Backend, Fault, HOLDER, Hits, LEASE};
use crate::harness::proxy::{Behaviour, End, Place, Proxy};
use crate::harness::store::{STEADY, folder};
use crate::harness::{Exporter, Metrics, now, sleep_until};

/// The timeout of a source.
const TIMEOUT: Duration = Duration::from_millis(500);

/// The additional time for a scrape on a busy machine.
const SLACK: Duration = Duration::from_secs(3);

/// The shortest scrape interval. The exporter may delay its next attempt to connect for that long.
const INTERVAL: Duration = Duration::from_secs(1);

const ACTIVE: Option<(&str, &str)> = Some(("active", "progressing"));

/// Applies each fault, and panics at the end with all errors.
pub(super) fn run(backend: &impl Backend) {
    let folder = folder();
    let proxy = Proxy::to(backend.server().address());
    let steady = folder.path().join("steady.db");
    crate::harness::store::database(&steady, "CREATE TABLE other (x)");
    let timeout = format!("{}ms", TIMEOUT.as_millis());
    let yaml = format!(
        "sources:\n{}{}  - name: steady\n    store: sqlite://{}\n    reuse_for: 0s\n    query: \"{STEADY}\"\n\
         defaults: {{ stall_after: 1h }}\n",
        backend.source("direct", backend.server().address(), &timeout),
        backend.source("proxied", proxy.address(), &timeout),
        steady.display(),
    );
    let exporter = Exporter::start(folder.path(), &yaml);
    let mut faults = of_every_server(backend, &proxy);
    faults.extend(of_the_network(&proxy));
    faults.extend(backend.faults(&proxy));
    let mut wrong = Vec::new();
    for fault in &faults {
        let proven = catch_unwind(AssertUnwindSafe(|| check_fault(&exporter, fault)));
        if let Err(panic) = proven {
            let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
            wrong.push(format!("{}: {}", fault.name, text.lines().take(3).collect::<Vec<_>>().join(" ")));
            // Also after a failed check, so that the next fault starts from a working server.
            (fault.repair)();
            sleep_until(now() + INTERVAL);
            exporter.scrape();
        }
    }
    backend.server().restart();
    knows(&scrape(&exporter), "after a restart between two scrapes");
    let log = exporter.log();
    assert!(wrong.is_empty(), "{} of {} faults:\n{}\n{log}", wrong.len(), faults.len(), wrong.join("\n"));
    for secret in [backend.password().1, HOLDER, &format!(":{}", backend.server().port())] {
        assert!(!log.contains(secret), "{secret:?} in the log:\n{log}");
    }
    assert_eq!(backend.connections(), 2, "there is a connection for each source and no other");
    assert_eq!(exporter.stop().code, Some(0));
}

/// Checks the metrics before, during and after one fault.
fn check_fault(exporter: &Exporter, fault: &Fault<'_>) {
    knows(&scrape(exporter), "before");
    (fault.make)();
    for attempt in ["first", "second", "third"] {
        let metrics = scrape(exporter);
        is_unknown(&metrics, "proxied", fault.reason, attempt);
        match fault.hits {
            Hits::Both => is_unknown(&metrics, "direct", fault.reason, attempt),
            Hits::ProxiedAlone => is_known(&metrics, "direct", LEASE, attempt),
        }
        is_known(&metrics, "steady", "steady", attempt);
    }
    (fault.repair)();
    sleep_until(now() + INTERVAL);
    knows(&scrape(exporter), "at the first scrape after it");
}

/// A scrape, which must be answered within its limit.
fn scrape(exporter: &Exporter) -> Metrics {
    let reply = exporter.get("/metrics");
    assert!(reply.took < TIMEOUT + SLACK, "answered after {:?}", reply.took);
    Metrics::parse(&reply.body)
}

fn knows(metrics: &Metrics, when: &str) {
    for (source, lease) in [("direct", LEASE), ("proxied", LEASE), ("steady", "steady")] {
        is_known(metrics, source, lease, when);
    }
}

fn is_known(metrics: &Metrics, source: &str, lease: &str, when: &str) {
    assert_eq!(metrics.says(source, lease), ACTIVE, "{source}, {when}");
    assert_eq!(metrics.source("lease_source_up", source), Some(1.0), "{source}, {when}");
    assert!(metrics.of("lease_epoch", source, lease).is_some(), "{source}, {when}");
}

/// Checks that the lease is unknown for a reason and has no other values.
fn is_unknown(metrics: &Metrics, source: &str, reason: &str, when: &str) {
    assert_eq!(metrics.says(source, LEASE), Some(("unknown", reason)), "{source}, {when} scrape");
    assert_eq!(metrics.source("lease_source_up", source), Some(0.0), "{source}, {when} scrape");
    for stale in [
        "lease_epoch",
        "lease_age_seconds",
        "lease_due",
        "lease_held_seconds",
        "lease_holders",
        "lease_holder_info",
        "lease_expires_in_seconds",
        "lease_last_progress_age_seconds",
        "lease_last_progress_epoch",
        "lease_acquired_timestamp_seconds",
        "lease_renewed_timestamp_seconds",
    ] {
        assert_eq!(metrics.of(stale, source, LEASE), None, "{stale} of {source} is shown though nothing is known");
    }
    for stale in ["lease_source_leases", "lease_source_clock_offset_seconds"] {
        assert_eq!(metrics.source(stale, source), None, "{stale} of {source}");
    }
    assert!(metrics.counted("lease_source_read_failures_total", source, reason) >= 1.0);
}

fn of_every_server<'a>(backend: &'a impl Backend, proxy: &'a Proxy) -> Vec<Fault<'a>> {
    let server = backend.server();
    let (file, password) = backend.password();
    vec![
        Fault::of_server("frozen", "store_timeout", || server.freeze(), || server.thaw()),
        Fault::of_server("killed", "store_unreachable", || server.kill(), || server.restart()),
        Fault::of_server("shut down", "store_unreachable", || server.shut_down(), || server.restart()),
        Fault::of_server(
            "a wrong password",
            "store_refused",
            move || {
                fs::write(file, "not-the-password").unwrap();
                backend.kick();
                proxy.end_all(End::Reset);
            },
            move || fs::write(file, password).unwrap(),
        ),
    ]
}

fn of_the_network(proxy: &Proxy) -> Vec<Fault<'_>> {
    let behaves = |name, reason, behaviour, lost| {
        let make = move || {
            proxy.choose(behaviour);
            if lost {
                proxy.end_all(End::Reset);
            }
        };
        Fault::of_network(name, reason, make, || proxy.choose(Behaviour::Pass))
    };
    let cut = |place, end| Behaviour::Cut(place, end);
    vec![
        behaves("never answering", "store_timeout", Behaviour::Mute, false),
        behaves("accepting and never answering", "store_timeout", Behaviour::Mute, true),
        behaves("a byte a second", "store_timeout", Behaviour::Trickle, false),
        behaves("a byte a second from the start", "store_timeout", Behaviour::Trickle, true),
        behaves("refusing", "store_unreachable", Behaviour::Refuse, true),
        behaves("a black hole", "store_timeout", Behaviour::BlackHole, true),
        behaves("cut in a row, reset", "store_unreachable", cut(Place::Within(HOLDER), End::Reset), false),
        behaves("cut in a row, finished", "store_unreachable", cut(Place::Within(HOLDER), End::Finished), false),
        behaves("cut at the start, reset", "store_unreachable", cut(Place::After(3), End::Reset), true),
        behaves("cut at the start, finished", "store_unreachable", cut(Place::After(3), End::Finished), true),
        behaves("nothing but an end", "store_unreachable", cut(Place::After(0), End::Finished), true),
    ]
}
