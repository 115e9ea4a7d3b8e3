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

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Nobody => "NoClientCert",
            Self::Request => "RequestClientCert",
            Self::RequireAny => "RequireAnyClientCert",
            Self::VerifyIfGiven => "VerifyClientCertIfGiven",
            Self::RequireAndVerify => "RequireAndVerifyClientCert",
        }
    }

    pub(super) const fn verifies(self) -> bool {
        matches!(self, Self::VerifyIfGiven | Self::RequireAndVerify)
    }

    pub(super) const fn requires(self) -> bool {
        matches!(self, Self::RequireAny | Self::RequireAndVerify)
    }
}

/// Asks clients for certificates.
pub(super) struct Clients {
    required: bool,
    /// By whom certificates must be signed; `None` where any certificate will do.
    chains: Option<Arc<dyn ClientCertVerifier>>,
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
    /// Nothing where no certificate is asked for; an error where the roots cannot be used.
    pub(super) fn new(
        auth: ClientAuth,
        roots: RootCertStore,
        names: Option<Vec<AllowedName>>,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Option<Self>, ()> {
        let chains = if auth.verifies() {
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
            Some(verifier.build().map_err(|_| ())?)
        } else {
            None
        };
        let clients = Self { required: auth.requires(), chains, names, provider: Arc::clone(provider) };
        Ok((auth != ClientAuth::Nobody).then_some(clients))
    }
}

impl Clients {
    /// Whether each needs a certificate, and one that was signed by somebody who is trusted with that.
    pub(super) fn are_known(&self) -> bool {
        self.required && self.chains.is_some()
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
        self.chains.as_ref().map_or(&[], |chains| chains.root_hint_subjects())
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        if let Some(chains) = &self.chains {
            chains.verify_client_cert(end_entity, intermediates, now)?;
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
