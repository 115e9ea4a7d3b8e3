//! Clients with whom no protection could be agreed on: what is logged of them.

use std::io;

use rustls::Error;

use super::connection::Peer;

/// Tells why a connection could not be protected, in words of the exporter's own: what the client sent is not repeated.
///
/// Whoever only looks whether the port is open goes away before anything is agreed on, as balancers do all the time.
pub(super) fn tell(error: &io::Error, peer: Peer) {
    match reason(error) {
        None => tracing::debug!(%peer, "a client went away before its connection was protected"),
        Some(reason) => not_protected(peer, reason),
    }
}

/// Tells of a client that asked without TLS, which is answered that this is HTTPS.
pub(super) fn tell_plain(peer: Peer) {
    not_protected(peer, NO_TLS);
}

const NO_TLS: &str = "the client does not speak TLS";

fn not_protected(peer: Peer, reason: &'static str) {
    tracing::info!(%peer, reason, "a connection could not be protected");
}

/// Nothing, if it went away.
fn reason(error: &io::Error) -> Option<&'static str> {
    let told = error.get_ref().and_then(|error| error.downcast_ref::<Error>());
    Some(match told? {
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
    fn each_fault_of_a_client_has_words_of_its_own_and_going_away_is_none() {
        let of = |error: Error| reason(&io::Error::new(io::ErrorKind::InvalidData, error));
        let reasons = [
            of(Error::NoCertificatesPresented),
            of(Error::InvalidCertificate(CertificateError::UnknownIssuer)),
            of(Error::AlertReceived(AlertDescription::UnknownCA)),
            of(Error::InvalidMessage(InvalidMessage::InvalidContentType)),
            of(Error::DecryptError),
        ];
        let mut told: Vec<_> = reasons.into_iter().flatten().collect();
        told.sort_unstable();
        told.dedup();
        assert_eq!(told.len(), reasons.len());
        for gone in [io::ErrorKind::UnexpectedEof, io::ErrorKind::ConnectionReset] {
            assert_eq!(reason(&gone.into()), None);
        }
        assert_eq!(reason(&io::Error::new(io::ErrorKind::UnexpectedEof, "tls handshake eof")), None);
    }
}
