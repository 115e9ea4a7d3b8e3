//! Applies the web configuration to requests: passwords, the rate limit, and response headers.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::body::Body;
use hyper::header::{AUTHORIZATION, CONNECTION, HOST, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Request, StatusCode, Version};

use super::basic_auth::{BasicAuth, LoginResult};
use super::config::{RateLimit, TokenBucket, WebConfig, WebConfigWatcher};
use super::connection::ConnectionSlot;
use super::content::Content;
use super::response::{self, Response};
use super::router::Router;
use crate::clock;

/// Paths without a password and a rate limit. What restarts the exporter has no password, and learns only that it runs.
const PUBLIC_PATHS: [&str; 2] = ["/-/healthy", "/-/ready"];

/// A router behind the web configuration.
#[derive(Debug)]
pub struct Authenticator<C> {
    router: Router<C>,
    watcher: Option<Arc<WebConfigWatcher>>,
    basic_auth: BasicAuth,
    bucket: Mutex<Option<TokenBucket>>,
}

/// The web configuration that accepted a connection would not accept it any more. The connection closes without a response,
/// after which clients connect again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the rules for connections have changed")]
pub(super) struct ConnectionOutdated;

impl<C: Content> Authenticator<C> {
    /// Accepts all requests.
    #[must_use]
    pub fn unrestricted(router: Router<C>) -> Self {
        Self { router, watcher: None, basic_auth: BasicAuth::new([0; 32]), bucket: Mutex::default() }
    }

    /// Follows a web configuration file. The key must be random and secret.
    #[must_use]
    pub fn watching(router: Router<C>, watcher: Arc<WebConfigWatcher>, key: [u8; 32]) -> Self {
        Self { router, watcher: Some(watcher), basic_auth: BasicAuth::new(key), bucket: Mutex::default() }
    }

    /// The web configuration in effect.
    pub(super) async fn config(&self) -> Arc<WebConfig> {
        match &self.watcher {
            None => Arc::default(),
            Some(watcher) => watcher.current().await,
        }
    }

    /// Responds to a request on a connection that was accepted under the given configuration.
    pub(super) async fn respond(
        &self,
        request: &Request<impl Body>,
        accepted_under: &Arc<WebConfig>,
        slot: &ConnectionSlot,
    ) -> Result<Response, ConnectionOutdated> {
        let config = self.config().await;
        // After a change of the exporter's certificate alone, the client sees the new one when it connects again.
        let certificate_changed = match (&accepted_under.tls, &config.tls) {
            _ if Arc::ptr_eq(accepted_under, &config) => false,
            (None, None) => false,
            (Some(old), Some(new)) if new.has_access_of(old) => true,
            _ => return Err(ConnectionOutdated),
        };
        let mut response = self.authorized(request, &config, slot).await;
        for (name, value) in &config.headers {
            response.headers_mut().insert(name, value.clone());
        }
        if certificate_changed || !request.body().is_end_stream() {
            // An unread body would be parsed as the next request.
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        Ok(response)
    }

    /// The response of the router, if the request is allowed.
    async fn authorized(&self, request: &Request<impl Body>, config: &WebConfig, slot: &ConnectionSlot) -> Response {
        let (path, headers) = (request.uri().path(), request.headers());
        // RFC 9112 (3.2) requires one Host. Its value does not matter, because every host has the same content.
        if request.version() == Version::HTTP_11 && headers.get_all(HOST).iter().count() != 1 {
            return response::text(StatusCode::BAD_REQUEST, "a request has one Host\n");
        }
        if PUBLIC_PATHS.contains(&path) {
            return self.router.respond(request, slot).await;
        }
        // A rejected probe would count as a stalled lease.
        if let Some(limit) = config.rate_limit.filter(|_| !self.router.is_probe(path))
            && let Err(wait) = self.take_token(limit)
        {
            let mut response = response::text(StatusCode::TOO_MANY_REQUESTS, "too many requests; try again later\n");
            // Rounded up, so that no client retries too early.
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
            return response;
        }
        let login = match &config.users {
            None => LoginResult::Accepted,
            Some(users) => self.basic_auth.check(users, headers, slot.peer()).await,
        };
        match login {
            LoginResult::Accepted => self.router.respond(request, slot).await,
            LoginResult::Rejected => {
                // Browsers send the first request without a password.
                if headers.contains_key(AUTHORIZATION) {
                    tracing::info!("a login was refused");
                }
                let response = response::text(StatusCode::UNAUTHORIZED, "unauthorized\n");
                response::with_header(response, WWW_AUTHENTICATE, "Basic realm=\"restricted\", charset=\"UTF-8\"")
            }
            LoginResult::Busy => response::busy(),
        }
    }

    fn take_token(&self, limit: RateLimit) -> Result<(), Duration> {
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket = match &mut *bucket {
            Some(bucket) if bucket.limit() == limit => bucket,
            other => other.insert(TokenBucket::new(limit)),
        };
        bucket.take(clock::monotonic())
    }
}
