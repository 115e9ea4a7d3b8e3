//! Credentials and requests of clients.

use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::environment::{among_secrets, everything, sound};
use super::output::{ASKED, CollectedOutput, PLANTED};
use crate::harness::exporter::configure;
use crate::harness::store::folder;
use crate::harness::{Exporter, eventually};
use crate::servers::Certificates;
use crate::web::client::{Client, login, plainly};

const PASSWORD: &str = "PLANTED-password";

#[test]
fn no_request_data_or_credential_of_a_client_is_shown() {
    let (folder, mut said) = (folder(), CollectedOutput::default());
    let yaml = sound(folder.path());
    let hash = bcrypt::hash_with_salt(PASSWORD, 4, *b"sixteen bytes ok").unwrap().to_string();
    let web = folder.path().join("web.yml");
    fs::write(&web, format!("basic_auth_users: {{{PLANTED}-user: {hash}}}\n")).unwrap();
    let web_config = format!("--web.config.file={}", web.display());
    said.forbid(&hash);
    said.forbid(STANDARD.encode(&hash));
    let admitted = login("PLANTED-user", PASSWORD);
    everything(folder.path(), &yaml, &[&web_config], &admitted, &mut said);
    // The page shows the search text to the client that sent it.
    let is_a_page = |what: &str| ["GET /?", "GET /lease", "GET /live"].iter().any(|page| what.starts_with(page));
    said.quotes_nobody(is_a_page);

    let config = format!("--config.file={}", configure(folder.path(), &yaml).display());
    let listen = "--web.listen-address=127.0.0.1:0";
    let options = [&config, listen, &web_config, "--log.level=debug", "--web.max-requests=1"];
    let exporter = Exporter::started(among_secrets(&options));
    for headers in [
        String::new(),
        login("PLANTED-user", "PLANTED-wrong"),
        login(PASSWORD, ""),
        login(&format!("nobody{ASKED}"), PASSWORD),
        format!("Authorization: Bearer {PLANTED}\r\n"),
        format!("Authorization: Basic {PLANTED}\r\n"),
        format!("Authorization: {PLANTED}\r\n"),
    ] {
        let refused = plainly(exporter.address(), "GET", "/metrics?source=PLANTED", &headers).unwrap();
        assert_eq!(refused.status, 401, "{headers}");
        said.note("a refusal", format!("{}{}", refused.head, refused.body));
    }
    let refused = plainly(exporter.address(), "POST", "/-/reload", &admitted).unwrap();
    assert_eq!(refused.status, 403);
    said.note("what is not enabled", format!("{}{}", refused.head, refused.body));
    for wrong in [
        format!("basic_auth_users: {{{PLANTED}: {PASSWORD}}}\n"),
        format!("basic_auth_users: {PASSWORD}\n"),
        format!("basic_auth_users: {{u: [{PASSWORD}]}}\n"),
        format!("basic_auth_users: {{u: '$2y$10${PASSWORD}'}}\n"),
        format!("tls_server_config: {{cert: {PLANTED}, key: {PASSWORD}}}\n"),
        format!("tls_server_config: {{key: \"{PASSWORD}\n"),
        format!("basic_auth: {{username: u, password: {PASSWORD}}}\n"),
        format!("http_server_config: {{headers: {{X-Frame-Options: {PASSWORD}}}}}\n"),
        format!("{PASSWORD}\n"),
    ] {
        let before = exporter.log().matches("the web configuration cannot be used").count();
        fs::write(&web, &wrong).unwrap();
        eventually("a wrong file to be told", || {
            let _ = plainly(exporter.address(), "GET", "/-/healthy", "");
            (exporter.log().matches("the web configuration cannot be used").count() > before).then_some(())
        });
        let checked = super::environment::run(&["check", &web_config], &mut said);
        assert_eq!(checked.code, Some(3), "{wrong}: {}", checked.all());
        assert_eq!(super::environment::run(&[&config, listen, &web_config], &mut said).code, Some(3));
    }
    said.note("the log", exporter.stop().all());
    said.holds_nothing_planted();
    said.quotes_nobody(is_a_page);
}

#[test]
fn nothing_of_a_key_or_a_client_certificate_is_shown() {
    let (folder, certificates, mut said) = (folder(), Certificates::make(), CollectedOutput::default());
    let (server, ca) = (certificates.server(), certificates.ca_file());
    let key = fs::read_to_string(&server.key_file).unwrap();
    key.lines().filter(|line| !line.starts_with('-')).for_each(|line| said.forbid(line));
    let indented = |text: &str| text.lines().map(|line| format!("    {line}\n")).collect::<String>();
    let web = folder.path().join("web.yml");
    fs::write(
        &web,
        format!(
            "tls_server_config:\n  cert_file: {}\n  key: |\n{}  client_auth_type: RequireAndVerifyClientCert\n  \
             client_ca_file: {}\n  client_allowed_sans: [PLANTED.example]\n",
            server.certificate_file.display(),
            indented(&key),
            ca.display()
        ),
    )
    .unwrap();
    let config = format!("--config.file={}", configure(folder.path(), &sound(folder.path())).display());
    let web_config = format!("--web.config.file={}", web.display());
    for format in ["--log.format=logfmt", "--log.format=json"] {
        let listen = "--web.listen-address=127.0.0.1:0";
        let exporter = Exporter::started(among_secrets(&[&config, listen, &web_config, "--log.level=debug", format]));
        let known = certificates.client_with("PLANTED-known", &["PLANTED.example"]);
        let answer = Client::with(&ca, &known).get(exporter.address(), "/metrics").unwrap();
        assert_eq!(answer.status, 200);
        said.note("the metrics over TLS", format!("{}{}", answer.head, answer.body));
        let other = certificates.client_with("PLANTED-other", &["PLANTED-other.example"]);
        let stranger = certificates.client_of_stranger("PLANTED-stranger");
        for refused in [Client::with(&ca, &other), Client::with(&ca, &stranger), Client::trusting(&ca)] {
            assert!(refused.get(exporter.address(), "/metrics").is_err());
        }
        // The certificate of the server has another name, which the client reports.
        let named = Client::with(&ca, &known).connect(exporter.address(), "PLANTED.example");
        assert!(crate::web::client::ask(named, "GET", "/metrics", "").is_err());
        let _ = plainly(exporter.address(), "GET", "/PLANTED", "Cookie: PLANTED\r\n");
        let log = eventually("the refusals to be told", || {
            let log = exporter.log();
            let reasons = ["has no certificate", "does not speak TLS", "certificate is not accepted"];
            reasons.iter().all(|reason| log.contains(reason)).then_some(log)
        });
        said.note("the log so far", log);
        said.note("the log", exporter.stop().all());
    }
    super::environment::run(&["check", &web_config], &mut said);
    said.holds_nothing_planted();
}
