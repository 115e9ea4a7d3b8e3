//! The server: who listens, how many connections there may be, and how all of it ends.

use std::sync::Arc;
use std::time::Duration;

use hyper_util::server::graceful::GracefulShutdown;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::connection::Connection;
use super::crowd::Crowd;
use super::listener::{Acceptance, Listener};
use super::{Content, Gate};

/// What a client may use up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many connections may be open at once, of all listeners together. When there are so many, one that has been
    /// idle makes room for the next; while none is idle, further clients wait in the system's queue.
    pub connections: usize,
    /// How long a client may take to agree on how the connection is protected.
    pub handshake: Duration,
    /// How long a client may take to send the head of a request, and so how long a connection may be idle between two.
    /// A little more than a usual scrape interval, so that Prometheus keeps its connection.
    pub head: Duration,
    /// How long a client is left alone to take an answer. Longer ones go on, but where somebody else needs the place
    /// they may be cut off.
    pub taking: Duration,
    /// How long a client may take nothing of an answer.
    pub write: Duration,
    /// How long requests under way may go on after shutdown was asked for.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 512,
            handshake: Duration::from_secs(10),
            head: Duration::from_secs(65),
            taking: Duration::from_secs(10),
            write: Duration::from_secs(30),
            drain: Duration::from_secs(15),
        }
    }
}

/// Serves the site on these listeners until shutdown, then lets requests under way finish within the limit.
///
/// Whatever a connection does, a panic included, ends that connection alone. If the returned future is dropped, all its
/// connections are.
pub async fn serve(
    listeners: Vec<Listener>,
    gate: Arc<Gate<impl Content>>,
    limits: Limits,
    shutdown: CancellationToken,
) {
    let graceful = GracefulShutdown::new();
    let crowd = Crowd::of(limits.connections, limits.taking);
    let cut = CancellationToken::new();
    let _cut_on_drop = cut.clone().drop_guard();
    // Each listener accepts one connection ahead: only then is it known that somebody needs a place.
    let (sender, mut accepted) = mpsc::channel(1);
    let mut accepting = JoinSet::new();
    for listener in listeners {
        let sender = sender.clone();
        accepting.spawn(async move {
            let acceptance = Acceptance::on(listener);
            while sender.send(acceptance.next().await).await.is_ok() {}
        });
    }
    let connecting = async {
        while let Some(stream) = accepted.recv().await {
            let place = crowd.place().await;
            let connection = Connection {
                gate: Arc::clone(&gate),
                limits,
                peer: stream.peer(),
                place: Arc::clone(&place),
                watcher: graceful.watcher(),
                shutdown: shutdown.clone(),
            };
            let cut = cut.clone();
            tokio::spawn(async move {
                tokio::select! {
                    () = connection.serve(stream) => {}
                    () = place.asked_to_leave() => tracing::debug!("an idle connection made room for another"),
                    () = cut.cancelled() => {}
                }
            });
        }
    };
    tokio::select! {
        () = connecting => {}
        () = shutdown.cancelled() => {}
    }
    accepting.shutdown().await;
    drop(accepted);
    gate.end_streams();
    if timeout(limits.drain, graceful.shutdown()).await.is_err() {
        tracing::warn!(limit = ?limits.drain, "requests still under way at the end of the shutdown limit were cut off");
    }
}
