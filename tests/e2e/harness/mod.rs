//! What all tests share: folders, processes and scrapes.

pub(crate) mod exporter;
pub(crate) mod http;
pub(crate) mod metrics;
pub(crate) mod output;
pub(crate) mod process;
pub(crate) mod promtool;
pub(crate) mod proxy;
pub(crate) mod python;
mod repository;
pub(crate) mod store;
pub(crate) mod terminal;
pub(crate) mod webhook;

use std::time::Duration;

pub(crate) use exporter::{Exporter, check, run, status};
pub(crate) use metrics::Metrics;
pub(crate) use process::{Process, Scheduler};
pub(crate) use repository::{contents, repository};
pub(crate) use terminal::Terminal;
pub(crate) use webhook::Webhook;

/// The limit for waiting on an event that will happen, on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// Time since the tests began.
pub(crate) use lease_exporter::clock::monotonic as now;

/// Calls a function until it returns a value. `what` names the awaited event in the panic message.
pub(crate) fn eventually<T>(what: &str, mut attempt: impl FnMut() -> Option<T>) -> T {
    let until = now() + PATIENCE;
    loop {
        if let Some(value) = attempt() {
            return value;
        }
        assert!(now() < until, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(25));
    }
}

/// Waits until a point in time. For tests that have no other condition.
pub(crate) fn sleep_until(when: Duration) {
    std::thread::sleep(when.saturating_sub(now()));
}
