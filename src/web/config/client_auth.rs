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
use super::warning::Warning;

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
#[derive(Debug)]
pub(super) enum ClientRoots {
    /// The certificates of the configuration. Each of them is also accepted itself.
    Configured(Vec<CertificateDer<'static>>),
    System(Vec<CertificateDer<'static>>),
}

/// The verifier of certificate chains. `None` if there is no authority, and so no certificate is accepted.
fn chain_verifier(
    roots: &ClientRoots,
    provider: &Arc<CryptoProvider>,
) -> Result<Option<Arc<dyn ClientCertVerifier>>, Error> {
    let mut store = RootCertStore::empty();
    match roots {
        ClientRoots::Configured(roots) => roots.iter().try_for_each(|root| store.add(root.clone()))?,
        ClientRoots::System(roots) => _ = store.add_parsable_certificates(roots.iter().cloned()),
    }
    if store.is_empty() {
        return Ok(None);
    }
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(store), Arc::clone(provider));
    let builder = match roots {
        ClientRoots::Configured(_) => builder,
        // The names of all authorities of a system are no useful hint for a client.
        ClientRoots::System(_) => builder.clear_root_hint_subjects(),
    };
    builder.build().map(Some).map_err(|error| Error::General(error.to_string()))
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
    roots: Option<ClientRoots>,
    /// `None` if there are no roots.
    chains: Option<Arc<dyn ClientCertVerifier>>,
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
        let chains = roots.as_ref().map_or(Ok(None), |roots| chain_verifier(roots, provider))?;
        let (is_required, provider) = (auth.requires_certificate(), Arc::clone(provider));
        Ok((auth != ClientAuth::None).then_some(Self { is_required, roots, chains, names, provider }))
    }

    /// Whether each client needs a certificate of a configured authority, or one with a configured name. Authorities that
    /// the system trusts sign certificates for anybody.
    pub(super) fn requires_known_clients(&self) -> bool {
        self.is_required
            && match &self.roots {
                Some(ClientRoots::Configured(_)) => true,
                Some(ClientRoots::System(_)) => self.names.is_some(),
                None => false,
            }
    }

    pub(super) fn warnings(&self) -> Vec<Warning> {
        let has_no_names = self.names.as_ref().is_some_and(Vec::is_empty);
        let system_roots = if self.chains.is_some() { Warning::SystemRoots } else { Warning::NoSystemRoots };
        let has_system_roots = matches!(self.roots, Some(ClientRoots::System(_)));
        let warnings = [has_no_names.then_some(Warning::NoAllowedNames), has_system_roots.then_some(system_roots)];
        warnings.into_iter().flatten().collect()
    }
}

impl ClientCertVerifier for ClientVerifier {
    fn client_auth_mandatory(&self) -> bool {
        self.is_required
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.chains.as_ref().map_or(&[], |chains| chains.root_hint_subjects())
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        match (&self.roots, &self.chains) {
            (None, _) => {}
            // As in Go, a configured certificate needs no chain. webpki rejects a certificate authority as end entity.
            (Some(ClientRoots::Configured(roots)), _) if roots.contains(end_entity) => {
                parse(end_entity)?;
                check_client_certificate(end_entity, now)?;
            }
            (Some(_), Some(chains)) => _ = chains.verify_client_cert(end_entity, intermediates, now)?,
            (Some(_), None) => return Err(CertificateError::UnknownIssuer.into()),
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
