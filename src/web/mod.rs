//! The HTTP server.
//!
//! | path | content |
//! |---|---|
//! | `/`, `/lease` | the status page: all leases, or one with its evidence |
//! | `/live` | the main part of either page, for its script; supports `If-None-Match` |
//! | `/metrics`, or `--web.telemetry-path` | the metrics, in OpenMetrics 1.0 or Prometheus text 0.0.4, by `Accept` |
//! | `/api/v1/leases` | the leases as JSON, described in [`json`](crate::expose::json) |
//! | `/api/v1/leases/{source}/{lease}` | one lease as JSON; 404 if it does not exist |
//! | `/-/healthy`, `/-/ready` | 200 while the server runs, whatever the state of stores and leases |
//! | `/-/reload` | by POST, with `--web.enable-lifecycle`: reloads the configuration |
//! | `/leases/{source}/{lease}/live` | with `--web.enable-probes`: 503 if the lease is stalled, otherwise 200 |
//! | `/style.css`, `/live.js`, `/favicon.ico` | files of the status page |
//!
//! All paths but `/-/reload` accept GET and HEAD. Request bodies are never read.
//!
//! `?source=NAME`, which can be repeated, selects the sources of the metrics and the JSON; 404 if one is not configured. The query of
//! the status page selects its view. Only selected sources are read. Other parameters are ignored. Requests can choose nothing else but
//! their timeout, so they cannot make the exporter read anything that is not configured.
//!
//! The status page waits for slow sources only briefly. HEAD reads no source, except for a single lease, whose status depends on it.

mod accept_header;
mod authenticator;
mod basic_auth;
mod body;
pub mod config;
mod connection;
mod content;
mod fragment;
mod http_connection;
mod limits;
mod listener;
mod negotiation;
mod probe;
mod reload;
mod render_pool;
mod response;
mod route;
mod router;
mod scrape_timeout;
mod server;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub use authenticator::Authenticator;
pub use body::ResponseBody;
pub use content::Content;
pub use limits::Limits;
pub use listener::Listener;
pub use reload::{ReloadRequest, ReloadResult, Reloader};
pub use route::{is_taken, paths};
pub use router::{Router, Settings};
pub use server::serve;
