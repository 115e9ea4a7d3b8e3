//! TLS as the file says it.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::NoServerSessionStorage;
use rustls::sign::CertifiedKey;
use rustls::{InconsistentKeys, RootCertStore, ServerConfig, SupportedProtocolVersion};
use serde_saphyr::Spanned;
use sha2::{Digest as _, Sha256};
use tokio_rustls::TlsAcceptor;

use super::ciphers;
use super::client::{AllowedName, ClientAuth, ClientRoots, Clients};
use super::flag;
use super::material::Material;
use super::problem::{Faults, Problem};
use super::raw::{RawTls, Text, given};
use super::validity::NotAfter;
use crate::diagnostic::QuotedValue;
use crate::file::{TIMEOUT, escaped, world_accessible};

/// How connections are protected.
#[derive(Clone)]
pub(in crate::web) struct Tls {
    acceptor: TlsAcceptor,
    /// Of all that decides who may connect and how, which is all but the server's own certificate.
    rules: [u8; 32],
    requires_certificates: bool,
    admits_nobody: bool,
    system_roots: Option<bool>,
    not_after: Option<NotAfter>,
    /// The file of its private key, if others than its owner and group have rights to it.
    exposed_key: Option<Box<str>>,
}

impl Tls {
    pub(in crate::web) const fn acceptor(&self) -> &TlsAcceptor {
        &self.acceptor
    }

    /// Whether whoever may connect by the one may by the other.
    pub(in crate::web) fn admits_as(&self, other: &Self) -> bool {
        self.rules == other.rules
    }

    /// Whether a client needs a certificate that an authority signed.
    pub(super) const fn requires_certificates(&self) -> bool {
        self.requires_certificates
    }

    /// Whether no certificate will do.
    pub(super) const fn admits_nobody(&self) -> bool {
        self.admits_nobody
    }

    /// Whether clients' certificates are verified by what the system trusts, and if so, whether it trusts anybody.
    pub(super) const fn system_roots(&self) -> Option<bool> {
        self.system_roots
    }

    /// The file of its private key, if others than its owner and group have rights to it.
    pub(super) fn exposed_key(&self) -> Option<&str> {
        self.exposed_key.as_deref()
    }

    /// When the first of the certificates that the exporter presents runs out.
    pub(super) const fn not_after(&self) -> Option<NotAfter> {
        self.not_after
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<TLS>")
    }
}

/// PEM, and the key that gives it.
struct Pem {
    key: &'static str,
    line: u64,
    bytes: Vec<u8>,
}

/// Where a file's content comes from: relative names start at the folder.
struct Files<'a> {
    folder: &'a Path,
    material: &'a mut Material,
}

