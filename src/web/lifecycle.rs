//! `/-/reload`: the configuration loaded again because a client asks for it.

use hyper::header::{ALLOW, HOST, ORIGIN};
use hyper::{HeaderMap, Method, StatusCode};
use tokio::sync::{mpsc, oneshot};

use super::reply::{self, Reply};

/// Where it is asked for.
pub(super) const PATH: &str = "/-/reload";

/// How many requests may wait for their turn.
const WAITING: usize = 16;

/// Whether a configuration that was loaded again is the one that holds now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reloaded {
    /// It is.
    ReadOutput,
    /// It cannot be used, so the one before stays.
    Refused,
    /// It is, but the web configuration beside it cannot be used, so of that the one before stays.
    WebRefused,
}

/// A client that waits for the configuration to be loaded again.
#[derive(Debug)]
pub struct Asked(oneshot::Sender<Reloaded>);

impl Asked {
    /// Tells the client what came of it. One that has gone away is told nothing.
    pub fn tell(self, reloaded: Reloaded) {
        let _ = self.0.send(reloaded);
    }
}

/// Asks for the configuration to be loaded again.
#[derive(Clone, Debug)]
pub struct Reloader(mpsc::Sender<Asked>);

impl Reloader {
    /// One, and where whoever loads the configuration hears of it.
    #[must_use]
    pub fn new() -> (Self, mpsc::Receiver<Asked>) {
        let (sender, receiver) = mpsc::channel(WAITING);
        (Self(sender), receiver)
    }

    async fn reload(&self) -> Option<Reloaded> {
        let (sender, receiver) = oneshot::channel();
        self.0.try_send(Asked(sender)).ok()?;
        receiver.await.ok()
    }
}

/// Answers who asks for it; without a reloader nobody may.
pub(super) async fn answer(reloader: Option<&Reloader>, method: &Method, headers: &HeaderMap) -> Reply {
    if method != Method::POST {
        let refused = reply::refusal(StatusCode::METHOD_NOT_ALLOWED, "only POST is allowed here\n");
        return reply::with(refused, ALLOW, "POST");
    }
    let Some(reloader) = reloader else {
        return reply::refusal(StatusCode::FORBIDDEN, "reloading by request is not enabled\n");
    };
    if is_from_elsewhere(headers) {
        return reply::refusal(StatusCode::FORBIDDEN, "a page of another site may not ask for this\n");
    }
    match reloader.reload().await {
        Some(Reloaded::ReadOutput) => reply::content(reply::TEXT, "OK\n"),
        Some(Reloaded::Refused) => reply::refusal(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the configuration cannot be used: the one before stays; the log says more\n",
        ),
        Some(Reloaded::WebRefused) => reply::refusal(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the configuration was loaded again, but the web configuration cannot be used: of that the one before \
             stays; the log says more\n",
        ),
        None => reply::error(StatusCode::SERVICE_UNAVAILABLE),
    }
}

/// Whether a page of somebody else's asks, which a person only happens to look at.
fn is_from_elsewhere(headers: &HeaderMap) -> bool {
    // Browsers say this alone to who is reached by TLS or on the same machine, and `Origin` with every POST.
    if let Some(from) = headers.get("sec-fetch-site") {
        return from != "same-origin" && from != "none";
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
    fn only_a_page_of_its_own_may_ask_and_whatever_is_no_page() {
        for (headers, elsewhere) in [
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
            assert_eq!(is_from_elsewhere(&map), elsewhere, "{headers:?}");
        }
    }
}
