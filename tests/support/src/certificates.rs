//! Certificates: of an authority that is trusted, and of one that nobody trusts.

use std::fs;
use std::path::PathBuf;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    SanType,
};
use tempfile::TempDir;

/// An authority with a server's certificate for `localhost` and 127.0.0.1, as files that go with their guard.
pub struct Certificates {
    folder: TempDir,
    authority: Issuer<'static, KeyPair>,
    ca: String,
    server: (String, String),
}

/// The files of one certificate.
pub struct Certificate {
    pub certificate_file: PathBuf,
    pub key_file: PathBuf,
}

impl Certificates {
    /// Makes them.
    pub fn make() -> Self {
        Self::for_server(&["localhost", "127.0.0.1"])
    }

    /// Makes them for a server of other names.
    pub fn for_server(names: &[&str]) -> Self {
        let folder = tempfile::Builder::new().prefix("lease-exporter-certificates-").tempdir().unwrap();
        let (ca, authority) = authority("Authority of the tests");
        let server = signed(&authority, "server", names, ExtendedKeyUsagePurpose::ServerAuth);
        fs::write(folder.path().join("ca.pem"), &ca).unwrap();
        fs::write(folder.path().join("stranger.pem"), self::authority("Authority that nobody trusts").0).unwrap();
        Self { folder, authority, ca, server }
    }

    /// The certificate of the authority that signed the server's, and that the server trusts.
    pub fn ca_file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// The certificate of an authority that signed nothing.
    pub fn stranger_ca_file(&self) -> PathBuf {
        self.folder.path().join("stranger.pem")
    }

    /// A certificate for a client of this name, which the server trusts.
    pub fn client(&self, name: &str) -> Certificate {
        self.write(&format!("{name}-trusted"), &self.authority, name)
    }

    /// A certificate for a client of this name by an authority that nobody trusts.
    pub fn client_of_stranger(&self, name: &str) -> Certificate {
        self.write(&format!("{name}-stranger"), &authority("Authority that nobody trusts").1, name)
    }

    /// A certificate for a client with these names beside its own: DNS names, addresses, or URIs. The server trusts it.
    pub fn client_with(&self, name: &str, names: &[&str]) -> Certificate {
        self.put(name, signed(&self.authority, name, names, ExtendedKeyUsagePurpose::ClientAuth))
    }

    /// The server's certificate.
    pub fn server(&self) -> Certificate {
        self.put("server", self.server.clone())
    }

    /// Another certificate for the server, with a key of its own.
    pub fn next_server(&self, names: &[&str]) -> Certificate {
        self.put("next-server", signed(&self.authority, "server", names, ExtendedKeyUsagePurpose::ServerAuth))
    }

    fn write(&self, file: &str, authority: &Issuer<'_, KeyPair>, name: &str) -> Certificate {
        self.put(file, signed(authority, name, &[], ExtendedKeyUsagePurpose::ClientAuth))
    }

    fn put(&self, file: &str, (certificate, key): (String, String)) -> Certificate {
        let put = |ending: &str, content: &str| {
            let path = self.folder.path().join(format!("{file}.{ending}"));
            fs::write(&path, content).unwrap();
            path
        };
        Certificate { certificate_file: put("pem", &certificate), key_file: put("key", &key) }
    }

    pub(super) fn ca(&self) -> &str {
        &self.ca
    }

    pub(super) fn server_certificate(&self) -> &str {
        &self.server.0
    }

    pub(super) fn server_key(&self) -> &str {
        &self.server.1
    }
}

fn authority(name: &str) -> (String, Issuer<'static, KeyPair>) {
    let key = KeyPair::generate().unwrap();
    let mut parameters = CertificateParams::new(Vec::new()).unwrap();
    parameters.distinguished_name.push(DnType::CommonName, name);
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let certificate = parameters.self_signed(&key).unwrap();
    (certificate.pem(), Issuer::new(parameters, key))
}

/// A certificate and its key.
fn signed(by: &Issuer<'_, KeyPair>, name: &str, hosts: &[&str], usage: ExtendedKeyUsagePurpose) -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let (uris, hosts): (Vec<&str>, Vec<&str>) = hosts.iter().partition(|host| host.contains("://"));
    let mut parameters = CertificateParams::new(hosts.into_iter().map(ToOwned::to_owned).collect::<Vec<_>>()).unwrap();
    parameters.subject_alt_names.extend(uris.into_iter().map(|uri| SanType::URI(uri.try_into().unwrap())));
    parameters.distinguished_name = rcgen::DistinguishedName::new();
    parameters.distinguished_name.push(DnType::CommonName, name);
    parameters.extended_key_usages = vec![usage];
    parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    let certificate = parameters.signed_by(&key, by).unwrap();
    (certificate.pem(), key.serialize_pem())
}
