//! The HTTP server.
//!
//! | path | answer |
//! |---|---|
//! | `/` | the status page |
//! | `/metrics`, or as `--web.telemetry-path` says | the metrics, as Prometheus text |
//! | `/api/v1/leases` | the leases as JSON, as [`json`](crate::expose::json) describes |
//! | `/-/healthy`, `/-/ready` | 200 while the server runs; they say nothing of a store or a lease |
//! | `/-/reload` | by POST, with `--web.enable-lifecycle`: the configuration is loaded again |
//! | `/leases/{source}/{lease}/live` | with `--web.enable-probes`: 503 if the lease is stalled, 200 if not or not known |
//! | `/style.css`, `/live.js`, `/favicon.ico` | what the page asks for |
//!
//! Every other path takes GET and HEAD, ignores the query, and never reads a body. A request can choose nothing but the path
//! and how long it is willing to wait, so it cannot make the exporter read anything that is not configured.

mod body;
pub mod config;
mod crowd;
mod deadline;
mod gate;
mod lifecycle;
mod listener;
mod login;
mod probe;
mod reply;
mod server;
mod site;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use bytes::Bytes;
use tokio::time::Instant;

use crate::observer::Observed;

pub use body::Chunks;
pub use gate::Gate;
pub use lifecycle::{Asked, Reloaded, Reloader};
pub use listener::Listener;
pub use server::{Limits, serve};
pub use site::{Settings, Site, is_taken};

/// What the server serves. Both look at every source, for no longer than the deadline.
pub trait Content: Send + Sync + 'static {
    /// The metrics, in pieces that are sent one after the other without being joined.
    fn metrics(&self, deadline: Instant) -> impl Future<Output = Vec<Bytes>> + Send;

    /// What the page and the JSON are rendered from.
    fn snapshots(&self, deadline: Instant) -> impl Future<Output = Vec<Arc<Observed>>> + Send;
}
