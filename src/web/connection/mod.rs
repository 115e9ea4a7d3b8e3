//! Connections: how many there may be, how much memory their responses hold, and how one is served.

mod budget;
mod limiter;
mod peer;
mod slot;
mod stream;

use std::convert::Infallible;
use std::sync::Arc;

use hyper::StatusCode;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::Watcher;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_util::either::Either;
use tokio_util::sync::CancellationToken;

use super::config::WebConfig;
use super::listener::Socket;
use super::{Authenticator, Content, Limits, handshake, reply};
use stream::MeteredStream;

pub(super) use budget::{ResponseBudget, ResponseGrant};
pub(super) use limiter::ConnectionLimiter;
pub(super) use peer::Peer;
pub(super) use slot::{ConnectionSlot, Sending};

/// The most that the head of a request may take up.
const HEAD_BYTES: usize = 32 * 1024;

/// A connection that was accepted and has a slot.
pub(super) struct Connection<C> {
    pub(super) authenticator: Arc<Authenticator<C>>,
    pub(super) limits: Limits,
    pub(super) slot: Arc<ConnectionSlot>,
    pub(super) watcher: Watcher,
    pub(super) shutdown: CancellationToken,
}

impl<C: Content> Connection<C> {
    /// Serves it until it ends, protected if it has to be. HTTP/1.1 alone: hyper has no limit while it sniffs for HTTP/2.
    pub(super) async fn serve(self, socket: Socket) {
        let rules = self.authenticator.rules().await;
        let stream = MeteredStream::new(socket, Arc::clone(&self.slot), self.limits, self.shutdown.clone());
        let Some(tls) = &rules.tls else {
            return self.answer(stream, &rules).await;
        };
        let agreeing = async {
            // A hello of TLS begins with no letter, and every request does.
            if stream.first().await?.is_ascii_uppercase() {
                return Ok(Either::Left(stream));
            }
            tls.acceptor().accept(stream).await.map(Either::Right)
        };
        let agreed = tokio::select! {
            agreed = timeout(self.limits.handshake, agreeing) => agreed,
            // It has asked for nothing yet.
            () = self.shutdown.cancelled() => return,
        };
        match agreed {
            Ok(Ok(Either::Right(protected))) => self.answer(protected, &rules).await,
            Ok(Ok(Either::Left(plain))) => self.refuse(plain).await,
            Ok(Err(error)) => handshake::tell(&error, self.slot.peer()),
            Err(_) => tracing::debug!(peer = %self.slot.peer(), "a connection took too long to be protected"),
        }
    }

    /// Answers the requests that come over a stream, encrypted or not, which was let in by these rules.
    async fn answer(self, stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static, entered: &Arc<WebConfig>) {
        let http = self.http();
        let Self { authenticator, slot, watcher, .. } = self;
        let answer = service_fn(async |request| {
            slot.answering();
            let reply = authenticator.answer(&request, entered, &slot).await?;
            // Whatever the request was, it was let in.
            let honest = !reply.status().is_client_error();
            Ok::<_, super::authenticator::Outdated>(reply.map(|body| body.sent_over(&slot, honest)))
        });
        if let Err(error) = watcher.watch(http.serve_connection(TokioIo::new(stream), answer)).await {
            tracing::debug!(%error, "a connection ended early");
        }
    }

    /// Tells who asks without TLS where TLS is spoken.
    async fn refuse(&self, stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) {
        handshake::tell_plain(self.slot.peer());
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
