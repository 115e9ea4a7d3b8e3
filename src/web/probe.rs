//! `/leases/{source}/{lease}/live`: whether the work under a lease stands still, for whatever restarts the scheduler.

use std::time::Duration;

use hyper::StatusCode;
use tokio::time::{Instant, timeout};

use super::Content;
use super::reply::{self, Reply};
use crate::lease::State;
use crate::observer::{NotConfigured, SourceSelection};

/// What its path begins with.
pub(super) const BEFORE: &str = "/leases/";
const AFTER: &str = "/live";

/// How long a probe waits. That of Kubernetes gives up after a second, and takes silence as a reason to restart.
const PATIENCE: Duration = Duration::from_millis(700);

/// What names the lease in a path that asks for this: `source/lease`.
pub(super) fn named(path: &str) -> Option<&str> {
    path.strip_prefix(BEFORE)?.strip_suffix(AFTER)
}

/// Answers a probe. Only what is certain to be stalled is said to be: what is not known must restart nothing, and that is
/// so of a lease that is not there, as one is not until it is taken for the first time. A source that is not configured is
/// a mistake, and so is 404.
///
/// It reads its source as a scrape does and shares its reading, but waits less; a reading that takes longer goes on without it.
pub(super) async fn answer(content: &impl Content, source: String, lease: &str, deadline: Instant) -> Reply {
    let chosen = SourceSelection::Named(vec![source]);
    let observed = match timeout(PATIENCE, content.readings(chosen, deadline)).await {
        Ok(Ok(observed)) => observed,
        Ok(Err(NotConfigured)) => return reply::error(StatusCode::NOT_FOUND),
        Err(_) => return reply::content(reply::TEXT, "unknown\n"),
    };
    let Some(snapshot) = observed.first().map(|observed| &observed.snapshot) else {
        return reply::error(StatusCode::NOT_FOUND);
    };
    match snapshot.leases.iter().find(|status| *status.lease == *lease).map(|status| status.verdict.state) {
        Some(State::Stalled) => reply::refusal(StatusCode::SERVICE_UNAVAILABLE, "stalled\n"),
        Some(State::NoLeader) => reply::content(reply::TEXT, "no_leader\n"),
        Some(State::Active) => reply::content(reply::TEXT, "active\n"),
        Some(State::Idle) => reply::content(reply::TEXT, "idle\n"),
        Some(State::Unknown) => reply::content(reply::TEXT, "unknown\n"),
        // Whether there is such a lease only the store could say.
        None if snapshot.health.outcome.is_err() => reply::content(reply::TEXT, "unknown\n"),
        None => reply::content(reply::TEXT, "unknown: there is no lease of that name\n"),
    }
}
