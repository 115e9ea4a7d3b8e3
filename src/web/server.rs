//! The server: accepts connections, serves each in a task, and shuts down gracefully.

use std::future::pending;
use std::sync::Arc;

use hyper_util::server::graceful::GracefulShutdown;
use tokio::task::{JoinSet, yield_now};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::authenticator::Authenticator;
use super::connection::{ConnectionLimiter, ConnectionSlot, ResponseBudget};
use super::content::Content;
use super::http_connection::HttpConnection;
use super::limits::Limits;
use super::listener::Listener;

/// Serves on these listeners until shutdown, then lets running requests finish within the limit.
///
/// An error or panic of a connection ends only that connection. Dropping the returned future closes all connections.
pub async fn serve(
    listeners: Vec<Listener>,
    authenticator: Arc<Authenticator<impl Content>>,
    limits: Limits,
    shutdown: CancellationToken,
) {
    let limits = limits.within_process_limits();
    let graceful = Arc::new(GracefulShutdown::new());
    let limiter = ConnectionLimiter::new(limits.connections, ResponseBudget::new(limits.response_bytes));
    let abort = CancellationToken::new();
    let _abort_on_drop = abort.clone().drop_guard();
    let mut acceptors = JoinSet::new();
    for listener in listeners {
        let (authenticator, shutdown, abort) = (Arc::clone(&authenticator), shutdown.clone(), abort.clone());
        let (limiter, graceful) = (Arc::clone(&limiter), Arc::clone(&graceful));
        acceptors.spawn(async move {
            listener.set_options();
            loop {
                // The connection is accepted before it has a slot, because only this shows that a client needs one.
                let (socket, peer) = listener.accept(&limiter).await;
                let slot = ConnectionSlot::acquire(&limiter, peer).await;
                let connection = HttpConnection {
                    authenticator: Arc::clone(&authenticator),
                    limits,
                    slot: Arc::clone(&slot),
                    watcher: graceful.watcher(),
                    shutdown: shutdown.clone(),
                };
                let (abort, shutdown) = (abort.clone(), shutdown.clone());
                tokio::spawn(async move {
                    tokio::select! {
                        () = connection.serve(socket) => {}
                        () = slot.evicted() => tracing::debug!(%peer, "a connection was closed for another"),
                        // hyper would wait for the rest of a request's head.
                        () = shutdown_while_idle(&shutdown, &slot) => {}
                        () = abort.cancelled() => {}
                    }
                });
                // During a flood, this lets the new connection be read before the next one is accepted.
                yield_now().await;
            }
        });
    }
    shutdown.cancelled().await;
    acceptors.shutdown().await;
    // The acceptors held the only other references.
    let Some(graceful) = Arc::into_inner(graceful) else { return };
    if timeout(limits.drain, graceful.shutdown()).await.is_err() {
        tracing::warn!(limit = ?limits.drain, "requests still under way at the end of the shutdown limit were cut off");
    }
}

/// Completes at shutdown if no request is running then. A running request finishes, and its connection closes afterwards.
async fn shutdown_while_idle(shutdown: &CancellationToken, slot: &ConnectionSlot) {
    shutdown.cancelled().await;
    if !slot.is_idle() {
        pending().await
    }
}
