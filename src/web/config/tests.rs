mod toolkit;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rcgen::{CertificateParams, KeyPair};
use tempfile::TempDir;

use super::tracked_files::FileReader;
use super::{WebConfig, WebConfigError};
use crate::fixtures::{assert_expected, fixtures};

const CANARY: &str = "planted";

/// A folder with a pair `server.pem` and `server.key`, an authority `ca.pem`, and an unrelated key.
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
    fs::set_permissions(folder.path().join("server.key"), fs::Permissions::from_mode(0o600)).unwrap();
    put("ca.pem", &authority);
    put("other.key", &other);
    let (client, _) = own_authority(|_| ());
    put("client.pem", &client);
    folder
}

/// A self-signed certificate of an authority, and its key.
pub(super) fn own_authority(change: impl FnOnce(&mut CertificateParams)) -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["first.example".to_owned()]).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    change(&mut params);
    (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
}

pub(super) fn parse(text: &str, name: &str, folder: &Path) -> Result<WebConfig, WebConfigError> {
    WebConfig::parse(text, name, folder, &mut FileReader::default())
}

#[test]
fn every_good_file_is_accepted() {
    let folder = folder();
    for path in fixtures("web-config", "good-") {
        let name = path.file_name().unwrap().to_str().unwrap();
        if let Err(error) = parse(&fs::read_to_string(&path).unwrap(), name, folder.path()) {
            panic!("{error}");
        }
    }
}

