//! The TLS settings, converted for rustls.

use std::path::Path;
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::server::NoServerSessionStorage;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion};
use serde_saphyr::Spanned;
use sha2::{Digest as _, Sha256};
use tokio_rustls::TlsAcceptor;

use super::certificate::NotAfter;
use super::ciphers;
use super::client_auth::{AllowedName, ClientAuth, ClientRoots, ClientVerifier};
use super::pem::{Noted, Pem, PemReader, certified_key};
use super::problem::{Problem, Problems};
use super::raw::{RawTls, boolean, non_blank};
use super::tracked_files::FileReader;
use super::warning::Warning;
use crate::diagnostic::QuotedValue;
use crate::file::{TIMEOUT, escaped, world_accessible};

pub(in crate::web) struct Tls {
    pub(in crate::web) acceptor: TlsAcceptor,
    /// A digest of all settings but the exporter's own certificate: of who may connect, and how.
    access_digest: [u8; 32],
    /// Whether a client needs a certificate of a configured authority, or one with a configured name.
    pub(super) requires_certificates: bool,
    /// When the first certificate of the exporter's chain expires.
    pub(super) not_after: Option<NotAfter>,
    pub(super) client_warnings: Vec<Warning>,
    pub(super) exposed_key: Option<Warning>,
}

impl Tls {
    /// Whether both accept the same clients under the same conditions.
    pub(in crate::web) fn has_access_of(&self, other: &Self) -> bool {
        self.access_digest == other.access_digest
    }
}

/// Converts the section. Returns `None` if it is empty, or if it has problems, which are noted.
pub(super) fn convert(
    raw: &Spanned<RawTls>,
    folder: &Path,
    files: &mut FileReader,
    problems: &mut Problems,
) -> Option<Tls> {
    let (line, tls) = (raw.referenced.line(), &raw.value);
    if is_empty(tls) {
        return None;
    }
    let mut pem = PemReader { folder, files };
    let certificate = pem.read(("cert", &tls.cert), ("cert_file", &tls.cert_file), problems);
    let key = pem.read(("key", &tls.key), ("key_file", &tls.key_file), problems);
    let authority = pem.read(("client_ca", &tls.client_ca), ("client_ca_file", &tls.client_ca_file), problems);
    let versions = ciphers::versions(tls, problems);
    let provider = Arc::new(ciphers::provider(tls, problems));
    let server_order = boolean("prefer_server_cipher_suites", &tls.prefer_server_cipher_suites, problems);
    let access_digest = access_digest(tls, authority.as_ref().ok().and_then(Option::as_ref));
    let clients = client_verifier(raw, authority, &provider, problems);
    for (pem, key) in [(&certificate, "cert_file"), (&key, "key_file")] {
        if matches!(pem, Ok(None)) {
            problems.note(line, Problem::TlsWithout(key));
        }
    }
    let certified = certified_key(&certificate.ok()??, &key.ok()??, &provider, problems)?;
    if versions.is_empty() {
        return None;
    }
    let clients = clients.ok()?;
    let requires_certificates = clients.as_ref().is_some_and(ClientVerifier::requires_known_clients);
    let client_warnings = clients.as_ref().map_or_else(Vec::new, ClientVerifier::warnings);
    let not_after = certified.cert.iter().filter_map(|certificate| NotAfter::from_der(certificate)).min();
    let Ok(mut config) = server_config(provider, &versions, clients, certified) else {
        // Problems that were found before may be the cause.
        if problems.is_empty() {
            problems.note(line, Problem::NoCommonParameters);
        }
        return None;
    };
    config.ignore_client_order = server_order.unwrap_or(true);
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let key_path = non_blank(&tls.key_file).map(|name| folder.join(&name.value));
    let exposed_key = key_path.filter(|path| !world_accessible(&[path], TIMEOUT).is_empty());
    let exposed_key = exposed_key.map(|path| Warning::ExposedKey(escaped(&path).into()));
    Some(Tls { acceptor, access_digest, requires_certificates, not_after, client_warnings, exposed_key })
}

fn is_empty(tls: &RawTls) -> bool {
    let texts = [
        &tls.cert,
        &tls.key,
        &tls.client_ca,
        &tls.cert_file,
        &tls.key_file,
        &tls.client_auth_type,
        &tls.client_ca_file,
        &tls.min_version,
        &tls.max_version,
        &tls.prefer_server_cipher_suites,
    ];
    let lists = [&tls.client_allowed_sans, &tls.cipher_suites, &tls.curve_preferences];
    texts.into_iter().all(|text| non_blank(text).is_none()) && lists.into_iter().all(Option::is_none)
}

