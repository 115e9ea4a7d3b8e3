//! Routes requests, and makes the responses within the limits of requests and memory.

use std::sync::Arc;
use std::time::Duration;

use hyper::body::Body;
use hyper::{HeaderMap, Method, Request, StatusCode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use super::connection::ConnectionSlot;
use super::content::Content;
use super::fragment::{Fragment, FragmentCache};
use super::negotiation::{encoding, metrics_format};
use super::probe;
use super::reload::{self, Reloader};
use super::render_pool::RenderPool;
use super::response::{self, Response};
use super::route::{Resource, Route, lease_name, selected_sources};
use super::scrape_timeout::scrape_timeout;
use crate::clock;
use crate::expose::page::{ObservedSource, PageClock, PageRequest, RenderedPage};
use crate::expose::{Encoding, json, page};
use crate::observer::{self, EncodedText, NotConfigured, SourceSelection, WaitLimit, encoded};

/// The settings of a router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The path of the metrics. It begins with a slash, and must not be [taken](super::is_taken).
    pub telemetry_path: String,
    /// The number of requests that may read sources at once; 0 for no limit. More are rejected, as by other exporters.
    pub max_requests: usize,
    /// How long sources are read for a request without a scrape timeout.
    pub default_timeout: Duration,
    /// How long sources are read for any request.
    pub max_timeout: Duration,
    /// Whether probes of leases are served.
    pub probes: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            telemetry_path: "/metrics".to_owned(),
            max_requests: 40,
            default_timeout: Duration::from_secs(10),
            max_timeout: Duration::from_secs(120),
            probes: false,
        }
    }
}

/// Responds to requests.
#[derive(Debug)]
pub struct Router<C> {
    content: Arc<C>,
    settings: Settings,
    requests: Option<Arc<Semaphore>>,
    reloader: Option<Reloader>,
    fragments: FragmentCache,
    pub(super) render_pool: RenderPool,
}

struct ResourceRequest<'a> {
    resource: Resource<'a>,
    headers: &'a HeaderMap,
    query: &'a str,
    encoding: Encoding,
    deadline: Instant,
}

impl<C: Content> Router<C> {
    /// A router that serves this content.
    #[must_use]
    pub fn new(content: Arc<C>, settings: Settings) -> Self {
        let max_requests = settings.max_requests.min(Semaphore::MAX_PERMITS);
        Self {
            content,
            settings,
            requests: (max_requests > 0).then(|| Arc::new(Semaphore::new(max_requests))),
            reloader: None,
            fragments: FragmentCache::default(),
            render_pool: RenderPool::default(),
        }
    }

    /// Allows reloading the configuration by request.
    #[must_use]
    pub fn with_reloader(self, reloader: Reloader) -> Self {
        Self { reloader: Some(reloader), ..self }
    }

    pub(super) fn is_probe(&self, path: &str) -> bool {
        self.settings.probes && matches!(Route::of(path, &self.settings.telemetry_path), Some(Route::Probe(_)))
    }

    /// Responds to an authorized request. Its body is not read.
    pub(super) async fn respond(&self, request: &Request<impl Body>, slot: &ConnectionSlot) -> Response {
        let (path, method, headers) = (request.uri().path(), request.method(), request.headers());
        if path == reload::PATH {
            return reload::respond(self.reloader.as_ref(), method, headers).await;
        }
        let Some(route) = Route::of(path, &self.settings.telemetry_path) else { return response::not_found() };
        if matches!(route, Route::Probe(_)) && !self.settings.probes {
            return response::not_found();
        }
        if !matches!(*method, Method::GET | Method::HEAD) {
            return response::method_not_allowed("only GET and HEAD are allowed here\n", "GET, HEAD");
        }
        let resource = match route {
            Route::Health => return response::text(StatusCode::OK, "OK\n"),
            Route::Asset(content_type, body) => return response::asset(content_type, body),
            // Probes are not limited: a rejected probe would count as a stalled lease.
            Route::Probe(name) => return self.probe(name, headers).await,
            Route::Resource(resource) => resource,
        };
        let request = ResourceRequest {
            resource,
            headers,
            query: request.uri().query().unwrap_or_default(),
            encoding: encoding(headers),
            deadline: self.deadline(headers),
        };
        let head = if *method == Method::HEAD { self.head(&request) } else { None };
        let response = match head {
            Some(response) => response,
            None => self.resource_within_budget(&request, slot).await,
        };
        response.unwrap_or_else(RequestError::respond)
    }

