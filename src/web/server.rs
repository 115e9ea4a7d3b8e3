//! The server: who listens, how many connections there may be, and how all of it ends.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::server::graceful::GracefulShutdown;
use rustix::process::{Resource, getrlimit};
use tokio::task::{JoinSet, yield_now};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::connection::{Connection, ConnectionLimiter, ConnectionSlot, ResponseBudget};
use super::listener::{Acceptance, Listener};
use super::{Authenticator, Content};

/// What a client may use up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many connections may be open at once, of all listeners together. When there are so many, one that is idle is
    /// closed for the next; while none is idle, further clients wait in the system's queue.
    pub connections: usize,
    /// How long a client may take to agree on how the connection is protected.
    pub handshake: Duration,
    /// How long a client may take to send the head of a request, and so how long a connection may be idle between two.
    /// A little more than a usual scrape interval, so that Prometheus keeps its connection.
    pub head: Duration,
    /// How long a client may take nothing of a response while another waits for its memory or its slot.
    pub stall: Duration,
    /// How many bytes other responses may hold while one is sent; as many as that one holds, if that is more.
    pub unsent: u64,
    /// How long a client may take nothing of a response.
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
            stall: Duration::from_secs(3),
            unsent: 32 << 20,
            write: Duration::from_secs(30),
            drain: Duration::from_secs(15),
        }
    }
}

/// Serves on these listeners until shutdown, then lets requests under way finish within the limit.
///
/// Whatever a connection does, a panic included, ends that connection alone. If the returned future is dropped, all its
/// connections are.
pub async fn serve(
    listeners: Vec<Listener>,
    authenticator: Arc<Authenticator<impl Content>>,
    limits: Limits,
    shutdown: CancellationToken,
) {
    let limits = limits.within_the_process();
    let graceful = Arc::new(GracefulShutdown::new());
    let limiter = ConnectionLimiter::new(limits.connections, ResponseBudget::new(limits.unsent));
    let cut = CancellationToken::new();
    let _cut_on_drop = cut.clone().drop_guard();
    let mut accepting = JoinSet::new();
    for listener in listeners {
        let (authenticator, shutdown, cut) = (Arc::clone(&authenticator), shutdown.clone(), cut.clone());
        let (limiter, graceful) = (Arc::clone(&limiter), Arc::clone(&graceful));
        accepting.spawn(async move {
            let acceptance = Acceptance::on(listener);
            loop {
                // One connection is accepted ahead: only then is it known that a client needs a slot.
                let (socket, peer) = acceptance.next(&limiter).await;
                let slot = limiter.admit(peer).await;
                let connection = Connection {
                    authenticator: Arc::clone(&authenticator),
                    limits,
                    slot: Arc::clone(&slot),
                    watcher: graceful.watcher(),
                    shutdown: shutdown.clone(),
                };
                let (cut, shutdown) = (cut.clone(), shutdown.clone());
                tokio::spawn(async move {
                    tokio::select! {
                        () = connection.serve(socket) => {}
                        () = slot.closed() => tracing::debug!(%peer, "a connection was closed for another"),
                        // hyper would wait for the rest of a head.
                        () = idle_at(&shutdown, &slot) => {}
                        () = cut.cancelled() => {}
                    }
                });
                // In a flood, it is read before the next one is accepted.
                yield_now().await;
            }
        });
    }
    shutdown.cancelled().await;
    accepting.shutdown().await;
    // Those that accept are gone, so nothing else has it.
    let Some(graceful) = Arc::into_inner(graceful) else { return };
    if timeout(limits.drain, graceful.shutdown()).await.is_err() {
        tracing::warn!(limit = ?limits.drain, "requests still under way at the end of the shutdown limit were cut off");
    }
}

/// Ends with the shutdown, if nothing is under way then. Whatever is comes to its end, and its connection with it.
async fn idle_at(shutdown: &CancellationToken, slot: &ConnectionSlot) {
    shutdown.cancelled().await;
    if !slot.is_idle() {
        pending().await
    }
}
