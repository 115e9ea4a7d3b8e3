//! Connections: accepting them, limiting them, letting them finish.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout};
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;

use super::{Content, Site};

/// What a client may use up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many connections may be open at once, of this listener. Further clients wait in the system's queue.
    pub connections: usize,
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
            head: Duration::from_secs(65),
            write: Duration::from_secs(30),
            drain: Duration::from_secs(15),
        }
    }
}

/// How long to wait after a failed accept: out of file descriptors, an immediate retry fails too and takes a whole core.
const PAUSE: Duration = Duration::from_millis(75);
/// How often a failing accept is logged at the most.
const QUIET: Duration = Duration::from_secs(10);
/// The most that the head of a request may take up.
const HEAD_BYTES: usize = 32 * 1024;

/// Serves the site on a listener until shutdown, then lets requests under way finish within the limit.
///
/// Whatever a connection does, a panic included, ends that connection alone. If the returned future is dropped, all its
/// connections are.
pub async fn serve(listener: TcpListener, site: Arc<Site<impl Content>>, limits: Limits, shutdown: CancellationToken) {
    let graceful = GracefulShutdown::new();
    let connections = Arc::new(Semaphore::new(limits.connections.clamp(1, Semaphore::MAX_PERMITS)));
    let cut = CancellationToken::new();
    let _cut_on_drop = cut.clone().drop_guard();
    let accepting = async {
        let mut acceptance = Acceptance { listener, logged: None };
        // Nothing closes the semaphore, so this only ends by being dropped.
        while let Ok(permit) = Arc::clone(&connections).acquire_owned().await {
            let stream = acceptance.next().await;
            let (site, watcher, cut) = (Arc::clone(&site), graceful.watcher(), cut.clone());
            tokio::spawn(async move {
                let _permit = permit;
                tokio::select! {
                    () = connection(stream, &site, limits, watcher) => {}
                    () = cut.cancelled() => {}
                }
            });
        }
    };
    tokio::select! {
        () = accepting => {}
        () = shutdown.cancelled() => {}
    }
    site.end_streams();
    if timeout(limits.drain, graceful.shutdown()).await.is_err() {
        tracing::warn!(limit = ?limits.drain, "requests still under way at the end of the shutdown limit were cut off");
    }
}

/// Accepts connections, and goes on whatever happens.
struct Acceptance {
    listener: TcpListener,
    logged: Option<Instant>,
}

impl Acceptance {
    async fn next(&mut self) -> TcpStream {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => return stream,
                // The client went away before it was accepted.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    if self.logged.is_none_or(|at| at.elapsed() >= QUIET) {
                        self.logged = Some(Instant::now());
                        tracing::warn!(%error, "a connection could not be accepted");
                    }
                    sleep(PAUSE).await;
                }
            }
        }
    }
}

/// Serves one connection until it ends. HTTP/1.1 alone: hyper has no limit while it sniffs for HTTP/2.
async fn connection(stream: TcpStream, site: &Site<impl Content>, limits: Limits, watcher: Watcher) {
    // An answer is written in few large pieces; waiting to fill packets would only delay the last one.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY could not be set");
    }
    exchange(stream, site, limits, watcher).await;
}

/// Answers the requests that come over a stream, encrypted or not.
async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Send + 'static,
    site: &Site<impl Content>,
    limits: Limits,
    watcher: Watcher,
) {
    // hyper does not limit a client that does not read.
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(limits.write));
    let answer = service_fn(async |request| Ok::<_, Infallible>(site.answer(&request).await));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(Box::pin(stream)), answer);
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!(%error, "a connection ended early");
    }
}
