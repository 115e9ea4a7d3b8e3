//! Serves one connection: the TLS handshake, then HTTP/1.1.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;

use hyper::StatusCode;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::Watcher;
use rustls::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_util::either::Either;
use tokio_util::sync::CancellationToken;

use super::authenticator::{Authenticator, ConnectionOutdated};
use super::config::WebConfig;
use super::connection::{ConnectionSlot, MeteredStream, Socket};
use super::content::Content;
use super::limits::Limits;
use super::response;

const MAX_HEAD_SIZE: usize = 32 * 1024;

const NO_TLS: &str = "the client does not speak TLS";

/// An accepted connection that has a slot.
pub(super) struct HttpConnection<C> {
    pub(super) authenticator: Arc<Authenticator<C>>,
    pub(super) limits: Limits,
    pub(super) slot: Arc<ConnectionSlot>,
    pub(super) watcher: Watcher,
    pub(super) shutdown: CancellationToken,
}

impl<C: Content> HttpConnection<C> {
    /// Serves the connection until it ends. Only HTTP/1.1 is served, because hyper has no time limit while it detects HTTP/2.
    pub(super) async fn serve(self, socket: Socket) {
        let config = self.authenticator.config().await;
        let stream = MeteredStream::new(socket, Arc::clone(&self.slot), self.limits, self.shutdown.clone());
        let Some(tls) = &config.tls else {
            return self.serve_http(stream, &config).await;
        };
        let handshake = async {
            // An HTTP request begins with a letter, and a TLS handshake does not.
            if stream.peek_byte().await?.is_ascii_uppercase() {
                return Ok(Either::Left(stream));
            }
            tls.acceptor.accept(stream).await.map(Either::Right)
        };
        let peer = self.slot.peer();
        let result = tokio::select! {
            result = timeout(self.limits.handshake, handshake) => result,
            () = self.shutdown.cancelled() => return,
        };
        match result {
            Ok(Ok(Either::Right(encrypted))) => self.serve_http(encrypted, &config).await,
            Ok(Ok(Either::Left(plain))) => self.reject_plain_http(plain).await,
            Ok(Err(error)) => match handshake_failure(&error) {
                Some(reason) => self.log_rejection(reason),
                // Load balancers do this all the time.
                None => tracing::debug!(%peer, "a client went away before its connection was protected"),
            },
            Err(_) => tracing::debug!(%peer, "a connection took too long to be protected"),
        }
    }

    /// Serves the requests of a stream that was accepted under this configuration.
    async fn serve_http(self, stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static, config: &Arc<WebConfig>) {
        let http = self.http();
        let Self { authenticator, slot, watcher, .. } = self;
        let service = service_fn(async |request| {
            slot.record_request();
            let response = authenticator.respond(&request, config, &slot).await?;
            let accepted = !response.status().is_client_error();
            Ok::<_, ConnectionOutdated>(response.map(|body| body.with_slot(&slot, accepted)))
        });
        if let Err(error) = watcher.watch(http.serve_connection(TokioIo::new(stream), service)).await {
            tracing::debug!(%error, "a connection ended early");
        }
    }

    /// Tells a client without TLS that this is HTTPS.
    async fn reject_plain_http(&self, stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) {
        self.log_rejection(NO_TLS);
        let service = service_fn(async |_| {
            Ok::<_, Infallible>(response::text(StatusCode::BAD_REQUEST, "this is HTTPS; ask with https://\n"))
        });
        let connection = self.http().keep_alive(false).serve_connection(TokioIo::new(stream), service);
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection without TLS ended early");
        }
    }

    fn log_rejection(&self, reason: &str) {
        tracing::info!(peer = %self.slot.peer(), reason, "a connection could not be protected");
    }

    fn http(&self) -> http1::Builder {
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(self.limits.head).max_buf_size(MAX_HEAD_SIZE);
        http
    }
}

/// Why a handshake failed, or `None` if the client closed the connection. The text never repeats what the client sent.
fn handshake_failure(error: &io::Error) -> Option<&'static str> {
    let error = error.get_ref().and_then(|error| error.downcast_ref::<Error>());
    Some(match error? {
        Error::NoCertificatesPresented => "the client has no certificate",
        Error::InvalidCertificate(_) => "the client's certificate is not accepted",
        Error::AlertReceived(_) => "the client does not accept the exporter's certificate, or gave up otherwise",
        Error::PeerIncompatible(_) => "the client and the exporter have no version, suite or curve in common",
        Error::InvalidMessage(_) => NO_TLS,
        _ => "the client breaks the protocol",
    })
}

#[cfg(test)]
mod tests {
    use rustls::{AlertDescription, CertificateError, InvalidMessage};

    use super::*;

    #[test]
    fn each_handshake_error_has_its_own_reason_and_a_closed_connection_has_none() {
        let of = |error: Error| handshake_failure(&io::Error::new(io::ErrorKind::InvalidData, error));
        let reasons = [
            of(Error::NoCertificatesPresented),
            of(Error::InvalidCertificate(CertificateError::UnknownIssuer)),
            of(Error::AlertReceived(AlertDescription::UnknownCA)),
            of(Error::InvalidMessage(InvalidMessage::InvalidContentType)),
            of(Error::DecryptError),
        ];
        let mut distinct: Vec<_> = reasons.into_iter().flatten().collect();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), reasons.len());
        for closed in [io::ErrorKind::UnexpectedEof, io::ErrorKind::ConnectionReset] {
            assert_eq!(handshake_failure(&closed.into()), None);
        }
        assert_eq!(handshake_failure(&io::Error::new(io::ErrorKind::UnexpectedEof, "tls handshake eof")), None);
    }
}
