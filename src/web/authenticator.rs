//! Which requests get to the router, as `--web.config.file` says it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::body::Body;
use hyper::header::{AUTHORIZATION, CONNECTION, HOST, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Request, StatusCode, Version};

use super::config::{Bucket, Rate, Watched, WebConfig};
use super::connection::ConnectionSlot;
use super::login::{Login, Verdict};
use super::reply::{self, Reply};
use super::rules::{Rules, Since};
use super::{Content, Router};
use crate::clock;

/// The paths that anybody may ask for whatever is configured: what restarts an exporter has no password, and need not
/// learn more than that it runs.
const OPEN: [&str; 2] = ["/-/healthy", "/-/ready"];

/// A router whose requests are checked first: the password, the rate.
#[derive(Debug)]
pub struct Authenticator<C> {
    router: Router<C>,
    rules: Rules,
    login: Login,
    bucket: Mutex<Option<Bucket>>,
}

/// A connection that was made under rules that no longer hold. It is closed without an answer, which a client that had
/// kept it open takes as a reason to connect again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the rules for connections have changed")]
pub(super) struct Outdated;

impl<C: Content> Authenticator<C> {
    /// One that lets every request in.
    #[must_use]
    pub fn open(router: Router<C>) -> Self {
        Self::new(router, Rules::Open(Arc::default()), [0; 32])
    }

    /// One that goes by a file. The key, which nobody may know, is of what it remembers.
    #[must_use]
    pub fn watched(router: Router<C>, watched: Arc<Watched>, key: [u8; 32]) -> Self {
        Self::new(router, Rules::Watched(watched), key)
    }

    fn new(router: Router<C>, rules: Rules, key: [u8; 32]) -> Self {
        Self { router, rules, login: Login::new(key), bucket: Mutex::default() }
    }

    /// What holds now.
    pub(super) async fn rules(&self) -> Arc<WebConfig> {
        self.rules.now().await
    }

    /// Answers a request that came on a connection which was let in by these rules.
    pub(super) async fn answer(
        &self,
        request: &Request<impl Body>,
        entered: &Arc<WebConfig>,
        slot: &ConnectionSlot,
    ) -> Result<Reply, Outdated> {
        let rules = self.rules().await;
        let since = Since::of(entered, &rules);
        if since == Since::Otherwise {
            return Err(Outdated);
        }
        let mut reply = self.admitted(request, &rules, slot).await;
        for (name, value) in &rules.headers {
            reply.headers_mut().insert(name, value.clone());
        }
        if since == Since::OtherCertificate || !request.body().is_end_stream() {
            // What was not read of a body would be taken for the next request.
            reply.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        Ok(reply)
    }

    async fn admitted(&self, request: &Request<impl Body>, rules: &WebConfig, slot: &ConnectionSlot) -> Reply {
        // RFC 9112, 3.2. Which name it is does not matter: what is served is the same for every one.
        if request.version() == Version::HTTP_11 && request.headers().get_all(HOST).iter().count() != 1 {
            return reply::refusal(StatusCode::BAD_REQUEST, "a request has one Host\n");
        }
        if OPEN.contains(&request.uri().path()) {
            return self.router.answer(request, slot).await;
        }
        // To refuse a probe would look like a lease that is stalled.
        if let Some(rate) = rules.rate.filter(|_| !self.router.is_probe(request.uri().path()))
            && let Err(wait) = self.within(rate)
        {
            let mut refused = reply::refusal(StatusCode::TOO_MANY_REQUESTS, "too many requests; try again later\n");
            refused.headers_mut().insert(RETRY_AFTER, HeaderValue::from(whole_seconds(wait)));
            return refused;
        }
        let verdict = match &rules.users {
            None => Verdict::Admitted,
            Some(users) => self.login.verdict(users, request.headers(), slot.peer()).await,
        };
        match verdict {
            Verdict::Admitted => self.router.answer(request, slot).await,
            Verdict::Refused => {
                // Whoever gave none is asked for one, which is how a browser begins.
                if request.headers().contains_key(AUTHORIZATION) {
                    tracing::info!("a login was refused");
                }
                let refused = reply::refusal(StatusCode::UNAUTHORIZED, "unauthorized\n");
                reply::with(refused, WWW_AUTHENTICATE, "Basic realm=\"restricted\", charset=\"UTF-8\"")
            }
            Verdict::Busy => reply::error(StatusCode::SERVICE_UNAVAILABLE),
        }
    }

    /// After how long one may come, if none may now.
    fn within(&self, rate: Rate) -> Result<(), Duration> {
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket = match &mut *bucket {
            Some(bucket) if bucket.rate() == rate => bucket,
            other => other.insert(Bucket::new(rate)),
        };
        bucket.allows(clock::monotonic())
    }
}

/// So many that nobody comes too early: `Retry-After` knows no less than a second.
fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}
