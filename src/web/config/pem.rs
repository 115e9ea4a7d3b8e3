//! Certificates and keys in PEM, from the configuration itself or from a file that it names.

use std::path::Path;
use std::sync::Arc;

use rustls::InconsistentKeys;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use super::problem::{Problem, Problems};
use super::raw::{Text, non_blank};
use super::tracked_files::FileReader;
use crate::diagnostic::QuotedValue;

/// PEM text, with the configuration key that gives it and its line.
pub(super) struct Pem {
    pub(super) key: &'static str,
    pub(super) line: u64,
    pub(super) bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Noted;

/// Reads PEM. Relative paths start at the folder of the configuration file.
pub(super) struct PemReader<'a> {
    pub(super) folder: &'a Path,
    pub(super) files: &'a mut FileReader,
}

impl PemReader<'_> {
    /// The PEM of two keys of which at most one may be given: one with the text itself, one with the path of a file.
    pub(super) fn read(
        &mut self,
        (inline_key, inline): (&'static str, &Option<Text>),
        (file_key, file): (&'static str, &Option<Text>),
        problems: &mut Problems,
    ) -> Result<Option<Pem>, Noted> {
        let (key, line, content) = match (non_blank(inline), non_blank(file)) {
            (Some(text), Some(_)) => {
                let problem = Problem::GivenTwice { inline: inline_key, file: file_key };
                (inline_key, text.referenced.line(), Err(problem))
            }
            (Some(text), None) => (inline_key, text.referenced.line(), Ok(text.value.clone().into_bytes())),
            (None, Some(name)) => {
                let content = self.files.read(&self.folder.join(&name.value)).map_err(|fault| {
                    let path = QuotedValue::path(&name.value);
                    Problem::NamedFile { key: file_key, path, fault: fault.into() }
                });
                (file_key, name.referenced.line(), content)
            }
            (None, None) => return Ok(None),
        };
        problems.keep(line, content).map(|bytes| Some(Pem { key, line, bytes })).ok_or(Noted)
    }
}

impl Pem {
    pub(super) fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, Problem> {
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&self.bytes).collect();
        match certificates {
            Ok(certificates) if !certificates.is_empty() => Ok(certificates),
            Ok(_) => Err(Problem::NoCertificate(self.key)),
            Err(_) => Err(Problem::BadCertificate(self.key)),
        }
    }
}

/// The certificate chain of the exporter with its private key.
pub(super) fn certified_key(
    certificate: &Pem,
    key: &Pem,
    provider: &CryptoProvider,
    problems: &mut Problems,
) -> Option<Arc<CertifiedKey>> {
    let chain = problems.keep(certificate.line, certificate.certificates());
    let private = PrivateKeyDer::from_pem_slice(&key.bytes).map_err(|_| Problem::NoKey(key.key));
    let private = problems.keep(key.line, private)?;
    let signing = provider.key_provider.load_private_key(private).map_err(|_| Problem::BadKey);
    let signing = problems.keep(key.line, signing)?;
    let certified = CertifiedKey::new(chain?, signing);
    match certified.keys_match() {
        // If the key cannot tell its public half, the pair is assumed to match.
        Ok(()) | Err(rustls::Error::InconsistentKeys(InconsistentKeys::Unknown)) => return Some(Arc::new(certified)),
        Err(rustls::Error::InconsistentKeys(_)) => problems.note(key.line, Problem::KeyMismatch),
        Err(_) => problems.note(certificate.line, Problem::BadCertificate(certificate.key)),
    }
    None
}
