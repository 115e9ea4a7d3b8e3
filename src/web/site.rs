//! Which path gives what.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::Body;
use hyper::{HeaderMap, Method, Request, StatusCode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::accept::{self, Accepted};
use super::deadline::Patience;
use super::encoding::encoding;
use super::lifecycle::{self, Reloader};
use super::live::Streams;
use super::reply::{self, Reply};
use super::{Content, Scrape, asked, probe};
use crate::clock;
use crate::expose::page::{Looked, Now, Rendered, View};
use crate::expose::{Encoding, json, metrics, page};
use crate::lease::SourceSnapshot;
use crate::observer::{Chosen, Encoded, NotConfigured, Observed};

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
    streams: Streams,
}

#[derive(Clone, Copy, Debug)]
enum Route<'a> {
    Metrics,
    LeasesPage,
    LeasePage,
    Live,
    LeasesJson,
    /// What names it in the path: `source/lease`.
    LeaseJson(&'a str),
    /// What names the lease in the path: `source/lease`.
    Probe(&'a str),
    Alive,
    Asset(&'static str, &'static str),
}

/// Every path but that of the metrics, which is a setting.
const FIXED: [(&str, Route<'static>); 9] = [
    ("/", Route::LeasesPage),
    ("/lease", Route::LeasePage),
    ("/live", Route::Live),
    ("/api/v1/leases", Route::LeasesJson),
    ("/-/healthy", Route::Alive),
    ("/-/ready", Route::Alive),
    ("/style.css", Route::Asset(reply::CSS, page::STYLE)),
    ("/live.js", Route::Asset(reply::SCRIPT, page::SCRIPT)),
    ("/favicon.ico", Route::Asset(reply::SVG, page::ICON)),
];

/// What stands before the names of a source and a lease.
const LEASE: &str = "/api/v1/leases/";

/// Everything that is served, as paths or what they begin with; but for the path of the metrics.
pub fn paths() -> impl Iterator<Item = &'static str> {
    let fixed = FIXED.into_iter().map(|(path, _)| path);
    fixed.chain([LEASE, lifecycle::PATH, probe::BEFORE])
}

fn fixed(path: &str) -> Option<Route<'_>> {
    let exact = FIXED.into_iter().find(|(fixed, _)| *fixed == path).map(|(_, route)| route);
    exact.or_else(|| path.strip_prefix(LEASE).map(Route::LeaseJson))
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
            streams: Streams::default(),
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

    /// Ends what would otherwise go on for as long as somebody watches.
    pub(super) fn end_streams(&self) {
        self.streams.end();
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

    fn route<'a>(&self, path: &'a str) -> Option<Route<'a>> {
        if path == self.telemetry_path {
            return Some(Route::Metrics);
        }
        fixed(path).or_else(|| probe::named(path).filter(|_| self.probes).map(Route::Probe))
    }

    async fn serve(&self, route: Route<'_>, request: &Request<impl Body>) -> Reply {
        match route {
            Route::Alive => return reply::content(reply::TEXT, "OK\n"),
            Route::Asset(content_type, body) => return reply::asset(content_type, body),
            Route::Live => return self.streams.open(&self.content, request, self.requests.clone(), self.patience),
            // A probe is not counted: to refuse it would look like a lease that is stalled.
            Route::Probe(named) => return self.probe(named, request.headers()).await,
            Route::Metrics | Route::LeasesPage | Route::LeasePage | Route::LeasesJson | Route::LeaseJson(_) => {}
        }
        // Held until the answer is made and not until it is sent: otherwise a few clients that do not read would keep
        // out all others. What is being sent is bounded by the limits of connections.
        let Ok(_permit) = self.permit() else {
            return reply::error(StatusCode::SERVICE_UNAVAILABLE);
        };
        let deadline = Instant::now() + self.patience.with(request.headers());
        let encoding = encoding(request.headers());
        let query = request.uri().query().unwrap_or_default();
        let reply = match route {
            Route::Metrics => self.metrics(request.headers(), asked::sources(query), encoding, deadline).await,
            Route::LeasesJson => self.leases(asked::sources(query), encoding, deadline).await,
            Route::LeaseJson(named) => self.lease(named, encoding, deadline).await,
            Route::LeasePage => self.page(&View::lease(query), encoding, deadline).await,
            _ => self.page(&View::list(query), encoding, deadline).await,
        };
        reply.unwrap_or_else(|refused| refused.reply())
    }

    async fn metrics(
        &self,
        headers: &HeaderMap,
        sources: Chosen,
        encoding: Encoding,
        deadline: Instant,
    ) -> Result<Reply, Refused> {
        let Accepted { format, content_type } = accept::accepted(headers);
        let body = self.content.metrics(Scrape { sources, format, encoding }, deadline).await?;
        Ok(reply::metrics(content_type, body))
    }

    async fn leases(&self, sources: Chosen, encoding: Encoding, deadline: Instant) -> Result<Reply, Refused> {
        let observed = self.content.snapshots(sources, deadline).await?;
        let json = json::to_vec(&snapshots(&observed)).map_err(Refused::json)?;
        Ok(reply::json(encoded(json, encoding).await))
    }

    async fn lease(&self, named: &str, encoding: Encoding, deadline: Instant) -> Result<Reply, Refused> {
        let (source, lease) = asked::lease(named).ok_or(Refused::NoSuchLease)?;
        let observed = self.content.snapshots(Chosen::Named(vec![source]), deadline).await?;
        let json = observed.first().and_then(|observed| json::lease_to_vec(&observed.snapshot, &lease));
        let json = json.ok_or(Refused::NoSuchLease)?.map_err(Refused::json)?;
        Ok(reply::json(encoded(json, encoding).await))
    }

    async fn page(&self, view: &View, encoding: Encoding, deadline: Instant) -> Result<Reply, Refused> {
        let observed = self.content.snapshots(Chosen::All, deadline).await?;
        let page = page::page(view, &looks(&observed), now(), &self.telemetry_path);
        let Rendered { html, found } = page.map_err(|error| {
            tracing::error!(%error, "the page could not be rendered");
            Refused::NotRendered
        })?;
        Ok(reply::page(found, encoded(html.into(), encoding).await))
    }

    async fn probe(&self, named: &str, headers: &HeaderMap) -> Reply {
        let Some((source, lease)) = asked::lease(named) else {
            return reply::error(StatusCode::NOT_FOUND);
        };
        let deadline = Instant::now() + self.patience.with(headers);
        probe::answer(&*self.content, source, &lease, deadline).await
    }

    /// A permit to look at sources; `Ok(None)` where there is no limit.
    fn permit(&self) -> Result<Option<OwnedSemaphorePermit>, tokio::sync::TryAcquireError> {
        self.requests.as_ref().map(|requests| Arc::clone(requests).try_acquire_owned()).transpose()
    }
}

