//! Connections: limiting them, protecting them, letting them finish.

use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;

use super::config::WebConfig;
use super::crowd::{Crowd, Place};
use super::listener::{Acceptance, Listener, Stream};
use super::{Content, Gate, handshake};

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
            write: Duration::from_secs(30),
            drain: Duration::from_secs(15),
        }
    }
}

/// The most that the head of a request may take up.
const HEAD_BYTES: usize = 32 * 1024;

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
    let crowd = Crowd::of(limits.connections);
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
            let (gate, watcher) = (Arc::clone(&gate), graceful.watcher());
            let (cut, shutdown) = (cut.clone(), shutdown.clone());
            tokio::spawn(async move {
                tokio::select! {
                    () = connection(stream, &gate, limits, &place, watcher, &shutdown) => {}
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

/// Serves one connection until it ends. HTTP/1.1 alone: hyper has no limit while it sniffs for HTTP/2.
async fn connection(
    stream: Stream,
    gate: &Gate<impl Content>,
    limits: Limits,
    place: &Place,
    watcher: Watcher,
    shutdown: &CancellationToken,
) {
    match stream {
        Stream::Tcp(stream) => protected(stream, gate, limits, place, watcher, shutdown).await,
        Stream::Unix(stream) => protected(stream, gate, limits, place, watcher, shutdown).await,
    }
}

/// Protects the connection if it has to be, and then serves it.
async fn protected(
    stream: impl AsyncRead + AsyncWrite + Send + 'static,
    gate: &Gate<impl Content>,
    limits: Limits,
    place: &Place,
    watcher: Watcher,
    shutdown: &CancellationToken,
) {
    // hyper does not limit a client that does not read.
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(limits.write));
    let stream = Box::pin(stream);
    let rules = gate.rules().await;
    let Some(tls) = &rules.tls else { return exchange(stream, gate, &rules, limits, place, watcher).await };
    let agreed = tokio::select! {
        agreed = timeout(limits.handshake, tls.acceptor().accept(stream)) => agreed,
        // It has asked for nothing yet.
        () = shutdown.cancelled() => return,
    };
    match agreed {
        Ok(Ok(stream)) => exchange(stream, gate, &rules, limits, place, watcher).await,
        Ok(Err(error)) => handshake::tell(&error),
        Err(_) => tracing::debug!("a connection took too long to be protected"),
    }
}

/// Answers the requests that come over a stream, encrypted or not.
async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    gate: &Gate<impl Content>,
    rules: &Arc<WebConfig>,
    limits: Limits,
    place: &Place,
    watcher: Watcher,
) {
    let answer = service_fn(async |request| {
        let _busy = place.busy();
        gate.answer(&request, rules).await
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), answer);
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!(%error, "a connection ended early");
    }
}
