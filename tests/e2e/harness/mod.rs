//! What the tests stand on: folders, processes, scrapes.

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

/// How long to wait for something that will surely come: long enough for a machine that does much else.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// Time since the tests began.
pub(crate) use lease_exporter::clock::monotonic as now;

/// Tries until there is a value, and gives that. `what` says what was waited for.
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

/// Waits until it is this late, which no other condition can tell.
pub(crate) fn sleep_until(when: Duration) {
    std::thread::sleep(when.saturating_sub(now()));
}