fn access_digest(tls: &RawTls, authority: Option<&Pem>) -> [u8; 32] {
    let mut digest = Sha256::new();
    let mut add = |part: &[u8]| {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    };
    for text in [&tls.client_auth_type, &tls.min_version, &tls.max_version] {
        add(text.as_ref().map_or("", |text| &text.value).as_bytes());
    }
    for list in [&tls.client_allowed_sans, &tls.cipher_suites, &tls.curve_preferences] {
        // A missing list requires no name; an empty list accepts no name.
        add(&[list.is_some().into()]);
        let list = list.as_deref().unwrap_or_default();
        add(&(list.len() as u64).to_be_bytes());
        list.iter().for_each(|text| add(text.value.as_bytes()));
    }
    if let Some(pem) = authority {
        add(&pem.bytes);
    }
    digest.finalize().into()
}

/// The verifier of clients' certificates, or `None` if clients are not asked for certificates.
fn client_verifier(
    raw: &Spanned<RawTls>,
    authority: Result<Option<Pem>, Noted>,
    provider: &Arc<CryptoProvider>,
    problems: &mut Problems,
) -> Result<Option<ClientVerifier>, Noted> {
    let (section_line, tls, before) = (raw.referenced.line(), &raw.value, problems.count());
    let (auth, auth_line) = match non_blank(&tls.client_auth_type) {
        None => (Some(ClientAuth::None), section_line),
        Some(text) => {
            let auth = ClientAuth::parse(&text.value).ok_or_else(|| {
                let value = QuotedValue::new(&text.value);
                Problem::Choice { key: "client_auth_type", value, known: ClientAuth::NAMES }
            });
            (problems.keep(text.referenced.line(), auth), text.referenced.line())
        }
    };
    let names = tls.client_allowed_sans.as_ref().map(|allowed| {
        let parse = |text: &super::raw::Text| {
            problems.keep(text.referenced.line(), AllowedName::parse(&text.value).ok_or(Problem::Email))
        };
        allowed.iter().filter_map(parse).collect::<Vec<_>>()
    });
    if names.is_some() && auth.is_some_and(|auth| !auth.requires_certificate()) {
        problems.note(auth_line, Problem::NamesWithoutCertificate);
    }
    let authority = authority?;
    let verifies = auth.is_some_and(ClientAuth::verifies);
    let roots = match authority {
        Some(pem) if auth == Some(ClientAuth::None) => {
            problems.note(pem.line, Problem::AuthorityWithoutPolicy(pem.key));
            None
        }
        Some(pem) => {
            let roots = problems.keep(pem.line, client_roots(&pem));
            roots.filter(|_| verifies).map(ClientRoots::Configured)
        }
        // As in Go. Certificates of the system that cannot be loaded are not trusted.
        None => verifies.then(|| ClientRoots::System(rustls_native_certs::load_native_certs().certs)),
    };
    match auth {
        Some(auth) if problems.count() == before => {
            let verifier = ClientVerifier::new(auth, roots, names, provider);
            let verifier = verifier.map_err(|_| Problem::BadCertificate("client_ca_file"));
            problems.keep(section_line, verifier).ok_or(Noted)
        }
        _ => Err(Noted),
    }
}

/// The certificates of clients' authorities, if each can be used.
fn client_roots(pem: &Pem) -> Result<Vec<CertificateDer<'static>>, Problem> {
    let certificates = pem.certificates()?;
    let is_usable = |certificate: &CertificateDer<'static>| RootCertStore::empty().add(certificate.clone()).is_ok();
    if certificates.iter().all(is_usable) { Ok(certificates) } else { Err(Problem::BadCertificate(pem.key)) }
}

fn server_config(
    provider: Arc<CryptoProvider>,
    versions: &[&'static SupportedProtocolVersion],
    clients: Option<ClientVerifier>,
    certified: Arc<CertifiedKey>,
) -> Result<ServerConfig, rustls::Error> {
    let asks_for_certificates = clients.is_some();
    let builder = ServerConfig::builder_with_provider(provider).with_protocol_versions(versions)?;
    let builder = match clients {
        Some(clients) => builder.with_client_cert_verifier(Arc::new(clients)),
        None => builder.with_no_client_auth(),
    };
    let mut config = builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    if asks_for_certificates {
        // A resumed session does not present the certificate again, which may have expired in the meantime.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
    }
    Ok(config)
}