/// `UPDATE_GOLDEN=1` writes the expected texts.
#[test]
fn every_bad_file_is_rejected_with_the_expected_text_and_no_secret() {
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
fn all_settings_are_converted_and_debug_output_has_no_secret() {
    let folder = folder();
    let path = fixtures("web-config", "good-full").remove(0);
    let config = parse(&fs::read_to_string(path).unwrap(), "good-full.yml", folder.path()).unwrap();
    assert!(config.tls.is_some() && config.rate_limit.is_some());
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
fn the_certificate_and_key_can_be_inline() {
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
fn a_new_certificate_keeps_the_access_and_another_authority_does_not() {
    let (folder, other) = (folder(), self::folder());
    let tls = |text: &str, folder: &TempDir| parse(text, "x.yml", folder.path()).unwrap().tls.unwrap();
    let plain = "tls_server_config: {cert_file: server.pem, key_file: server.key}";
    let asking = "tls_server_config: {cert_file: server.pem, key_file: server.key, client_ca_file: ca.pem, \
        client_auth_type: RequireAndVerifyClientCert}";
    assert!(tls(plain, &folder).has_access_of(&tls(plain, &other)));
    assert!(!tls(asking, &folder).has_access_of(&tls(plain, &folder)));
    assert!(!tls(asking, &folder).has_access_of(&tls(asking, &other)), "another authority");
}

#[test]
fn reading_a_pipe_without_a_writer_times_out() {
    let folder = folder();
    let pipe = folder.path().join("web.yml");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let error = WebConfig::load(&pipe).unwrap_err().to_string();
    assert!(
        error.ends_with(
            "the file is a pipe that nobody wrote to in time; write to it whenever it is read, or name a file"
        ),
        "{error}"
    );
}

#[test]
fn doubtful_settings_are_accepted_with_a_warning() {
    let folder = folder();
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.not_after = rcgen::date_time_ymd(2024, 1, 1);
    fs::write(folder.path().join("old.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
    fs::write(folder.path().join("old.key"), key.serialize_pem()).unwrap();
    fs::set_permissions(folder.path().join("old.key"), fs::Permissions::from_mode(0o600)).unwrap();
    let told = |text: &str, now: f64| {
        let warnings = parse(text, "x.yml", folder.path()).unwrap().warnings(now);
        warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    let old = "tls_server_config: {cert_file: old.pem, key_file: old.key}";
    let now = 1_704_067_201.0;
    assert!(told(old, now).contains("ran out at 2024-01-01T00:00:00Z"), "{}", told(old, now));
    assert_eq!(told(old, now - 2.0), "", "a second before that");
    let nobody = "tls_server_config: {cert_file: server.pem, key_file: server.key, client_ca_file: ca.pem, \
        client_auth_type: RequireAndVerifyClientCert, client_allowed_sans: []}";
    assert!(told(nobody, now).contains("names nobody"), "{}", told(nobody, now));
    let unnamed = "tls_server_config: {cert_file: server.pem, key_file: server.key, client_auth_type: \
        VerifyClientCertIfGiven}";
    assert!(told(unnamed, now).contains("without `client_ca_file`"), "{}", told(unnamed, now));
    for rate in ["interval: 1s", "interval: 1s, burst: 0"] {
        let told = told(&format!("rate_limit: {{{rate}}}"), now);
        assert!(told.contains("refuses every request"), "{rate}: {told}");
    }
    assert_eq!(told("rate_limit: {burst: 5}", now), "");
    assert!(told("http_server_config: {http2: yes}", now).contains("HTTP/1.1 alone"));
    assert_eq!(told("http_server_config: {http2: no}", now), "");
}

#[test]
fn only_a_key_file_that_others_can_access_gives_a_warning_with_its_path() {
    let folder = folder();
    let key = folder.path().join("server.key");
    let told = |mode: u32| {
        fs::set_permissions(&key, fs::Permissions::from_mode(mode)).unwrap();
        let text = "tls_server_config: {cert_file: server.pem, key_file: server.key}";
        let warnings = parse(text, "x.yml", folder.path()).unwrap().warnings(0.0);
        warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(told(0o640), "");
    let warned = told(0o644);
    assert!(warned.contains("`key_file`") && warned.contains("chmod 600"), "{warned}");
    assert!(warned.contains(&key.display().to_string()), "{warned}");
}

#[test]
fn the_documented_placeholder_for_a_hash_is_rejected() {
    let document = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/http.md")).unwrap();
    let block = document.split("```yaml\n# web.yml\ntls_server_config").nth(1).unwrap().split("```").next().unwrap();
    let error = parse(&format!("tls_server_config{block}"), "x.yml", folder().path()).unwrap_err().to_string();
    assert!(error.starts_with("x.yml:3: what stands here is no bcrypt hash; make one with"), "{error}");
    assert_eq!(error.lines().count(), 1, "and all else is right: {error}");
}

#[test]
fn the_protection_is_described_including_none() {
    let folder = folder();
    let told = |text: &str| parse(text, "x.yml", folder.path()).unwrap().protection().to_string();
    let nothing = "no TLS, no passwords; whoever can connect may read everything";
    let pair = "cert_file: server.pem, key_file: server.key";
    for open in ["", "tls_server_config: {cert_file: \"\"}", "basic_auth_users: {}"] {
        assert_eq!(told(open), nothing, "{open}");
    }
    assert!(told(&format!("tls_server_config: {{{pair}}}")).starts_with("TLS, no passwords; whoever can"));
    let verified = "client_auth_type: RequireAndVerifyClientCert";
    // Authorities of the system sign for anybody, so their certificates protect only with configured names.
    assert!(told(&format!("tls_server_config: {{{pair}, {verified}}}")).contains("whoever"));
    let names = told(&format!("tls_server_config: {{{pair}, {verified}, client_allowed_sans: [first.example]}}"));
    assert_eq!(names, "TLS, client certificates required, no passwords");
    // Anybody can make an unverified certificate.
    assert!(
        told(&format!("tls_server_config: {{{pair}, client_auth_type: RequireAnyClientCert}}")).contains("whoever")
    );
    let known =
        format!("tls_server_config: {{{pair}, client_auth_type: RequireAndVerifyClientCert, client_ca_file: ca.pem}}");
    assert_eq!(told(&known), "TLS, client certificates required, no passwords");
    let users = fs::read_to_string(fixtures("web-config", "good-users-alone").remove(0)).unwrap();
    assert!(told(&users).starts_with("no TLS, a password of "), "{}", told(&users));
}

#[test]
fn an_empty_list_of_names_differs_from_no_list() {
    let folder = folder();
    let tls = |more: &str| {
        let text = format!(
            "tls_server_config: {{cert_file: server.pem, key_file: server.key, client_ca_file: ca.pem, \
             client_auth_type: RequireAndVerifyClientCert{more}}}"
        );
        parse(&text, "x.yml", folder.path()).unwrap().tls.unwrap()
    };
    assert!(!tls(", client_allowed_sans: []").has_access_of(&tls("")));
    // As in Go, a key without a value counts as missing.
    assert!(tls(", client_allowed_sans: ").has_access_of(&tls("")));
}

#[test]
fn the_error_of_a_missing_file_names_the_working_directory() {
    let error = WebConfig::load(Path::new("nope.yml")).unwrap_err().to_string();
    assert!(error.contains("working directory") && !error.contains("configuration's folder"), "{error}");
}
