//! One connection: protecting it, and answering what comes over it.

use std::sync::Arc;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::Watcher;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;

use super::config::WebConfig;
use super::crowd::Place;
use super::listener::{Peer, Stream};
use super::{Content, Gate, Limits, handshake};

/// The most that the head of a request may take up.
const HEAD_BYTES: usize = 32 * 1024;

/// A connection that was accepted and has a place.
pub(super) struct Connection<C> {
    pub(super) gate: Arc<Gate<C>>,
    pub(super) limits: Limits,
    pub(super) peer: Peer,
    pub(super) place: Arc<Place>,
    pub(super) watcher: Watcher,
    pub(super) shutdown: CancellationToken,
}

impl<C: Content> Connection<C> {
    /// Serves it until it ends. HTTP/1.1 alone: hyper has no limit while it sniffs for HTTP/2.
    pub(super) async fn serve(self, stream: Stream) {
        match stream {
            Stream::Tcp(stream) => self.protect(stream).await,
            Stream::Unix(stream) => self.protect(stream).await,
        }
    }

    /// Protects it if it has to be, and then answers.
    async fn protect(self, stream: impl AsyncRead + AsyncWrite + Send + 'static) {
        // hyper does not limit a client that does not read.
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(self.limits.write));
        let stream = Box::pin(stream);
        let rules = self.gate.rules().await;
        let Some(tls) = &rules.tls else { return self.answer(stream, &rules).await };
        let agreed = tokio::select! {
            agreed = timeout(self.limits.handshake, tls.acceptor().accept(stream)) => agreed,
            // It has asked for nothing yet.
            () = self.shutdown.cancelled() => return,
        };
        match agreed {
            Ok(Ok(stream)) => self.answer(stream, &rules).await,
            Ok(Err(error)) => handshake::tell(&error),
            Err(_) => tracing::debug!("a connection took too long to be protected"),
        }
    }

    /// Answers the requests that come over a stream, encrypted or not, which was let in by these rules.
    async fn answer(self, stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static, entered: &Arc<WebConfig>) {
        let Self { gate, limits, peer, place, watcher, shutdown: _ } = self;
        let answer = service_fn(async |request| {
            let busy = place.busy();
            let reply = gate.answer(&request, entered, peer).await?;
            Ok::<_, super::gate::Outdated>(if reply.body().is_stream() {
                reply.map(|body| body.keeping(busy))
            } else {
                reply
            })
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
}
