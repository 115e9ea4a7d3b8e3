//! `/-/reload`: the configuration loaded again because a client asks for it.

use hyper::header::ALLOW;
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
    Taken,
    /// It cannot be used, so the one before stays.
    Refused,
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
    // A page of somebody else's that a person happens to look at must not have it done.
    let from_elsewhere = headers.get("sec-fetch-site").is_some_and(|from| from != "same-origin" && from != "none");
    let Some(reloader) = reloader.filter(|_| !from_elsewhere) else {
        return reply::refusal(StatusCode::FORBIDDEN, "reloading by request is not enabled\n");
    };
    match reloader.reload().await {
        Some(Reloaded::Taken) => reply::content(reply::TEXT, "OK\n"),
        Some(Reloaded::Refused) => reply::refusal(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the configuration cannot be used: the one before stays; the log says more\n",
        ),
        None => reply::error(StatusCode::SERVICE_UNAVAILABLE),
    }
}
