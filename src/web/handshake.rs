//! Logs failed TLS handshakes.

use std::io;

use rustls::Error;

use super::connection::Peer;

const NO_TLS: &str = "the client does not speak TLS";

/// Logs why a handshake failed. The text never repeats what the client sent. Clients that only connect, as load balancers
/// do all the time, are logged at debug level.
pub(super) fn log_failure(error: &io::Error, peer: Peer) {
    match reason(error) {
        None => tracing::debug!(%peer, "a client went away before its connection was protected"),
        Some(reason) => log_reason(peer, reason),
    }
}

/// Logs a request without TLS.
pub(super) fn log_plain_http(peer: Peer) {
    log_reason(peer, NO_TLS);
}

fn log_reason(peer: Peer, reason: &'static str) {
    tracing::info!(%peer, reason, "a connection could not be protected");
}

/// `None` if the client closed the connection.
fn reason(error: &io::Error) -> Option<&'static str> {
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
        let of = |error: Error| reason(&io::Error::new(io::ErrorKind::InvalidData, error));
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
            assert_eq!(reason(&closed.into()), None);
        }
        assert_eq!(reason(&io::Error::new(io::ErrorKind::UnexpectedEof, "tls handshake eof")), None);
    }
}