    /// Makes a response as soon as the budget has room for the memory that it retains.
    ///
    /// The permit limits the responses that are made at once, and the budget of the connections limits the memory of those
    /// that are sent. A grant is the response's part of the budget. A ticket keeps the request's place while it waits.
    async fn resource_within_budget(
        &self,
        request: &ResourceRequest<'_>,
        slot: &ConnectionSlot,
    ) -> Result<Response, RequestError> {
        let (budget, mut ticket) = (slot.budget(), None);
        loop {
            // The permit is held only while the response is made. If it were held until the response is sent, a few clients
            // that do not read would block all others. The budget bounds the responses being sent.
            let permit = self.permit(request).await?;
            let response = self.resource(request).await?;
            let retained = response.body().retained();
            let limit = match budget.admit(slot.peer(), &retained, ticket.as_ref()) {
                Ok(grant) => return Ok(response.map(|body| body.with_grant(grant))),
                Err(limit) => limit,
            };
            // The response is dropped while the request waits, so that waiting requests use no memory. It is made again when
            // there is room.
            drop((permit, response));
            let room = timeout_at(request.deadline, budget.wait_for_room(slot.peer(), ticket, limit));
            ticket = Some(room.await.map_err(|_| RequestError::Busy)?);
        }
    }

    async fn resource(&self, request: &ResourceRequest<'_>) -> Result<Response, RequestError> {
        match request.resource {
            Resource::Metrics => self.metrics(request).await,
            Resource::LeasesJson => self.leases_json(request).await,
            Resource::LeaseJson(name) => self.lease_json(name, request).await,
            Resource::LeasesPage => self.page(PageRequest::list(request.query), request).await,
            Resource::LeasePage => self.page(PageRequest::lease(request.query), request).await,
            Resource::Fragment => self.fragment(PageRequest::live(request.query), request).await,
        }
    }

    /// The response to HEAD, if it can be made without reading a source.
    fn head(&self, request: &ResourceRequest<'_>) -> Option<Result<Response, RequestError>> {
        let empty = EncodedText::Plain(Vec::new());
        let (sources, response) = match request.resource {
            Resource::Metrics => {
                let (_, content_type) = metrics_format(request.headers);
                (selected_sources(request.query), response::metrics(content_type, empty))
            }
            Resource::LeasesJson => (selected_sources(request.query), response::json(empty)),
            Resource::LeasesPage | Resource::Fragment => (SourceSelection::All, response::html(StatusCode::OK, empty)),
            // The status depends on whether the lease exists.
            Resource::LeaseJson(_) | Resource::LeasePage => return None,
        };
        let configured = self.content.configured(&sources);
        Some(configured.map(|()| response::without_length(response)).map_err(RequestError::from))
    }

    async fn metrics(&self, request: &ResourceRequest<'_>) -> Result<Response, RequestError> {
        let (format, content_type) = metrics_format(request.headers);
        let sources = selected_sources(request.query);
        let body = self.content.metrics(sources, format, request.encoding, request.deadline).await?;
        Ok(response::metrics(content_type, body))
    }

    async fn leases_json(&self, request: &ResourceRequest<'_>) -> Result<Response, RequestError> {
        let readings = self.content.readings(selected_sources(request.query), request.deadline).await?;
        let json = observer::json(&readings, request.encoding).await.ok_or(RequestError::RenderFailed)?;
        Ok(response::json(json))
    }

    async fn lease_json(&self, name: &str, request: &ResourceRequest<'_>) -> Result<Response, RequestError> {
        let (source, lease) = lease_name(name).ok_or(RequestError::UnknownLease)?;
        let readings = self.content.readings(SourceSelection::Named(vec![source]), request.deadline).await?;
        let json = readings.first().and_then(|reading| json::lease_to_vec(&reading.snapshot, &lease));
        let json = json.ok_or(RequestError::UnknownLease)?.map_err(|error| {
            tracing::error!(%error, "the JSON could not be rendered");
            RequestError::RenderFailed
        })?;
        Ok(response::json(encoded(vec![json.into()], request.encoding)))
    }

