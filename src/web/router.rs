//! The router: which response a request gets, and what it takes to make it.

use std::sync::Arc;
use std::time::Duration;

use hyper::body::Body;
use hyper::{HeaderMap, Method, Request, StatusCode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use super::accept::{self, Accepted};
use super::connection::ConnectionSlot;
use super::encoding::encoding;
use super::lifecycle::{self, Reloader};
use super::live::{Fragment, Fragments};
use super::rendering::Rendering;
use super::reply::{self, Reply};
use super::route::{Route, Shown};
use super::scrape_timeout::ScrapeTimeout;
use super::{Content, Scrape, asked, probe};
use crate::clock;
use crate::expose::page::{ObservedSource, PageClock, RenderedPage, View};
use crate::expose::{Encoding, json, page};
use crate::observer::{self, EncodedText, NotConfigured, PartialView, SourceSelection, WaitLimit, encoded};

/// How the router is set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The path of the metrics; `/metrics` by default. It begins with a slash, and must be none that
    /// [`is_taken`](super::is_taken).
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

/// Makes the response to a request, whichever address it came to.
#[derive(Debug)]
pub struct Router<C> {
    content: Arc<C>,
    telemetry_path: String,
    scrape_timeout: ScrapeTimeout,
    requests: Option<Arc<Semaphore>>,
    probes: bool,
    reloader: Option<Reloader>,
    fragments: Fragments,
    rendering: Rendering,
}

impl<C: Content> Router<C> {
    /// A router that serves this content.
    #[must_use]
    pub fn new(content: Arc<C>, settings: Settings) -> Self {
        let Settings { telemetry_path, max_requests, patience, most_patience, probes } = settings;
        Self {
            content,
            telemetry_path,
            scrape_timeout: ScrapeTimeout { by_default: patience, at_most: most_patience },
            fragments: Fragments::default(),
            rendering: Rendering::default(),
            requests: (max_requests > 0).then(|| Arc::new(Semaphore::new(max_requests.min(Semaphore::MAX_PERMITS)))),
            probes,
            reloader: None,
        }
    }

    /// The same router, where the configuration can be loaded again by a request.
    #[must_use]
    pub fn with_reloader(self, reloader: Reloader) -> Self {
        Self { reloader: Some(reloader), ..self }
    }

    #[cfg(test)]
    pub(super) fn rendering(&self) -> Rendering {
        self.rendering.clone()
    }

    /// Whether this is the path of a probe.
    pub(super) fn is_probe(&self, path: &str) -> bool {
        self.probes && matches!(Route::of(path, &self.telemetry_path), Some(Route::Probe(_)))
    }

    /// Answers a request that was let in over this connection. Its body is not read.
    pub(super) async fn answer(&self, request: &Request<impl Body>, slot: &ConnectionSlot) -> Reply {
        if request.uri().path() == lifecycle::PATH {
            return lifecycle::answer(self.reloader.as_ref(), request.method(), request.headers()).await;
        }
        match Route::of(request.uri().path(), &self.telemetry_path) {
            None => reply::error(StatusCode::NOT_FOUND),
            Some(Route::Probe(_)) if !self.probes => reply::error(StatusCode::NOT_FOUND),
            Some(_) if !matches!(*request.method(), Method::GET | Method::HEAD) => {
                reply::error(StatusCode::METHOD_NOT_ALLOWED)
            }
            Some(Route::Alive) => reply::content(reply::TEXT, "OK\n"),
            Some(Route::Asset(content_type, body)) => reply::asset(content_type, body),
            // A probe is not counted: to refuse it would look like a lease that is stalled.
            Some(Route::Probe(named)) => self.probe(named, request.headers()).await,
            Some(Route::Shown(shown)) => self.show(shown, request, slot).await.unwrap_or_else(Refused::reply),
        }
    }

    /// The answer, as soon as responses that are on their way leave room for what it retains.
    async fn show(
        &self,
        shown: Shown<'_>,
        request: &Request<impl Body>,
        slot: &ConnectionSlot,
    ) -> Result<Reply, Refused> {
        let (headers, query) = (request.headers(), request.uri().query().unwrap_or_default());
        if request.method() == Method::HEAD
            && let Some(reply) = self.unread(shown, headers, query)
        {
            return reply;
        }
        let deadline = Instant::now() + self.scrape_timeout.of(headers);
        let (budget, mut turn) = (slot.budget(), None);
        loop {
            // Held until the response is made, and neither while it waits nor until it is sent: otherwise a few clients that
            // do not read would keep out all others. What is being sent is bounded by its budget.
            let permit = if matches!(shown, Shown::Live) {
                Some(self.fragments.turn(deadline).await.ok_or(Refused::TooMany)?)
            } else {
                self.permit()?
            };
            let reply = self.made(shown, headers, query, deadline).await?;
            let retained = reply.body().retained();
            let shortage = match budget.admit(slot.peer(), &retained, turn.as_ref()) {
                Ok(grant) => return Ok(reply.map(|body| body.granted(grant))),
                Err(shortage) => shortage,
            };
            drop(permit);
            // It is made again: one that waits must hold nothing.
            drop(reply);
            turn = Some(
                timeout_at(deadline, budget.room(slot.peer(), turn, shortage)).await.map_err(|_| Refused::TooMany)?,
            );
        }
    }

    async fn made(
        &self,
        shown: Shown<'_>,
        headers: &HeaderMap,
        query: &str,
        deadline: Instant,
    ) -> Result<Reply, Refused> {
        let encoding = encoding(headers);
        match shown {
            Shown::Metrics => self.metrics(headers, asked::sources(query), encoding, deadline).await,
            Shown::Leases => self.leases(asked::sources(query), encoding, deadline).await,
            Shown::Lease(named) => self.lease(named, encoding, deadline).await,
            Shown::LeasesPage => self.page(View::list(query), encoding, deadline).await,
            Shown::LeasePage => self.page(View::lease(query), encoding, deadline).await,
            Shown::Live => self.live(View::live(query), headers, encoding, deadline).await,
        }
    }

    /// What HEAD answers where no source has to be read for it; otherwise nothing.
    fn unread(&self, shown: Shown<'_>, headers: &HeaderMap, query: &str) -> Option<Result<Reply, Refused>> {
        let unmade = EncodedText::Plain(Vec::new());
        let (sources, reply) = match shown {
            Shown::Metrics => (asked::sources(query), reply::metrics(accept::accepted(headers).content_type, unmade)),
            Shown::Leases => (asked::sources(query), reply::json(unmade)),
            Shown::LeasesPage => (SourceSelection::All, reply::page(true, unmade)),
            Shown::Live => (SourceSelection::All, reply::fragment(unmade, None)),
            // Whether there is such a lease only its source can say.
            Shown::Lease(_) | Shown::LeasePage => return None,
        };
        Some(self.content.configured(&sources).map(|()| reply::unmade(reply)).map_err(Refused::from))
    }

    async fn metrics(
        &self,
        headers: &HeaderMap,
        sources: SourceSelection,
        encoding: Encoding,
        deadline: Instant,
    ) -> Result<Reply, Refused> {
        let Accepted { format, content_type } = accept::accepted(headers);
        let body = self.content.metrics(Scrape { sources, format, encoding }, deadline).await?;
        Ok(reply::metrics(content_type, body))
    }

    async fn leases(&self, sources: SourceSelection, encoding: Encoding, deadline: Instant) -> Result<Reply, Refused> {
        let readings = self.content.readings(sources, deadline).await?;
        observer::json(&readings, encoding).await.map(reply::json).ok_or(Refused::NotRendered)
    }

    async fn lease(&self, named: &str, encoding: Encoding, deadline: Instant) -> Result<Reply, Refused> {
        let (source, lease) = asked::lease(named).ok_or(Refused::NoSuchLease)?;
        let readings = self.content.readings(SourceSelection::Named(vec![source]), deadline).await?;
        let json = readings.first().and_then(|reading| json::lease_to_vec(&reading.snapshot, &lease));
        let json = json.ok_or(Refused::NoSuchLease)?.map_err(Refused::json)?;
        Ok(reply::json(encoded(vec![json.into()], encoding)))
    }

    async fn page(&self, view: View, encoding: Encoding, deadline: Instant) -> Result<Reply, Refused> {
        let partial_views = partial_views(&*self.content, &view, WaitLimit::LastReadDuration, deadline).await;
        let (sources, telemetry_path) = (self.content.sources(), self.telemetry_path.clone());
        let render = move || {
            let page = page::page(&view, &looks(&partial_views), &sources, now(), &telemetry_path);
            page.map(|RenderedPage { html, found }| reply::page(found, encoded(vec![html.into()], encoding)))
        };
        let page = self.rendering.of(render).await.ok_or(Refused::NotRendered)?;
        page.map_err(Refused::page)
    }

    /// The main part of a page. Its script asks again soon, so it waits for no source longer than a moment.
    async fn live(
        &self,
        view: View,
        headers: &HeaderMap,
        encoding: Encoding,
        deadline: Instant,
    ) -> Result<Reply, Refused> {
        let partial_views = partial_views(&*self.content, &view, WaitLimit::Short, deadline).await;
        if let Some(fragment) = self.fragments.rendered(&view, encoding, &partial_views) {
            return Ok(fragment.reply(headers));
        }
        let (shown, looked_at) = (view.clone(), partial_views.clone());
        let render = move || {
            let main = page::main(&shown, &looks(&looked_at), now()).map_err(Refused::page)?;
            Ok::<_, Refused>(Arc::new(Fragment::new(main, encoding)))
        };
        let fragment = self.rendering.of(render).await.ok_or(Refused::NotRendered)??;
        self.fragments.keep(view, encoding, &partial_views, &fragment);
        Ok(fragment.reply(headers))
    }

    async fn probe(&self, named: &str, headers: &HeaderMap) -> Reply {
        let Some((source, lease)) = asked::lease(named) else {
            return reply::error(StatusCode::NOT_FOUND);
        };
        let deadline = Instant::now() + self.scrape_timeout.of(headers);
        probe::answer(&*self.content, source, &lease, deadline).await
    }

    /// A permit to look at sources; `Ok(None)` where there is no limit.
    fn permit(&self) -> Result<Option<OwnedSemaphorePermit>, Refused> {
        let permit = self.requests.as_ref().map(|requests| Arc::clone(requests).try_acquire_owned());
        permit.transpose().map_err(|_| Refused::TooMany)
    }
}

/// Why there is nothing to show.
#[derive(Clone, Copy, Debug)]
enum Refused {
    TooMany,
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

    fn page(error: impl std::fmt::Display) -> Self {
        tracing::error!(%error, "the page could not be rendered");
        Self::NotRendered
    }

    fn reply(self) -> Reply {
        match self {
            Self::TooMany => reply::error(StatusCode::SERVICE_UNAVAILABLE),
            Self::NoSuchSource => reply::unknown("no source of that name\n"),
            Self::NoSuchLease => reply::unknown("no lease of that name\n"),
            Self::NotRendered => reply::error(StatusCode::INTERNAL_SERVER_ERROR),
        }
    }
}

/// What is known of the sources that a view shows. No other is looked at, and none if the one that it names is none.
async fn partial_views(content: &impl Content, view: &View, waiting: WaitLimit, deadline: Instant) -> Vec<PartialView> {
    let sources = view.source().map_or(SourceSelection::All, |source| SourceSelection::Named(vec![source.to_owned()]));
    content.partial_views(sources, waiting, deadline).await.unwrap_or_default()
}

/// The latest look at each source, as the page wants it.
fn looks(partial_views: &[PartialView]) -> Vec<ObservedSource<'_>> {
    partial_views
        .iter()
        .map(|PartialView { snapshot, history, at, unanswered }| ObservedSource {
            snapshot,
            history,
            at: *at,
            unanswered: *unanswered,
        })
        .collect()
}

fn now() -> PageClock {
    PageClock { unix_seconds: clock::unix_seconds(), monotonic: clock::monotonic() }
}
