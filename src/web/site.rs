//! Which path gives what.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::Body;
use hyper::header::CONNECTION;
use hyper::{Method, Request, StatusCode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::Content;
use super::body::Chunks;
use super::deadline::Patience;
use super::live::Streams;
use super::reply::{self, Reply};
use crate::clock;
use crate::expose::page::{Looked, Now, Rendered, View};
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
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            telemetry_path: "/metrics".to_owned(),
            max_requests: 40,
            patience: Duration::from_secs(10),
            most_patience: Duration::from_secs(120),
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
    streams: Streams,
}

#[derive(Clone, Copy, Debug)]
enum Route {
    Metrics,
    Page,
    Lease,
    Live,
    Leases,
    Alive,
    Asset(&'static str, &'static str),
}

/// Every path but that of the metrics, which is a setting.
const FIXED: [(&str, Route); 9] = [
    ("/", Route::Page),
    ("/lease", Route::Lease),
    ("/live", Route::Live),
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
    fixed(path).is_some()
}

impl<C: Content> Site<C> {
    /// A site with this content.
    #[must_use]
    pub fn new(content: Arc<C>, settings: Settings) -> Self {
        let Settings { telemetry_path, max_requests, patience, most_patience } = settings;
        Self {
            content,
            telemetry_path,
            patience: Patience { by_default: patience, at_most: most_patience },
            streams: Streams::default(),
            requests: (max_requests > 0).then(|| Arc::new(Semaphore::new(max_requests.min(Semaphore::MAX_PERMITS)))),
        }
    }

    /// Ends what would otherwise go on for as long as somebody watches.
    pub(super) fn end_streams(&self) {
        self.streams.end();
    }

    /// Answers a request. Its body is not read.
    pub(super) async fn answer(&self, request: &Request<impl Body>) -> Reply {
        let reply = match self.route(request.uri().path()) {
            None => reply::error(StatusCode::NOT_FOUND),
            Some(_) if !matches!(*request.method(), Method::GET | Method::HEAD) => {
                reply::error(StatusCode::METHOD_NOT_ALLOWED)
            }
            Some(route) => self.serve(route, request).await,
        };
        if request.body().is_end_stream() {
            reply
        } else {
            // What was not read would be taken for the next request.
            reply::with(reply, CONNECTION, "close")
        }
    }

    fn route(&self, path: &str) -> Option<Route> {
        if path == self.telemetry_path { Some(Route::Metrics) } else { fixed(path) }
    }

    async fn serve(&self, route: Route, request: &Request<impl Body>) -> Reply {
        match route {
            Route::Alive => return reply::content(reply::TEXT, "OK\n"),
            Route::Asset(content_type, body) => return reply::asset(content_type, body),
            Route::Live => return self.streams.open(&self.content, request, self.requests.clone(), self.patience),
            Route::Metrics | Route::Page | Route::Lease | Route::Leases => {}
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
        let query = request.uri().query().unwrap_or_default();
        let rendered = match route {
            Route::Leases => leases(&observed).map(|json| reply::content(reply::JSON, json)),
            Route::Lease => self.page(&View::lease(query), &observed),
            _ => self.page(&View::list(query), &observed),
        };
        rendered.unwrap_or_else(|| reply::error(StatusCode::INTERNAL_SERVER_ERROR))
    }

    /// A permit to look at sources; `Ok(None)` where there is no limit.
    fn permit(&self) -> Result<Option<OwnedSemaphorePermit>, tokio::sync::TryAcquireError> {
        self.requests.as_ref().map(|requests| Arc::clone(requests).try_acquire_owned()).transpose()
    }

    fn page(&self, view: &View, observed: &[Arc<Observed>]) -> Option<Reply> {
        page::page(view, &looks(observed), now(), &self.telemetry_path)
            .inspect_err(|error| tracing::error!(%error, "the page could not be rendered"))
            .ok()
            .map(|Rendered { html, found }| reply::page(found, Bytes::from(html)))
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

/// The latest look at each source, as the page wants it.
pub(super) fn looks(observed: &[Arc<Observed>]) -> Vec<Looked<'_>> {
    observed.iter().map(|observed| Looked { snapshot: &observed.snapshot, history: &observed.history }).collect()
}

pub(super) fn now() -> Now {
    Now { unix_seconds: clock::unix_seconds(), monotonic: clock::monotonic() }
}
