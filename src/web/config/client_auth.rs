//! Verification of clients' certificates.

use std::net::IpAddr;
use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme};
use webpki::EndEntityCert;

use super::certificate::check_client_certificate;

/// The policy of `client_auth_type`, as `ClientAuthType` in Go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientAuth {
    None,
    Request,
    RequireAny,
    VerifyIfGiven,
    RequireAndVerify,
}

impl ClientAuth {
    pub(super) const NAMES: &str = "NoClientCert, RequestClientCert, RequireAnyClientCert, VerifyClientCertIfGiven or \
        RequireAndVerifyClientCert";

    pub(super) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "NoClientCert" => Self::None,
            "RequestClientCert" => Self::Request,
            // The second is a former name in the exporter-toolkit.
            "RequireAnyClientCert" | "RequireClientCert" => Self::RequireAny,
            "VerifyClientCertIfGiven" => Self::VerifyIfGiven,
            "RequireAndVerifyClientCert" => Self::RequireAndVerify,
            _ => return None,
        })
    }

    pub(super) const fn verifies(self) -> bool {
        matches!(self, Self::VerifyIfGiven | Self::RequireAndVerify)
    }

    pub(super) const fn requires_certificate(self) -> bool {
        matches!(self, Self::RequireAny | Self::RequireAndVerify)
    }
}

/// The authorities that clients' certificates are verified by.
pub(super) enum ClientRoots {
    /// The certificates of the configuration. Each of them is also accepted itself.
    Configured(Vec<CertificateDer<'static>>),
    /// The authorities that the system trusts.
    System(Vec<CertificateDer<'static>>),
}

/// Verifies certificate chains.
#[derive(Debug)]
struct ChainVerifier {
    /// `None` if the system trusts no authority: then no certificate is accepted.
    chains: Option<Arc<dyn ClientCertVerifier>>,
    /// Certificates that are accepted themselves, whoever signed them.
    pinned: Vec<CertificateDer<'static>>,
    /// Whether the configuration names the authorities.
    is_configured: bool,
}

impl ChainVerifier {
    /// Fails if a configured certificate cannot be used.
    fn new(roots: ClientRoots, provider: &Arc<CryptoProvider>) -> Result<Self, Error> {
        let mut store = RootCertStore::empty();
        let (pinned, is_configured) = match roots {
            ClientRoots::Configured(certificates) => {
                certificates.iter().try_for_each(|certificate| store.add(certificate.clone()))?;
                (certificates, true)
            }
            ClientRoots::System(certificates) => {
                store.add_parsable_certificates(certificates);
                (Vec::new(), false)
            }
        };
        if store.is_empty() && !is_configured {
            return Ok(Self { chains: None, pinned, is_configured });
        }
        let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(store), Arc::clone(provider));
        // The names of all authorities of a system are no useful hint for a client.
        let builder = if is_configured { builder } else { builder.clear_root_hint_subjects() };
        let verifier = builder.build().map_err(|error| Error::General(error.to_string()))?;
        Ok(Self { chains: Some(verifier), pinned, is_configured })
    }

    fn verify(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), Error> {
        // As in Go, a pinned certificate needs no chain. webpki rejects a certificate authority as end entity.
        if self.pinned.contains(end_entity) {
            parse(end_entity)?;
            return check_client_certificate(end_entity, now).map_err(Error::from);
        }
        match &self.chains {
            Some(chains) => chains.verify_client_cert(end_entity, intermediates, now).map(drop),
            None => Err(CertificateError::UnknownIssuer.into()),
        }
    }
}

fn parse<'a>(certificate: &'a CertificateDer<'_>) -> Result<EndEntityCert<'a>, Error> {
    EndEntityCert::try_from(certificate).map_err(|_| CertificateError::BadEncoding.into())
}

/// A subject alternative name that a certificate may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AllowedName {
    Ip(IpAddr),
    /// A DNS name or a URI, compared byte by byte.
    Text(String),
}

impl AllowedName {
    /// Returns `None` for an e-mail address, which cannot be compared.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if let Ok(address) = text.parse() {
            return Some(Self::Ip(address));
        }
        (text.contains(':') || !text.contains('@')).then(|| Self::Text(text.to_owned()))
    }

    fn matches(&self, certificate: &EndEntityCert<'_>) -> bool {
        match self {
            Self::Ip(address) => {
                certificate.verify_is_valid_for_subject_name(&ServerName::IpAddress((*address).into())).is_ok()
            }
            Self::Text(text) => {
                certificate.valid_dns_names().chain(certificate.valid_uri_names()).any(|name| name == text)
            }
        }
    }
}

/// Asks clients for certificates and verifies them.
#[derive(Debug)]
pub(super) struct ClientVerifier {
    is_required: bool,
    /// `None` if any certificate is accepted.
    chains: Option<ChainVerifier>,
    /// If given, a certificate must have one of these names. An empty list accepts no certificate.
    names: Option<Vec<AllowedName>>,
    provider: Arc<CryptoProvider>,
}

impl ClientVerifier {
    /// Returns `None` if clients are not asked for certificates. Without roots, any certificate is accepted.
    pub(super) fn new(
        auth: ClientAuth,
        roots: Option<ClientRoots>,
        names: Option<Vec<AllowedName>>,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Option<Self>, Error> {
        let chains = roots.map(|roots| ChainVerifier::new(roots, provider)).transpose()?;
        let verifier = Self { is_required: auth.requires_certificate(), chains, names, provider: Arc::clone(provider) };
        Ok((auth != ClientAuth::None).then_some(verifier))
    }

    /// Whether each client needs a certificate of a configured authority, or one with a configured name. Authorities that
    /// the system trusts sign certificates for anybody.
    pub(super) fn requires_known_clients(&self) -> bool {
        let chains = self.chains.as_ref().filter(|_| self.is_required);
        chains.is_some_and(|chains| chains.is_configured || self.names.is_some())
    }

    /// If certificates are verified by the authorities that the system trusts: whether there are any.
    pub(super) fn has_system_roots(&self) -> Option<bool> {
        self.chains.as_ref().filter(|chains| !chains.is_configured).map(|chains| chains.chains.is_some())
    }

    /// Whether no certificate is accepted, because the list of names is empty.
    pub(super) fn rejects_all(&self) -> bool {
        self.names.as_ref().is_some_and(Vec::is_empty)
    }
}

impl ClientCertVerifier for ClientVerifier {
    fn client_auth_mandatory(&self) -> bool {
        self.is_required
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        let chains = self.chains.as_ref().and_then(|chains| chains.chains.as_ref());
        chains.map_or(&[], |chains| chains.root_hint_subjects())
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        if let Some(chains) = &self.chains {
            chains.verify(end_entity, intermediates, now)?;
        }
        if let Some(names) = &self.names {
            let certificate = parse(end_entity)?;
            if !names.iter().any(|name| name.matches(&certificate)) {
                return Err(CertificateError::NotValidForName.into());
            }
        }
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests;
