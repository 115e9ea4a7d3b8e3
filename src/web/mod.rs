//! The HTTP server.
//!
//! | path | answer |
//! |---|---|
//! | `/`, `/lease` | the status page: all leases, or one with its evidence |
//! | `/live` | the main part of either, for the page's script; 304 without a body if `If-None-Match` names what it would be |
//! | `/metrics`, or as `--web.telemetry-path` says | the metrics, as OpenMetrics 1.0 or Prometheus text 0.0.4, as `Accept` says |
//! | `/api/v1/leases` | the leases as JSON, as [`json`](crate::expose::json) describes |
//! | `/api/v1/leases/{source}/{lease}` | one of them; 404 if there is none of that name |
//! | `/-/healthy`, `/-/ready` | 200 while the server runs; they say nothing of a store or a lease |
//! | `/-/reload` | by POST, with `--web.enable-lifecycle`: the configuration is loaded again |
//! | `/leases/{source}/{lease}/live` | with `--web.enable-probes`: 503 if the lease is stalled, 200 if not or not known |
//! | `/style.css`, `/live.js`, `/favicon.ico` | what the page asks for |
//!
//! Every other path takes GET and HEAD, and none reads a body. `?source=NAME`, as often as wanted, asks for the metrics
//! or the leases of these sources alone, and no other is read; 404 if one is not configured. What the page shows is in
//! its query too; where that names a source, no other is read for it. The page and its main
//! part wait for a source no longer than people would, and then say what is known of it; everything else waits as a scrape
//! does. Anything else in a query is ignored. What is looked at is sent as gzip to who asks for it by `Accept-Encoding`, unless it fits a
//! packet. HEAD reads no source but where the status depends on what is read, which is so of one lease: its answer has
//! the headers of GET without those that only a body would tell, `Content-Length` and `Content-Encoding`.
//!
//! A request can choose nothing else but how long it is willing to wait, so it cannot make the exporter read anything
//! that is not configured.

mod accept;
mod asked;
mod authenticator;
mod body;
pub mod config;
mod connection;
mod encoding;
mod handshake;
mod lifecycle;
mod listener;
mod live;
mod login;
mod probe;
mod quality;
mod rendering;
mod reply;
mod route;
mod router;
mod rules;
mod scrape_timeout;
mod server;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use tokio::time::Instant;

use crate::expose::{Encoding, Format};
use crate::observer::{CachedReading, EncodedText, NotConfigured, PartialView, SourceSelection, WaitLimit};

pub use authenticator::Authenticator;
pub use body::ResponseBody;
pub use lifecycle::{Asked, Reloaded, Reloader};
pub use listener::Listener;
pub use route::{is_taken, paths};
pub use router::{Router, Settings};
pub use server::{Limits, serve};

/// What a scrape asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scrape {
    /// Of which sources.
    pub sources: SourceSelection,
    /// In which format.
    pub format: Format,
    /// Whether compressed.
    pub encoding: Encoding,
}

/// What the server serves. What looks at the chosen sources does so for no longer than the deadline.
pub trait Content: Send + Sync + 'static {
    /// Whether these sources are configured. None is looked at.
    ///
    /// # Errors
    /// When one of them is not.
    fn configured(&self, sources: &SourceSelection) -> Result<(), NotConfigured>;

    /// The metrics, in pieces that are sent one after the other without being joined.
    fn metrics(
        &self,
        scrape: Scrape,
        deadline: Instant,
    ) -> impl Future<Output = Result<EncodedText, NotConfigured>> + Send;

    /// What the JSON is rendered from.
    fn readings(
        &self,
        sources: SourceSelection,
        deadline: Instant,
    ) -> impl Future<Output = Result<Vec<Arc<CachedReading>>, NotConfigured>> + Send;

    /// What the page is rendered from: what is known of the chosen sources without waiting for them for long. What is read
    /// for it has until the deadline.
    fn partial_views(
        &self,
        sources: SourceSelection,
        waiting: WaitLimit,
        deadline: Instant,
    ) -> impl Future<Output = Result<Vec<PartialView>, NotConfigured>> + Send;

    /// The names of all sources.
    fn sources(&self) -> Vec<String>;
}
