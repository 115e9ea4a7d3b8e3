//! `/leases/{source}/{lease}/live`: a liveness probe that fails while the work under a lease is stalled.

use std::time::Duration;

use hyper::StatusCode;
use tokio::time::{Instant, timeout};

use super::content::Content;
use super::response::{self, Response};
use crate::lease::State;
use crate::observer::{NotConfigured, SourceSelection};

pub(super) const PREFIX: &str = "/leases/";
const SUFFIX: &str = "/live";

/// How long a probe waits for a reading. Probes of Kubernetes time out after a second, and then count as failed.
const TIMEOUT: Duration = Duration::from_millis(700);

/// The lease that a path asks for, as `source/lease`, if it is the path of a probe.
pub(super) fn lease_of(path: &str) -> Option<&str> {
    path.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)
}

/// Responds to a probe. It fails only if the lease is certainly stalled, because a failure restarts the scheduler. A lease that
/// does not exist yet is unknown; a source that is not configured is a mistake, and so 404.
///
/// The probe shares a reading with scrapes. A reading that takes longer than the probe continues without it.
pub(super) async fn respond(content: &impl Content, source: String, lease: &str, deadline: Instant) -> Response {
    let selection = SourceSelection::Named(vec![source]);
    let readings = match timeout(TIMEOUT, content.readings(selection, deadline)).await {
        Ok(Ok(readings)) => readings,
        Ok(Err(NotConfigured)) => return response::not_found(),
        Err(_) => return response::text(StatusCode::OK, "unknown\n"),
    };
    let Some(snapshot) = readings.first().map(|reading| &reading.snapshot) else {
        return response::not_found();
    };
    let state = snapshot.leases.iter().find(|status| *status.lease == *lease).map(|status| status.verdict.state);
    let text = match state {
        Some(State::Stalled) => return response::text(StatusCode::SERVICE_UNAVAILABLE, "stalled\n"),
        Some(State::NoLeader) => "no_leader\n",
        Some(State::Active) => "active\n",
        Some(State::Idle) => "idle\n",
        Some(State::Unknown) => "unknown\n",
        // Only the store could tell whether the lease exists.
        None if snapshot.health.outcome.is_err() => "unknown\n",
        None => "unknown: there is no lease of that name\n",
    };
    response::text(StatusCode::OK, text)
}
