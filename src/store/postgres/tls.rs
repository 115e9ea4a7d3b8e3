//! TLS to a server, whose certificate must be valid and for its host.

use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio_rustls::TlsConnector;

use super::failure::Failure;
use crate::store::ReadError;
use crate::store::transport::unprotected;

/// A client certificate with those that it depends on, and its key, each in PEM.
pub(super) struct Identity {
    pub(super) certificates: Vec<u8>,
    pub(super) key: Vec<u8>,
}

/// The name that the server's certificate must be for.
pub(super) fn server_name(name: &str) -> Result<ServerName<'static>, Failure> {
    ServerName::try_from(name.to_owned()).map_err(|_| unprotected("not valid for name").into())
}

/// Trusts those whom the system trusts, and `authorities` in PEM.
pub(super) async fn connector(
    authorities: Option<&[u8]>,
    identity: Option<&Identity>,
) -> Result<TlsConnector, Failure> {
    let mut roots = RootCertStore::empty();
    let system = tokio::task::spawn_blocking(rustls_native_certs::load_native_certs).await;
    // Some of them may be of a kind that is not known, and there may be none: then `authorities` alone are trusted.
    roots.add_parsable_certificates(system.map(|system| system.certs).unwrap_or_default());
    for certificate in certificates(authorities.unwrap_or_default())? {
        roots.add(certificate).map_err(|_| unusable())?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|_| unusable())?
        .with_root_certificates(roots);
    let config = match identity {
        Some(identity) => {
            let key = PrivateKeyDer::from_pem_slice(&identity.key).map_err(|_| unusable())?;
            builder.with_client_auth_cert(certificates(&identity.certificates)?, key).map_err(|_| unusable())?
        }
        None => builder.with_no_client_auth(),
    };
    Ok(TlsConnector::from(Arc::new(config)))
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, Failure> {
    CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>().map_err(|_| unusable())
}

fn unusable() -> Failure {
    ReadError::Refused("a file that `tls` names cannot be used: its certificates or its key are not sound".to_owned())
        .into()
}
