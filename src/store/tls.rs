//! TLS connections to servers. The server's certificate must be valid for its host.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;
use tokio_rustls::TlsConnector;

use super::server::file_error;
use super::transport::{Pem, io_error, pem, tls_error};
use super::{Identity, ReadError, Tls};

/// A connection to a server, with or without TLS.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Sync + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Sync + Unpin> Stream for S {}

/// The TLS configuration of one connection.
pub(super) struct TlsClient(TlsConnector);

impl TlsClient {
    /// Reads the configured files; `None` if TLS is off. The certificate authorities of the system are trusted too.
    ///
    /// # Errors
    /// [`ReadError::Refused`] when a file cannot be read before the deadline or does not hold what it should.
    pub(super) async fn read(tls: &Tls, deadline: Instant) -> Result<Option<Self>, ReadError> {
        let Tls::Verify { ca_file, identity } = tls else { return Ok(None) };
        // All files are read before any is parsed, so that the error names the first one that cannot be read.
        let authorities = match ca_file {
            Some(file) => Some((file, pem("ca_file", file, Pem::Certificate, deadline).await?)),
            None => None,
        };
        let identity = match identity {
            Some(Identity { cert_file, key_file }) => {
                let chain = pem("cert_file", cert_file, Pem::Certificate, deadline).await?;
                Some((cert_file, chain, key_file, pem("key_file", key_file, Pem::Key, deadline).await?))
            }
            None => None,
        };
        let mut roots = RootCertStore::empty();
        // Certificates of unknown kinds are skipped.
        let system = tokio::task::spawn_blocking(rustls_native_certs::load_native_certs).await;
        roots.add_parsable_certificates(system.map(|system| system.certs).unwrap_or_default());
        if let Some((file, content)) = authorities {
            for certificate in certificates("ca_file", file, &content)? {
                roots.add(certificate).map_err(|_| file_error("ca_file", file, UNUSABLE_CERTIFICATE))?;
            }
        }
        let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| tls_error(&error.to_string()))?
            .with_root_certificates(roots);
        let config = match identity {
            None => builder.with_no_client_auth(),
            Some((cert_file, chain, key_file, key)) => {
                let chain = certificates("cert_file", cert_file, &chain)?;
                let key = PrivateKeyDer::from_pem_slice(&key)
                    .map_err(|_| file_error("key_file", key_file, "holds a key that cannot be used"))?;
                let refused =
                    |_| file_error("key_file", key_file, "holds a key that is not of the certificate in `cert_file`");
                builder.with_client_auth_cert(chain, key).map_err(refused)?
            }
        };
        Ok(Some(Self(TlsConnector::from(Arc::new(config)))))
    }

    /// Begins TLS on a connection. The server's certificate must be valid for `host`.
    pub(super) async fn protect<S: Stream + 'static>(
        &self,
        host: &str,
        stream: S,
    ) -> Result<Box<dyn Stream>, ReadError> {
        let name = ServerName::try_from(host.to_owned()).map_err(|_| tls_error("not valid for name"))?;
        Ok(Box::new(self.0.connect(name, stream).await.map_err(io_error)?))
    }
}

const UNUSABLE_CERTIFICATE: &str = "holds a certificate that cannot be used";

fn certificates(key: &'static str, file: &Path, content: &[u8]) -> Result<Vec<CertificateDer<'static>>, ReadError> {
    let parsed = CertificateDer::pem_slice_iter(content).collect::<Result<_, _>>();
    parsed.map_err(|_| file_error(key, file, UNUSABLE_CERTIFICATE))
}
