//! Which path gives what.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::Body;
use hyper::{Method, Request, StatusCode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::body::Chunks;
use super::deadline::Patience;
use super::lifecycle::{self, Reloader};
use super::reply::{self, Reply};
use super::{Content, probe};
use crate::clock;
use crate::expose::{json, page};
use crate::lease::SourceSnapshot;
use crate::observer::Observed;

/// How the site is set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The path of the metrics; `/metrics` by default. It begins with a slash, and must be none that [`is_taken`].
    pub telemetry_path: String,
    /// How many requests may look at sources at once; 0 for no limit. As with other exporters, what is beyond is
    /// refused, not queued.
    pub max_requests: usize,
    /// How long to look at sources for a request that does not say.
    pub patience: Duration,
    /// How long to look at sources at the most, whatever a request says.
    pub most_patience: Duration,
    /// Whether there are probes of single leases.
    pub probes: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            telemetry_path: "/metrics".to_owned(),
            max_requests: 40,
            patience: Duration::from_secs(10),
            most_patience: Duration::from_secs(120),
            probes: false,
        }
    }
}

/// What is served, whichever address a request came to.
#[derive(Debug)]
pub struct Site<C> {
    content: Arc<C>,
    telemetry_path: String,
    patience: Patience,
    requests: Option<Arc<Semaphore>>,
    probes: bool,
    reloader: Option<Reloader>,
}

#[derive(Clone, Copy, Debug)]
enum Route {
    Metrics,
    Page,
    Leases,
    Alive,
    Probe,
    Asset(&'static str, &'static str),
}

/// Every path but that of the metrics, which is a setting.
const FIXED: [(&str, Route); 7] = [
    ("/", Route::Page),
    ("/api/v1/leases", Route::Leases),
    ("/-/healthy", Route::Alive),
    ("/-/ready", Route::Alive),
    ("/style.css", Route::Asset(reply::CSS, page::STYLE)),
    ("/live.js", Route::Asset(reply::SCRIPT, page::SCRIPT)),
    ("/favicon.ico", Route::Asset(reply::SVG, page::ICON)),
];

fn fixed(path: &str) -> Option<Route> {
    FIXED.into_iter().find(|(fixed, _)| *fixed == path).map(|(_, route)| route)
}

/// Whether a path already gives something else than the metrics.
#[must_use]
pub fn is_taken(path: &str) -> bool {
    fixed(path).is_some() || path == lifecycle::PATH || probe::named(path).is_some()
}

impl<C: Content> Site<C> {
    /// A site with this content.
    #[must_use]
    pub fn new(content: Arc<C>, settings: Settings) -> Self {
        let Settings { telemetry_path, max_requests, patience, most_patience, probes } = settings;
        Self {
            content,
            telemetry_path,
            patience: Patience { by_default: patience, at_most: most_patience },
            requests: (max_requests > 0).then(|| Arc::new(Semaphore::new(max_requests.min(Semaphore::MAX_PERMITS)))),
            probes,
            reloader: None,
        }
    }

    /// The same site, where the configuration can be loaded again by a request.
    #[must_use]
    pub fn with_reloader(self, reloader: Reloader) -> Self {
        Self { reloader: Some(reloader), ..self }
    }

    /// Answers a request. Its body is not read.
    pub(super) async fn answer(&self, request: &Request<impl Body>) -> Reply {
        if request.uri().path() == lifecycle::PATH {
            return lifecycle::answer(self.reloader.as_ref(), request.method(), request.headers()).await;
        }
        match self.route(request.uri().path()) {
            None => reply::error(StatusCode::NOT_FOUND),
            Some(_) if !matches!(*request.method(), Method::GET | Method::HEAD) => {
                reply::error(StatusCode::METHOD_NOT_ALLOWED)
            }
            Some(route) => self.serve(route, request).await,
        }
    }

    fn route(&self, path: &str) -> Option<Route> {
        if path == self.telemetry_path {
            return Some(Route::Metrics);
        }
        fixed(path).or_else(|| (self.probes && probe::named(path).is_some()).then_some(Route::Probe))
    }

    async fn serve(&self, route: Route, request: &Request<impl Body>) -> Reply {
        match route {
            Route::Alive => return reply::content(reply::TEXT, "OK\n"),
            Route::Asset(content_type, body) => return reply::asset(content_type, body),
            // A probe is not counted: to refuse it would look like a lease that is stalled.
            Route::Probe => return self.probe(request).await,
            Route::Metrics | Route::Page | Route::Leases => {}
        }
        // Held until the answer is made and not until it is sent: otherwise a few clients that do not read would keep
        // out all others. What is being sent is bounded by the limits of connections.
        let Ok(_permit) = self.permit() else {
            return reply::error(StatusCode::SERVICE_UNAVAILABLE);
        };
        let deadline = Instant::now() + self.patience.with(request.headers());
        if matches!(route, Route::Metrics) {
            return reply::metrics(self.content.metrics(deadline).await.into());
        }
        let observed = self.content.snapshots(deadline).await;
        let rendered = match route {
            Route::Leases => leases(&observed).map(|json| reply::content(reply::JSON, json)),
            _ => self.page(&observed).map(reply::page),
        };
        rendered.unwrap_or_else(|| reply::error(StatusCode::INTERNAL_SERVER_ERROR))
    }

    async fn probe(&self, request: &Request<impl Body>) -> Reply {
        let Some((source, lease)) = probe::named(request.uri().path()) else {
            return reply::error(StatusCode::NOT_FOUND);
        };
        let deadline = Instant::now() + self.patience.with(request.headers());
        probe::answer(&*self.content, &source, &lease, deadline).await
    }

    /// A permit to look at sources; `Ok(None)` where there is no limit.
    fn permit(&self) -> Result<Option<OwnedSemaphorePermit>, tokio::sync::TryAcquireError> {
        self.requests.as_ref().map(|requests| Arc::clone(requests).try_acquire_owned()).transpose()
    }

    fn page(&self, observed: &[Arc<Observed>]) -> Option<Chunks> {
        page::render(&snapshots(observed), clock::unix_seconds(), &self.telemetry_path)
            .inspect_err(|error| tracing::error!(%error, "the page could not be rendered"))
            .ok()
            .map(|page| Bytes::from(page).into())
    }
}

fn leases(observed: &[Arc<Observed>]) -> Option<Chunks> {
    json::to_vec(&snapshots(observed))
        .inspect_err(|error| tracing::error!(%error, "the JSON could not be rendered"))
        .ok()
        .map(|json| Bytes::from(json).into())
}

fn snapshots(observed: &[Arc<Observed>]) -> Vec<&SourceSnapshot> {
    observed.iter().map(|observed| &*observed.snapshot).collect()
}