impl Files<'_> {
    /// What is given inline or in a file; an error if both are.
    fn pem(
        &mut self,
        inline: (&'static str, Option<Text>),
        file: (&'static str, Option<Text>),
        faults: &mut Faults,
    ) -> Option<Result<Pem, ()>> {
        match (given(inline.1), given(file.1)) {
            (Some(text), Some(_)) => {
                let problem = Problem::GivenTwice { inline: inline.0, file: file.0 };
                faults.note(text.referenced.line(), problem);
                Some(Err(()))
            }
            (Some(text), None) => {
                Some(Ok(Pem { key: inline.0, line: text.referenced.line(), bytes: text.value.into_bytes() }))
            }
            (None, Some(name)) => {
                let line = name.referenced.line();
                let read = self.material.file(&self.folder.join(&name.value));
                Some(read.map(|bytes| Pem { key: file.0, line, bytes }).map_err(|fault| {
                    let path = QuotedValue::path(&name.value);
                    faults.note(line, Problem::NamedFile { key: file.0, path, fault: fault.into() });
                }))
            }
            (None, None) => None,
        }
    }
}

/// Nothing where the section is empty, or where something is wrong with it, which is taken note of.
pub(super) fn checked(
    written: Spanned<RawTls>,
    folder: &Path,
    material: &mut Material,
    faults: &mut Faults,
) -> Option<Tls> {
    let line = written.referenced.line();
    let mut tls = written.value;
    if is_empty(&tls) {
        return None;
    }
    let mut files = Files { folder, material };
    let certificate = files.pem(("cert", tls.cert.take()), ("cert_file", tls.cert_file.take()), faults);
    let key_path = given(tls.key_file.clone()).map(|name| folder.join(&name.value));
    let key = files.pem(("key", tls.key.take()), ("key_file", tls.key_file.take()), faults);
    let authority =
        files.pem(("client_ca", tls.client_ca.take()), ("client_ca_file", tls.client_ca_file.take()), faults);
    let versions = ciphers::versions(&tls, faults);
    let provider = Arc::new(ciphers::provider(&tls, faults));
    let in_our_order = flag::checked("prefer_server_cipher_suites", tls.prefer_server_cipher_suites.take(), faults);
    let rules = rules(&tls, authority.as_ref());
    let clients = clients(&tls, authority, line, &provider, faults);
    if certificate.is_none() {
        faults.note(line, Problem::TlsWithout("cert_file"));
    }
    if key.is_none() {
        faults.note(line, Problem::TlsWithout("key_file"));
    }
    let identity = identity(&certificate?.ok()?, &key?.ok()?, &provider, faults)?;
    if versions.is_empty() {
        return None;
    }
    let in_our_order = in_our_order.unwrap_or(true);
    let clients = clients.ok()?;
    let requires_certificates = clients.as_ref().is_some_and(Clients::are_known);
    let system_roots = clients.as_ref().and_then(Clients::system_roots);
    let admits_nobody = clients.as_ref().is_some_and(Clients::admit_nobody);
    let not_after = identity.cert.iter().filter_map(|certificate| NotAfter::of(certificate)).min();
    match server(provider, &versions, clients, identity, in_our_order) {
        Ok(config) => {
            let acceptor = TlsAcceptor::from(Arc::new(config));
            let exposed_key = key_path.filter(|path| !world_accessible(&[path], TIMEOUT).is_empty());
            let exposed_key = exposed_key.map(|path| escaped(&path).into());
            Some(Tls { acceptor, rules, requires_certificates, admits_nobody, system_roots, not_after, exposed_key })
        }
        Err(_) => {
            // Otherwise it follows from what is wrong already.
            if faults.is_empty() {
                faults.note(line, Problem::NothingLeft);
            }
            None
        }
    }
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
    ];
    let lists = [&tls.client_allowed_sans, &tls.cipher_suites, &tls.curve_preferences];
    texts.into_iter().all(|text| given(text.clone()).is_none())
        && lists.into_iter().all(Option::is_none)
        && given(tls.prefer_server_cipher_suites.clone()).is_none()
}

/// A digest of what decides who may connect.
fn rules(tls: &RawTls, authority: Option<&Result<Pem, ()>>) -> [u8; 32] {
    let mut digest = Sha256::new();
    let mut add = |part: &[u8]| {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    };
    for text in [&tls.client_auth_type, &tls.min_version, &tls.max_version] {
        add(text.as_ref().map_or("", |text| &text.value).as_bytes());
    }
    for list in [&tls.client_allowed_sans, &tls.cipher_suites, &tls.curve_preferences] {
        // Without a list, no name is asked for; of one without names, none will do.
        add(&[list.is_some().into()]);
        let list = list.as_deref().unwrap_or_default();
        add(&(list.len() as u64).to_be_bytes());
        list.iter().for_each(|text| add(text.value.as_bytes()));
    }
    if let Some(Ok(pem)) = authority {
        add(&pem.bytes);
    }
    digest.finalize().into()
}

