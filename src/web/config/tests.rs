use std::fs;
use std::path::Path;

use rcgen::{CertificateParams, KeyPair};
use tempfile::TempDir;

use super::material::Material;
use super::{WebConfig, WebConfigError};
use crate::fixtures::{assert_expected, fixtures};

const CANARY: &str = "planted";

/// A folder with a pair `server.pem` and `server.key`, an authority `ca.pem`, and the key of somebody else.
pub(super) fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, content: &str| fs::write(folder.path().join(name), content).unwrap();
    let pair = || {
        let key = KeyPair::generate().unwrap();
        (
            CertificateParams::new(vec!["localhost".to_owned()]).unwrap().self_signed(&key).unwrap().pem(),
            key.serialize_pem(),
        )
    };
    let ((certificate, key), (authority, other)) = (pair(), pair());
    put("server.pem", &certificate);
    put("server.key", &key);
    put("ca.pem", &authority);
    put("other.key", &other);
    folder
}

pub(super) fn parse(text: &str, name: &str, folder: &Path) -> Result<WebConfig, WebConfigError> {
    WebConfig::parse(text, name, folder, &mut Material::default())
}

#[test]
fn every_good_file_is_taken() {
    let folder = folder();
    for path in fixtures("web-config", "good-") {
        let name = path.file_name().unwrap().to_str().unwrap();
        if let Err(error) = parse(&fs::read_to_string(&path).unwrap(), name, folder.path()) {
            panic!("{error}");
        }
    }
}

/// With `UPDATE_GOLDEN=1` the expected texts are written anew.
#[test]
fn every_bad_file_is_refused_with_the_text_beside_it_and_no_secret() {
    let folder = folder();
    for path in fixtures("web-config", "bad-") {
        let name = path.file_name().unwrap().to_str().unwrap();
        let error = parse(&fs::read_to_string(&path).unwrap(), name, folder.path()).expect_err(name);
        let shown = format!("{error}\n");
        assert!(!format!("{shown}{error:?}").contains(CANARY), "{name} repeats a secret: {shown}");
        assert!(!shown.contains("$2y$"), "{name} repeats a hash: {shown}");
        assert_expected(&path, &shown);
    }
}

#[test]
fn everything_given_arrives_and_nothing_secret_can_be_shown() {
    let folder = folder();
    let path = fixtures("web-config", "good-full").remove(0);
    let config = parse(&fs::read_to_string(path).unwrap(), "good-full.yml", folder.path()).unwrap();
    assert!(config.tls.is_some() && config.rate.is_some());
    let headers: Vec<_> = config.headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
    assert_eq!(headers.len(), 5);
    assert!(headers.contains(&("x-frame-options", "deny")), "{headers:?}");
    let users = config.users.as_ref().unwrap();
    assert!(users.hash_of(b"someone else").unwrap().starts_with("$2a$04$"));
    assert_eq!(users.hash_of(b"nobody"), None);
    let shown = format!("{config:?}");
    assert!(!shown.contains('$') && !shown.contains("prometheus"), "{shown}");
}

#[test]
fn a_pair_may_stand_in_the_file_itself() {
    let folder = folder();
    let inline = |name: &str| {
        let pem = fs::read_to_string(folder.path().join(name)).unwrap();
        pem.lines().map(|line| format!("    {line}\n")).collect::<String>()
    };
    let text = format!(
        "tls_server_config:\n  cert: |\n{}  key: |\n{}  client_ca: |\n{}  client_auth_type: RequireAndVerifyClientCert\n",
        inline("server.pem"),
        inline("server.key"),
        inline("ca.pem")
    );
    let config = parse(&text, "inline.yml", Path::new("/nowhere")).unwrap();
    assert!(config.tls.is_some());
}

#[test]
fn a_new_certificate_admits_as_the_old_one_and_other_clients_do_not() {
    let (folder, other) = (folder(), self::folder());
    let tls = |text: &str, folder: &TempDir| parse(text, "x.yml", folder.path()).unwrap().tls.unwrap();
    let plain = "tls_server_config: {cert_file: server.pem, key_file: server.key}";
    let asking = "tls_server_config: {cert_file: server.pem, key_file: server.key, client_ca_file: ca.pem, \
        client_auth_type: RequireAndVerifyClientCert}";
    assert!(tls(plain, &folder).admits_as(&tls(plain, &other)));
    assert!(!tls(asking, &folder).admits_as(&tls(plain, &folder)));
    assert!(!tls(asking, &folder).admits_as(&tls(asking, &other)), "another authority");
}

#[test]
fn a_pipe_is_no_configuration_and_is_not_waited_for() {
    let folder = folder();
    let pipe = folder.path().join("web.yml");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let error = WebConfig::load(&pipe).unwrap_err().to_string();
    assert!(error.contains("check that it is a file"), "{error}");
}
