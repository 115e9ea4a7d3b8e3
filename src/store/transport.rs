//! Errors of connections to servers, and the PEM files for TLS.

use std::io;
use std::path::Path;

use tokio::time::Instant;

use super::ReadError;
use super::server::{file_error, read_named_file};
use crate::file::MAX_SIZE;

/// The error for a connection that could not be made, or broke. It has no address, path or name.
pub(super) fn io_error(error: io::Error) -> ReadError {
    let what = match error.kind() {
        io::ErrorKind::ConnectionRefused => "nothing listens at the configured host and port or socket",
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::UnexpectedEof => {
            "the server ended the connection"
        }
        io::ErrorKind::NotFound => "there is no socket at the configured path",
        io::ErrorKind::PermissionDenied => "the exporter may not use the socket",
        // The standard library has no error kind for it.
        _ if error.to_string().contains("failed to lookup address") => "the configured host's name is not known",
        io::ErrorKind::InvalidData => return tls_error(&error.to_string()),
        kind => return ReadError::Unreachable(format!("the server cannot be reached: {kind}")),
    };
    ReadError::Unreachable(what.to_owned())
}

/// The error for a failed TLS handshake. Libraries report the cause as text, of which only known parts are recognized.
pub(super) fn tls_error(text: &str) -> ReadError {
    const KNOWN: [(&str, &str); 7] = [
        ("does not support TLS", "the server offers no TLS; turn it on there, or write `tls: { mode: off }`"),
        (
            "UnknownIssuer",
            "TLS: the server's certificate is not signed by anyone trusted; name who signed it in `ca_file`",
        ),
        ("NotValidForName", "TLS: the server's certificate is for another host"),
        ("not valid for name", "TLS: the server's certificate is for another host"),
        ("xpired", "TLS: the server's certificate has expired"),
        ("CertificateRequired", "TLS: the server asks for a client certificate; give `cert_file` and `key_file`"),
        ("fatal alert", "TLS: the server does not accept the exporter, or its client certificate"),
    ];
    let known = KNOWN.into_iter().find(|(part, _)| text.contains(part));
    let what = known.map_or("TLS: the two sides cannot agree on a protected connection", |(_, what)| what);
    ReadError::Unreachable(what.to_owned())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pem {
    Certificate,
    Key,
}

/// Reads the PEM file that `key` of the configuration names. It is read for each connection, so it can be replaced.
///
/// # Errors
/// [`ReadError::Refused`] when it cannot be read before the deadline, or does not hold what it should.
pub(super) async fn pem(key: &'static str, path: &Path, holds: Pem, deadline: Instant) -> Result<Vec<u8>, ReadError> {
    let content = read_named_file(key, path, MAX_SIZE, deadline).await?;
    let (mark, what) = match holds {
        Pem::Certificate => ("-----BEGIN CERTIFICATE-----", "holds no certificate in PEM"),
        Pem::Key => ("PRIVATE KEY-----", "holds no private key in PEM"),
    };
    let held = content.windows(mark.len()).any(|part| part == mark.as_bytes());
    if held { Ok(content) } else { Err(file_error(key, path, what)) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_connection_that_fails_is_told_without_what_the_library_says() {
        for (error, told) in [
            (io::Error::new(io::ErrorKind::ConnectionRefused, "planted"), "nothing listens"),
            (io::Error::new(io::ErrorKind::UnexpectedEof, "planted"), "ended the connection"),
            (io::Error::new(io::ErrorKind::HostUnreachable, "planted"), "host unreachable"),
            (io::Error::other("planted"), "cannot be reached"),
            (io::Error::other("failed to lookup address information: planted"), "name is not known"),
            (io::Error::new(io::ErrorKind::InvalidData, "planted: UnknownIssuer"), "not signed by anyone trusted"),
            (io::Error::new(io::ErrorKind::InvalidData, "planted"), "cannot agree"),
        ] {
            let error = io_error(error);
            assert_eq!(error.failure().as_str(), "store_unreachable");
            let text = error.to_string();
            assert!(text.contains(told) && !text.contains("planted"), "{text}");
        }
    }

    #[tokio::test]
    async fn a_file_that_should_protect_and_does_not_is_told_by_its_key_and_path_and_without_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file.pem");
        let read = |key, holds| pem(key, &path, holds, Instant::now() + Duration::from_secs(60));
        let told = async |key, holds| read(key, holds).await.unwrap_err().to_string();
        let about = |key: &str, what: &str| format!("the file that `{key}` names, {}, {what}", path.display());
        assert_eq!(told("ca_file", Pem::Certificate).await, about("ca_file", "is not there"));
        std::fs::write(&path, "planted").unwrap();
        assert_eq!(told("key_file", Pem::Key).await, about("key_file", "holds no private key in PEM"));
        std::fs::write(&path, "-----BEGIN CERTIFICATE-----\n").unwrap();
        assert!(read("ca_file", Pem::Certificate).await.is_ok());
        assert_eq!(told("key_file", Pem::Key).await, about("key_file", "holds no private key in PEM"));
    }
}