    async fn page(&self, view: PageRequest, request: &ResourceRequest<'_>) -> Result<Response, RequestError> {
        let observed_sources = self.observed_sources(&view, WaitLimit::LastReadDuration, request.deadline).await;
        let (sources, telemetry_path, encoding) =
            (self.content.sources(), self.settings.telemetry_path.clone(), request.encoding);
        self.render(move || {
            let page = page::render(&view, &observed_sources, &sources, now(), &telemetry_path);
            page.map(|RenderedPage { html, found }| {
                let status = if found { StatusCode::OK } else { StatusCode::NOT_FOUND };
                response::html(status, encoded(vec![html.into()], encoding))
            })
        })
        .await
    }

    /// Waits only briefly for sources, because the script of the page soon asks again.
    async fn fragment(&self, view: PageRequest, request: &ResourceRequest<'_>) -> Result<Response, RequestError> {
        let observed_sources = self.observed_sources(&view, WaitLimit::Short, request.deadline).await;
        let encoding = request.encoding;
        if let Some(fragment) = self.fragments.get(&view, encoding, &observed_sources) {
            return Ok(fragment.respond(request.headers));
        }
        let (rendered_view, rendered_sources) = (view.clone(), observed_sources.clone());
        let render = move || {
            let html = page::render_main(&rendered_view, &rendered_sources, now());
            html.map(|html| Arc::new(Fragment::new(html, encoding)))
        };
        let fragment = self.render(render).await?;
        self.fragments.insert(view, encoding, &observed_sources, &fragment);
        Ok(fragment.respond(request.headers))
    }

    async fn render<T: Send + 'static, E: std::fmt::Display + Send + 'static>(
        &self,
        render: impl FnOnce() -> Result<T, E> + Send + 'static,
    ) -> Result<T, RequestError> {
        let rendered = self.render_pool.run(render).await.ok_or(RequestError::RenderFailed)?;
        rendered.map_err(|error| {
            tracing::error!(%error, "the page could not be rendered");
            RequestError::RenderFailed
        })
    }

    async fn probe(&self, name: &str, headers: &HeaderMap) -> Response {
        let Some((source, lease)) = lease_name(name) else { return response::not_found() };
        probe::respond(&*self.content, source, &lease, self.deadline(headers)).await
    }

    fn deadline(&self, headers: &HeaderMap) -> Instant {
        Instant::now() + scrape_timeout(headers, self.settings.default_timeout, self.settings.max_timeout)
    }

    /// A permit to read sources, or `None` if there is no limit.
    async fn permit(&self, request: &ResourceRequest<'_>) -> Result<Option<OwnedSemaphorePermit>, RequestError> {
        if matches!(request.resource, Resource::Fragment) {
            return self.fragments.permit(request.deadline).await.map(Some).ok_or(RequestError::Busy);
        }
        let permit = self.requests.as_ref().map(|requests| Arc::clone(requests).try_acquire_owned());
        permit.transpose().map_err(|_| RequestError::Busy)
    }

    /// The sources that a view shows. Empty if it names one that is not configured.
    async fn observed_sources(
        &self,
        view: &PageRequest,
        wait_limit: WaitLimit,
        deadline: Instant,
    ) -> Vec<ObservedSource> {
        let named = view.source().map(|source| SourceSelection::Named(vec![source.to_owned()]));
        let sources = named.unwrap_or(SourceSelection::All);
        self.content.observed_sources(sources, wait_limit, deadline).await.unwrap_or_default()
    }
}

#[derive(Clone, Copy, Debug)]
enum RequestError {
    Busy,
    UnknownSource,
    UnknownLease,
    RenderFailed,
}

impl From<NotConfigured> for RequestError {
    fn from(_: NotConfigured) -> Self {
        Self::UnknownSource
    }
}

impl RequestError {
    fn respond(self) -> Response {
        match self {
            Self::Busy => response::busy(),
            Self::UnknownSource => response::text(StatusCode::NOT_FOUND, "no source of that name\n"),
            Self::UnknownLease => response::text(StatusCode::NOT_FOUND, "no lease of that name\n"),
            Self::RenderFailed => response::internal_error(),
        }
    }
}

fn now() -> PageClock {
    PageClock { unix_seconds: clock::unix_seconds(), monotonic: clock::monotonic() }
}
