//! The way to a server: TCP, TLS over it, or a Unix socket.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::{TcpStream, UnixStream, lookup_host};
use tokio::task::{JoinSet, spawn_blocking};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::store::ReadError;
use crate::store::transport::{broken, unprotected};

/// The certificates of a connection, in PEM.
pub(super) struct Certificates {
    /// Authorities that may have signed the server's certificate, beside those of the system.
    pub(super) ca: Option<Vec<u8>>,
    /// A certificate and its key.
    pub(super) identity: Option<(Vec<u8>, Vec<u8>)>,
}

/// Connects to a Unix socket.
pub(super) async fn unix(path: &Path) -> Result<UnixStream, ReadError> {
    UnixStream::connect(path).await.map_err(|error| broken(&error))
}

/// Connects over TCP.
pub(super) async fn tcp(name: &str, port: u16) -> Result<TcpStream, ReadError> {
    let stream = fastest(name, port).await.and_then(|stream| stream.set_nodelay(true).map(|()| stream));
    stream.map_err(|error| broken(&error))
}

/// Connects over TCP and protects the connection.
pub(super) async fn tls(name: &str, port: u16, with: Certificates) -> Result<TlsStream<TcpStream>, ReadError> {
    let config = config(with).await?;
    let host = ServerName::try_from(name.to_owned())
        .map_err(|_| ReadError::Unreachable("TLS: no certificate can be for the configured host's name".to_owned()))?;
    let stream = tcp(name, port).await?;
    TlsConnector::from(Arc::new(config)).connect(host, stream).await.map_err(|error| broken(&error))
}

/// Tries all addresses of a host at once, so that one from which no answer comes costs no time.
async fn fastest(name: &str, port: u16) -> io::Result<TcpStream> {
    let mut attempts = JoinSet::new();
    for address in lookup_host((name, port)).await? {
        attempts.spawn(TcpStream::connect(address));
    }
    let mut failure = io::Error::from(io::ErrorKind::AddrNotAvailable);
    while let Some(attempt) = attempts.join_next().await {
        match attempt.map_err(io::Error::other)? {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

async fn config(with: Certificates) -> Result<ClientConfig, ReadError> {
    let mut roots = RootCertStore::empty();
    // They are read from files. If there are none, only the authorities in `ca_file` are trusted.
    let system = spawn_blocking(rustls_native_certs::load_native_certs).await.unwrap_or_default();
    roots.add_parsable_certificates(system.certs);
    if let Some(ca) = with.ca {
        let unusable =
            || ReadError::Refused("the file that `ca_file` names holds a certificate that cannot be used".to_owned());
        for certificate in CertificateDer::pem_slice_iter(&ca) {
            roots.add(certificate.map_err(|_| unusable())?).map_err(|_| unusable())?;
        }
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| unprotected(&error.to_string()))?
        .with_root_certificates(roots);
    let Some((certificate, key)) = with.identity else { return Ok(builder.with_no_client_auth()) };
    let unusable = || ReadError::Refused("the client certificate or its key cannot be used".to_owned());
    let chain = CertificateDer::pem_slice_iter(&certificate).collect::<Result<Vec<_>, _>>().map_err(|_| unusable())?;
    let key = PrivateKeyDer::from_pem_slice(&key).map_err(|_| unusable())?;
    builder.with_client_auth_cert(chain, key).map_err(|_| unusable())
}
