//! Panics: each is a bug that ends one request or one reading, and shows as a number and as a place.

use std::panic::{self, PanicHookInfo};

use prometheus::IntCounter;

/// Counts each panic of the process from now on, and logs where it was. What it says is not logged: it may repeat what a
/// store holds.
pub fn count(counter: IntCounter) {
    panic::set_hook(Box::new(move |panic| note(panic, &counter)));
}

fn note(panic: &PanicHookInfo<'_>, counter: &IntCounter) {
    counter.inc();
    let place = panic.location().map_or_else(|| "unknown".to_owned(), ToString::to_string);
    tracing::error!(place, "a bug: a part of the exporter panicked, and the rest goes on");
}