/// Why there is nothing to show.
#[derive(Clone, Copy, Debug)]
enum Refused {
    NoSuchSource,
    NoSuchLease,
    NotRendered,
}

impl From<NotConfigured> for Refused {
    fn from(_: NotConfigured) -> Self {
        Self::NoSuchSource
    }
}

impl Refused {
    fn json(error: serde_json::Error) -> Self {
        tracing::error!(%error, "the JSON could not be rendered");
        Self::NotRendered
    }

    fn reply(self) -> Reply {
        match self {
            Self::NoSuchSource => reply::unknown("no source of that name\n"),
            Self::NoSuchLease => reply::unknown("no lease of that name\n"),
            Self::NotRendered => reply::error(StatusCode::INTERNAL_SERVER_ERROR),
        }
    }
}

/// A text as it is sent to this client. Compressing it may take a while, so that is done on a thread that may take it.
async fn encoded(text: Vec<u8>, encoding: Encoding) -> Encoded {
    let text = vec![Bytes::from(text)];
    if !encoding.compresses(text[0].len() as u64) {
        return Encoded::Plain(text);
    }
    let plain = text.clone();
    match tokio::task::spawn_blocking(move || metrics::gzip(&text)).await {
        Ok(Ok(stream)) => Encoded::Gzip(stream),
        _ => Encoded::Plain(plain),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A new route has to be named here, and then be listed.
    const fn name(route: Route<'_>) -> &'static str {
        match route {
            Route::Metrics => "metrics",
            Route::LeasesPage => "page of leases",
            Route::LeasePage => "page of a lease",
            Route::Live => "live",
            Route::LeasesJson => "leases",
            Route::LeaseJson(_) => "lease",
            Route::Probe(_) => "probe",
            Route::Alive => "alive",
            Route::Asset(..) => "asset",
        }
    }

    #[test]
    fn every_route_is_listed_by_its_path() {
        let probe_of = |path: &str| probe::named(&format!("{path}source/lease/live")).is_some();
        let of = |path: &'static str| match path {
            lifecycle::PATH => "reload",
            _ if probe_of(path) => name(Route::Probe("")),
            _ => fixed(path).map_or("none", name),
        };
        let mut listed: Vec<_> = paths().map(of).chain([name(Route::Metrics)]).collect();
        listed.sort_unstable();
        listed.dedup();
        let all = [
            "alive",
            "asset",
            "lease",
            "leases",
            "live",
            "metrics",
            "page of a lease",
            "page of leases",
            "probe",
            "reload",
        ];
        assert_eq!(listed, all);
    }
}
