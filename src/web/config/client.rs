//! Which clients may connect: what is asked of their certificates.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme};
use webpki::EndEntityCert;

use super::validity::check_client_certificate;

/// What Go calls a server's policy for client authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientAuth {
    /// `NoClientCert`
    Nobody,
    /// `RequestClientCert`
    Request,
    /// `RequireAnyClientCert`
    RequireAny,
    /// `VerifyClientCertIfGiven`
    VerifyIfGiven,
    /// `RequireAndVerifyClientCert`
    RequireAndVerify,
}

impl ClientAuth {
    pub(super) const NAMES: &str = "NoClientCert, RequestClientCert, RequireAnyClientCert, VerifyClientCertIfGiven or \
        RequireAndVerifyClientCert";

    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "NoClientCert" => Self::Nobody,
            "RequestClientCert" => Self::Request,
            // The second is how the exporter-toolkit once called it.
            "RequireAnyClientCert" | "RequireClientCert" => Self::RequireAny,
            "VerifyClientCertIfGiven" => Self::VerifyIfGiven,
            "RequireAndVerifyClientCert" => Self::RequireAndVerify,
            _ => return None,
        })
    }

    pub(super) const fn verifies(self) -> bool {
        matches!(self, Self::VerifyIfGiven | Self::RequireAndVerify)
    }

    pub(super) const fn requires(self) -> bool {
        matches!(self, Self::RequireAny | Self::RequireAndVerify)
    }
}

/// The authorities of clients' certificates.
pub(super) enum ClientRoots {
    /// Those that the configuration gives. Like each of them, a certificate that is one of them itself is trusted.
    Configured(Vec<CertificateDer<'static>>),
    /// Those that the system trusts.
    System(Vec<CertificateDer<'static>>),
}

/// What a certificate is verified by.
struct ChainVerifier {
    /// `None` where the system trusts nobody, and so no certificate is trusted.
    chains: Option<Arc<dyn ClientCertVerifier>>,
    /// Certificates that are trusted themselves, whoever signed them.
    trusted: Vec<CertificateDer<'static>>,
    /// Whether the configuration says whom to trust.
    is_configured: bool,
}

impl ChainVerifier {
    /// An error where a configured certificate cannot be used.
    fn new(authorities: ClientRoots, provider: &Arc<CryptoProvider>) -> Result<Self, ()> {
        let mut roots = RootCertStore::empty();
        let (trusted, is_configured) = match authorities {
            ClientRoots::Configured(certificates) => {
                certificates.iter().try_for_each(|certificate| roots.add(certificate.clone()).map_err(|_| ()))?;
                (certificates, true)
            }
            ClientRoots::System(certificates) => {
                roots.add_parsable_certificates(certificates);
                (Vec::new(), false)
            }
        };
        if roots.is_empty() && !is_configured {
            return Ok(Self { chains: None, trusted, is_configured });
        }
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
        // The names of all authorities that a system trusts are no hint for a client.
        let verifier = if is_configured { verifier } else { verifier.clear_root_hint_subjects() };
        Ok(Self { chains: Some(verifier.build().map_err(|_| ())?), trusted, is_configured })
    }

    fn verify(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), Error> {
        // As with Go, a certificate that is trusted itself needs no chain; the library takes none of an authority there.
        if self.trusted.contains(end_entity) {
            EndEntityCert::try_from(end_entity).map_err(|_| Error::from(CertificateError::BadEncoding))?;
            return check_client_certificate(end_entity, now).map_err(Error::from);
        }
        match &self.chains {
            Some(chains) => chains.verify_client_cert(end_entity, intermediates, now).map(drop),
            None => Err(CertificateError::UnknownIssuer.into()),
        }
    }
}

/// Asks clients for certificates.
pub(super) struct Clients {
    required: bool,
    /// How certificates are verified; `None` where any certificate will do.
    verifier: Option<ChainVerifier>,
    /// One of these must be in the certificate, if there are any to be in it: none of none is.
    names: Option<Vec<AllowedName>>,
    provider: Arc<CryptoProvider>,
}

/// A name that a certificate may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AllowedName {
    Ip(IpAddr),
    /// A DNS name or a URI, exactly as it is in the certificate.
    Text(String),
}

impl AllowedName {
    /// Nothing for an e-mail address, which cannot be compared.
    pub(super) fn new(text: &str) -> Option<Self> {
        if let Ok(address) = text.parse() {
            return Some(Self::Ip(address));
        }
        (text.contains(':') || !text.contains('@')).then(|| Self::Text(text.to_owned()))
    }

    fn is_of(&self, certificate: &EndEntityCert<'_>) -> bool {
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

impl Clients {
    /// Nothing where no certificate is asked for; an error where an authority cannot be used. Without authorities, any
    /// certificate will do.
    pub(super) fn new(
        auth: ClientAuth,
        authorities: Option<ClientRoots>,
        names: Option<Vec<AllowedName>>,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Option<Self>, ()> {
        let verifier = authorities.map(|authorities| ChainVerifier::new(authorities, provider)).transpose()?;
        let clients = Self { required: auth.requires(), verifier, names, provider: Arc::clone(provider) };
        Ok((auth != ClientAuth::Nobody).then_some(clients))
    }
}

impl Clients {
    /// Whether each needs a certificate of an authority that the configuration names, or one with a name that it names.
    /// Somebody whom the system trusts signs a certificate for anybody.
    pub(super) fn are_known(&self) -> bool {
        let known = |verifier: &ChainVerifier| verifier.is_configured || self.names.is_some();
        self.required && self.verifier.as_ref().is_some_and(known)
    }

    /// Whether certificates are verified by what the system trusts, and if so, whether it trusts anybody.
    pub(super) fn system_roots(&self) -> Option<bool> {
        let verifier = self.verifier.as_ref().filter(|verifier| !verifier.is_configured)?;
        Some(verifier.chains.is_some())
    }

    /// Whether no certificate will do.
    pub(super) fn admit_nobody(&self) -> bool {
        self.names.as_ref().is_some_and(Vec::is_empty)
    }
}

impl fmt::Debug for Clients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clients").field("required", &self.required).field("names", &self.names).finish_non_exhaustive()
    }
}

impl ClientCertVerifier for Clients {
    fn client_auth_mandatory(&self) -> bool {
        self.required
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        let chains = self.verifier.as_ref().and_then(|verifier| verifier.chains.as_ref());
        chains.map_or(&[], |chains| chains.root_hint_subjects())
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        if let Some(verifier) = &self.verifier {
            verifier.verify(end_entity, intermediates, now)?;
        }
        if let Some(names) = &self.names {
            let certificate =
                EndEntityCert::try_from(end_entity).map_err(|_| Error::from(CertificateError::BadEncoding))?;
            if !names.iter().any(|name| name.is_of(&certificate)) {
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
