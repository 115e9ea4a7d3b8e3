//! The HTTP server.
//!
//! | path | answer |
//! |---|---|
//! | `/`, `/lease` | the status page: all leases, or one with its evidence |
//! | `/live` | the same as a stream of events: what the page shows, each time that it is another |
//! | `/metrics`, or as `--web.telemetry-path` says | the metrics, as Prometheus text |
//! | `/api/v1/leases` | the leases as JSON, as [`json`](crate::expose::json) describes |
//! | `/-/healthy`, `/-/ready` | 200 while the server runs; they say nothing of a store or a lease |
//! | `/style.css`, `/live.js`, `/favicon.ico` | what the page asks for |
//!
//! Every path takes GET and HEAD and never reads a body. A request can choose nothing but the path, what of all that was
//! read the page shows, and how long it is willing to wait: it cannot make the exporter read anything that is not
//! configured.

mod body;
mod deadline;
mod live;
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
pub use server::{Limits, serve};
pub use site::{Settings, Site, is_taken};

/// What the server serves. Both look at every source, for no longer than the deadline.
pub trait Content: Send + Sync + 'static {
    /// The metrics, in pieces that are sent one after the other without being joined.
    fn metrics(&self, deadline: Instant) -> impl Future<Output = Vec<Bytes>> + Send;

    /// What the page and the JSON are rendered from.
    fn snapshots(&self, deadline: Instant) -> impl Future<Output = Vec<Arc<Observed>>> + Send;
}
