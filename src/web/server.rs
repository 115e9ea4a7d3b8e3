//! The server: who listens, how many connections there may be, and how all of it ends.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::server::graceful::GracefulShutdown;
use rustix::process::{Resource, getrlimit};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::connection::Connection;
use super::crowd::{Crowd, Place};
use super::listener::{Acceptance, Listener};
use super::unsent::Ledger;
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
    /// How many bytes clients may hold by taking answers slowly, besides the newest one and another as long. Where it is
    /// more, the slowest are cut off.
    pub unsent: u64,
    /// How long a client may take nothing of an answer.
    pub write: Duration,
    /// How long requests under way may go on after shutdown was asked for.
    pub drain: Duration,
}

impl Limits {
    /// The same with no more connections than there can be descriptors for: half of those that the process may have, so
    /// that stores and files have theirs.
    fn within_the_process(self) -> Self {
        let Some(descriptors) = getrlimit(Resource::Nofile).current else { return self };
        let most = usize::try_from(descriptors / 2).unwrap_or(usize::MAX).max(1);
        if most < self.connections {
            tracing::warn!(
                connections = most,
                wanted = self.connections,
                descriptors,
                "there can be fewer connections at once than usual, because the process may open so few files"
            );
        }
        Self { connections: self.connections.min(most), ..self }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 512,
            handshake: Duration::from_secs(10),
            head: Duration::from_secs(65),
            taking: Duration::from_secs(10),
            unsent: 16 << 20,
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
    let limits = limits.within_the_process();
    let graceful = GracefulShutdown::new();
    let crowd = Crowd::of(limits.connections, limits.taking, Ledger::of(limits.unsent));
    let cut = CancellationToken::new();
    let _cut_on_drop = cut.clone().drop_guard();
    // Each listener accepts one connection ahead: only then is it known that somebody needs a place.
    let (sender, mut accepted) = mpsc::channel(1);
    let mut accepting = JoinSet::new();
    for listener in listeners {
        let (sender, crowd) = (sender.clone(), Arc::clone(&crowd));
        accepting.spawn(async move {
            let acceptance = Acceptance::on(listener);
            while sender.send(acceptance.next(&crowd).await).await.is_ok() {}
        });
    }
    let connecting = async {
        while let Some(stream) = accepted.recv().await {
            let peer = stream.peer();
            let place = crowd.place(peer).await;
            let connection = Connection {
                gate: Arc::clone(&gate),
                limits,
                peer,
                place: Arc::clone(&place),
                watcher: graceful.watcher(),
                shutdown: shutdown.clone(),
            };
            let (cut, shutdown) = (cut.clone(), shutdown.clone());
            tokio::spawn(async move {
                tokio::select! {
                    () = connection.serve(stream) => {}
                    () = place.asked_to_leave() => tracing::debug!(%peer, "a connection made room for another"),
                    // hyper would wait for the rest of a head.
                    () = idle_at(&shutdown, &place) => {}
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

/// Ends with the shutdown, if nothing is under way then. Whatever is comes to its end, and its connection with it.
async fn idle_at(shutdown: &CancellationToken, place: &Place) {
    shutdown.cancelled().await;
    if !place.is_idle() {
        pending().await
    }
}
