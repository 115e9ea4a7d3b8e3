//! `/-/reload`: reloads the configuration on request.

use hyper::header::{HOST, ORIGIN};
use hyper::{HeaderMap, Method, StatusCode};
use tokio::sync::{mpsc, oneshot};

use super::response::{self, Response};

pub(super) const PATH: &str = "/-/reload";

const MAX_WAITING: usize = 16;

/// The result of a reload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReloadResult {
    /// The configuration of the files is in effect.
    Applied,
    /// The configuration is invalid; the previous one stays in effect.
    Rejected,
    /// The configuration is in effect, but the web configuration is invalid, and the previous one stays in effect.
    WebConfigRejected,
}

/// A request to reload the configuration: the sender of the result. Sending fails if the client no longer waits.
pub type ReloadRequest = oneshot::Sender<ReloadResult>;

/// Requests reloads of the configuration.
#[derive(Clone, Debug)]
pub struct Reloader(mpsc::Sender<ReloadRequest>);

impl Reloader {
    /// A reloader, and the receiver of its requests.
    #[must_use]
    pub fn new() -> (Self, mpsc::Receiver<ReloadRequest>) {
        let (sender, receiver) = mpsc::channel(MAX_WAITING);
        (Self(sender), receiver)
    }

    /// Returns `None` if too many requests wait.
    async fn reload(&self) -> Option<ReloadResult> {
        let (sender, receiver) = oneshot::channel();
        self.0.try_send(sender).ok()?;
        receiver.await.ok()
    }
}

/// Responds to a request of the path. Without a reloader, reloading is not allowed.
pub(super) async fn respond(reloader: Option<&Reloader>, method: &Method, headers: &HeaderMap) -> Response {
    if method != Method::POST {
        return response::method_not_allowed("only POST is allowed here\n", "POST");
    }
    let Some(reloader) = reloader else {
        return response::text(StatusCode::FORBIDDEN, "reloading by request is not enabled\n");
    };
    if is_cross_site(headers) {
        return response::text(StatusCode::FORBIDDEN, "a page of another site may not ask for this\n");
    }
    match reloader.reload().await {
        Some(ReloadResult::Applied) => response::text(StatusCode::OK, "OK\n"),
        Some(ReloadResult::Rejected) => response::text(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the configuration cannot be used: the one before stays; the log says more\n",
        ),
        Some(ReloadResult::WebConfigRejected) => response::text(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the configuration was loaded again, but the web configuration cannot be used: of that the one before \
             stays; the log says more\n",
        ),
        None => response::busy(),
    }
}

/// Whether the request comes from a page of another site, which a browser can send without the user's intent.
fn is_cross_site(headers: &HeaderMap) -> bool {
    // Browsers send this header only over TLS and to the same machine, and `Origin` with every POST.
    if let Some(site) = headers.get("sec-fetch-site") {
        return site != "same-origin" && site != "none";
    }
    let Some(origin) = headers.get(ORIGIN) else { return false };
    let site = origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, site)| site);
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    !site.zip(host).is_some_and(|(site, host)| site.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_of_the_exporter_and_clients_that_are_no_browser_may_reload() {
        for (headers, cross_site) in [
            (&[][..], false),
            (&[("host", "exporter:10987"), ("origin", "http://exporter:10987")], false),
            (&[("host", "Exporter:10987"), ("origin", "https://exporter:10987")], false),
            (&[("host", "exporter:10987"), ("origin", "http://evil")], true),
            (&[("host", "exporter:10987"), ("origin", "http://exporter")], true),
            (&[("host", "exporter:10987"), ("origin", "null")], true),
            (&[("origin", "http://evil")], true),
            (&[("sec-fetch-site", "same-origin")], false),
            (&[("sec-fetch-site", "none")], false),
            (&[("sec-fetch-site", "same-site")], true),
            (&[("sec-fetch-site", "cross-site")], true),
            // Behind a proxy, the name that the browser knows is another; it says itself that it is the same.
            (&[("host", "exporter:10987"), ("origin", "https://proxy"), ("sec-fetch-site", "same-origin")], false),
        ] {
            let map: HeaderMap =
                headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
            assert_eq!(is_cross_site(&map), cross_site, "{headers:?}");
        }
    }
}
