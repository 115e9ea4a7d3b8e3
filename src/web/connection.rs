//! One connection: protecting it, and answering what comes over it.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;

use hyper::StatusCode;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::Watcher;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;
use tokio_io_timeout::TimeoutStream;
use tokio_util::either::Either;
use tokio_util::sync::CancellationToken;

use super::config::WebConfig;
use super::crowd::Place;
use super::listener::Stream;
use super::peer::Peer;
use super::wire::Wire;
use super::{Content, Gate, Limits, handshake, reply};

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
    /// Serves it until it ends, protected if it has to be. HTTP/1.1 alone: hyper has no limit while it sniffs for HTTP/2.
    pub(super) async fn serve(self, stream: Stream) {
        let rules = self.gate.rules().await;
        let Some(tls) = &rules.tls else {
            let stream = self.limited(stream);
            return self.answer(stream, &rules).await;
        };
        let agreeing = async {
            // A hello of TLS begins with no letter, and every request does.
            if stream.first().await?.is_ascii_uppercase() {
                return Ok(Either::Left(self.limited(stream)));
            }
            tls.acceptor().accept(self.limited(stream)).await.map(Either::Right)
        };
        let agreed = tokio::select! {
            agreed = timeout(self.limits.handshake, agreeing) => agreed,
            // It has asked for nothing yet.
            () = self.shutdown.cancelled() => return,
        };
        match agreed {
            Ok(Ok(Either::Right(protected))) => self.answer(protected, &rules).await,
            Ok(Ok(Either::Left(plain))) => self.refuse(plain).await,
            Ok(Err(error)) => handshake::tell(&error, self.peer),
            Err(_) => tracing::debug!(peer = %self.peer, "a connection took too long to be protected"),
        }
    }

    /// hyper does not limit a client that does not read.
    fn limited(&self, stream: Stream) -> Pin<Box<TimeoutStream<Either<TcpStream, UnixStream>>>> {
        let mut stream = TimeoutStream::new(stream.0);
        stream.set_write_timeout(Some(self.limits.write));
        Box::pin(stream)
    }

    /// Answers the requests that come over a stream, encrypted or not, which was let in by these rules.
    async fn answer(self, stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static, entered: &Arc<WebConfig>) {
        let http = self.http();
        let Self { gate, peer, place, watcher, .. } = self;
        let stream = TokioIo::new(Wire::new(stream, Arc::clone(&place)));
        let answer = service_fn(async |request| {
            let busy = place.busy();
            let reply = gate.answer(&request, entered, peer).await?;
            Ok::<_, super::gate::Outdated>(reply.map(|body| body.keeping(busy)))
        });
        if let Err(error) = watcher.watch(http.serve_connection(stream, answer)).await {
            tracing::debug!(%error, "a connection ended early");
        }
    }

    /// Tells who asks without TLS where TLS is spoken.
    async fn refuse(&self, stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) {
        handshake::tell_plain(self.peer);
        let answer = service_fn(async |_| {
            Ok::<_, Infallible>(reply::refusal(StatusCode::BAD_REQUEST, "this is HTTPS; ask with https://\n"))
        });
        let connection = self.http().keep_alive(false).serve_connection(TokioIo::new(stream), answer);
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection without TLS ended early");
        }
    }

    fn http(&self) -> http1::Builder {
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(self.limits.head).max_buf_size(HEAD_BYTES);
        http
    }
}