fn clients(
    tls: &RawTls,
    authority: Option<Result<Pem, ()>>,
    line: u64,
    provider: &Arc<CryptoProvider>,
    faults: &mut Faults,
) -> Result<Option<Clients>, ()> {
    let mut sound = true;
    let mut wrong = |line, problem| {
        faults.note(line, problem);
        sound = false;
    };
    let auth = match given(tls.client_auth_type.clone()) {
        None => Some((ClientAuth::Nobody, line)),
        Some(text) => match ClientAuth::named(&text.value) {
            Some(auth) => Some((auth, text.referenced.line())),
            None => {
                let value = QuotedValue::new(&text.value);
                let problem = Problem::Choice { key: "client_auth_type", value, known: ClientAuth::NAMES };
                wrong(text.referenced.line(), problem);
                None
            }
        },
    };
    let mut names = None;
    if let Some(allowed) = &tls.client_allowed_sans {
        let names = names.insert(Vec::with_capacity(allowed.len()));
        for text in allowed {
            match AllowedName::new(&text.value) {
                Some(name) => names.push(name),
                None => wrong(text.referenced.line(), Problem::Email),
            }
        }
        if let Some((auth, line)) = auth
            && !auth.requires()
        {
            wrong(line, Problem::NamesWithoutCertificate);
        }
    }
    let verifies = auth.is_some_and(|(auth, _)| auth.verifies());
    let mut authorities = None;
    match (authority, auth) {
        (Some(Ok(pem)), Some((ClientAuth::Nobody, _))) => wrong(pem.line, Problem::AuthorityWithoutPolicy(pem.key)),
        (Some(Ok(pem)), _) => match client_roots(&pem) {
            Ok(certificates) => authorities = verifies.then_some(ClientRoots::Configured(certificates)),
            Err(problem) => wrong(pem.line, problem),
        },
        (Some(Err(())), _) => sound = false,
        // As with Go. What cannot be loaded of them is not trusted.
        (None, _) if verifies => {
            authorities = Some(ClientRoots::System(rustls_native_certs::load_native_certs().certs));
        }
        (None, _) => {}
    }
    match auth {
        Some((auth, _)) if sound => Clients::new(auth, authorities, names, provider).map_err(|()| {
            faults.note(line, Problem::BadCertificate("client_ca_file"));
        }),
        _ => Err(()),
    }
}

/// The certificates of clients' authorities, each of which can be one.
fn client_roots(pem: &Pem) -> Result<Vec<CertificateDer<'static>>, Problem> {
    let certificates = certificates(pem)?;
    let usable = |certificate: &CertificateDer<'static>| RootCertStore::empty().add(certificate.clone()).is_ok();
    if certificates.iter().all(usable) { Ok(certificates) } else { Err(Problem::BadCertificate(pem.key)) }
}

fn certificates(pem: &Pem) -> Result<Vec<CertificateDer<'static>>, Problem> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem.bytes).collect();
    match certificates {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        Ok(_) => Err(Problem::NoCertificate(pem.key)),
        Err(_) => Err(Problem::BadCertificate(pem.key)),
    }
}

/// The server's certificate with its key.
fn identity(certificate: &Pem, key: &Pem, provider: &CryptoProvider, faults: &mut Faults) -> Option<Arc<CertifiedKey>> {
    let chain = certificates(certificate).map_err(|problem| faults.note(certificate.line, problem));
    let private = PrivateKeyDer::from_pem_slice(&key.bytes).map_err(|_| faults.note(key.line, Problem::NoKey(key.key)));
    let signing = provider.key_provider.load_private_key(private.ok()?);
    let signing = signing.map_err(|_| faults.note(key.line, Problem::BadKey)).ok()?;
    let identity = CertifiedKey::new(chain.ok()?, signing);
    match identity.keys_match() {
        // A key that cannot say what its public half is is taken at its word.
        Ok(()) | Err(rustls::Error::InconsistentKeys(InconsistentKeys::Unknown)) => Some(Arc::new(identity)),
        Err(rustls::Error::InconsistentKeys(_)) => {
            faults.note(key.line, Problem::OtherKey);
            None
        }
        Err(_) => {
            faults.note(certificate.line, Problem::BadCertificate(certificate.key));
            None
        }
    }
}

fn server(
    provider: Arc<CryptoProvider>,
    versions: &[&'static SupportedProtocolVersion],
    clients: Option<Clients>,
    identity: Arc<CertifiedKey>,
    in_our_order: bool,
) -> Result<ServerConfig, rustls::Error> {
    let asks = clients.is_some();
    let builder = ServerConfig::builder_with_provider(provider).with_protocol_versions(versions)?;
    let builder = match clients {
        Some(clients) => builder.with_client_cert_verifier(Arc::new(clients)),
        None => builder.with_no_client_auth(),
    };
    let mut config = builder.with_cert_resolver(Arc::new(rustls::sign::SingleCertAndKey::from(identity)));
    config.ignore_client_order = in_our_order;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    if asks {
        // A session that is resumed is not asked again, although its certificate may have run out since.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
    }
    Ok(config)
}
