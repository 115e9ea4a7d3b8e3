//! TLS: server certificates and client certificates.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;

use rustls::version::{TLS12, TLS13};

use super::client::{Client, plainly};
use super::{configure, start, steady};
use crate::harness::process::command;
use crate::harness::store::folder;
use crate::harness::{Exporter, Process, eventually, run};
use crate::servers::{Certificate, Certificates};

/// Copies a certificate and its key to the paths of the web configuration.
fn place(folder: &Path, pair: &Certificate) {
    fs::copy(&pair.certificate_file, folder.join("server.pem")).unwrap();
    fs::copy(&pair.key_file, folder.join("server.key")).unwrap();
}

fn web_config(more: &str) -> String {
    format!("tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n{more}")
}

fn started(folder: &Path, certificates: &Certificates, more: &str) -> Exporter {
    place(folder, &certificates.server());
    fs::copy(certificates.ca_file(), folder.join("ca.pem")).unwrap();
    start(folder, &web_config(more))
}

#[test]
fn only_tls_clients_that_trust_the_authority_are_answered() {
    let (folder, certificates) = (folder(), Certificates::make());
    let exporter = started(folder.path(), &certificates, "");
    let answer = Client::trusting(&certificates.ca_file()).get(exporter.address(), "/metrics").unwrap();
    assert_eq!(answer.status, 200);
    assert!(answer.body.contains("lease_state{source=\"own\",lease=\"steady\",state=\"active\"} 1"), "{}", answer.body);
    assert!(Client::trusting(&certificates.stranger_ca_file()).get(exporter.address(), "/metrics").is_err());
    let plain = plainly(exporter.address(), "GET", "/metrics", "").unwrap();
    assert_eq!((plain.status, plain.body.as_str()), (400, "this is HTTPS; ask with https://\n"));
    exporter.process().stderr.wait_for("a connection could not be protected");
    assert!(exporter.log().contains("peer=127.0.0.1"), "{}", exporter.log());
}

#[test]
fn a_client_needs_a_certificate_of_the_authority_where_one_is_verified() {
    let (folder, certificates) = (folder(), Certificates::make());
    let verified = "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.pem\n";
    let exporter = started(folder.path(), &certificates, verified);
    let ca = certificates.ca_file();
    for (versions, what) in [(&[&TLS12][..], "TLS 1.2"), (&[&TLS13], "TLS 1.3")] {
        let asks =
            |identity: Option<&Certificate>| Client::new(&ca, identity, versions).get(exporter.address(), "/metrics");
        assert_eq!(asks(Some(&certificates.client("prometheus"))).unwrap().status, 200, "{what}");
        assert!(asks(None).is_err(), "{what}");
        assert!(asks(Some(&certificates.client_of_stranger("prometheus"))).is_err(), "{what}");
    }
    // Open routes need a TLS connection as well.
    assert!(Client::trusting(&ca).get(exporter.address(), "/-/healthy").is_err());
}

#[test]
fn each_policy_for_clients_is_kept() {
    let certificates = Certificates::make();
    let (trusted, stranger) = (certificates.client("a"), certificates.client_of_stranger("b"));
    let clients = [None, Some(&trusted), Some(&stranger)];
    for (policy, admitted) in [
        ("  client_auth_type: NoClientCert\n", [true, true, true]),
        ("  client_auth_type: RequestClientCert\n", [true, true, true]),
        ("  client_auth_type: RequireAnyClientCert\n", [false, true, true]),
        ("  client_auth_type: VerifyClientCertIfGiven\n  client_ca_file: ca.pem\n", [true, true, false]),
        ("  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.pem\n", [false, true, false]),
    ] {
        let folder = folder();
        let exporter = started(folder.path(), &certificates, policy);
        let got = clients.map(|identity| {
            Client::new(&certificates.ca_file(), identity, &[&TLS13]).get(exporter.address(), "/-/healthy").is_ok()
        });
        assert_eq!(got, admitted, "{policy}");
    }
}

#[test]
fn self_signed_client_certificate_is_accepted_if_it_is_trusted() {
    let (folder, certificates) = (folder(), Certificates::make());
    let own = |name: &str| {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::new(vec!["first.example".to_owned()]).unwrap();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let path = |ending: &str| folder.path().join(format!("{name}.{ending}"));
        fs::write(path("pem"), params.self_signed(&key).unwrap().pem()).unwrap();
        fs::write(path("key"), key.serialize_pem()).unwrap();
        Certificate { certificate_file: path("pem"), key_file: path("key") }
    };
    let (trusted, other) = (own("trusted"), own("other"));
    let names = "  client_allowed_sans: [first.example]\n";
    let exporter = started(
        folder.path(),
        &certificates,
        &format!("  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: trusted.pem\n{names}"),
    );
    let ca = certificates.ca_file();
    for version in [&TLS12, &TLS13] {
        let asks = |identity| Client::new(&ca, identity, &[version]).get(exporter.address(), "/metrics");
        assert_eq!(asks(Some(&trusted)).unwrap().status, 200, "{version:?}");
        assert!(asks(Some(&other)).is_err() && asks(None).is_err(), "{version:?}");
    }
}

#[test]
fn without_configured_authorities_clients_are_verified_by_the_system_authorities() {
    let (folder, certificates) = (folder(), Certificates::make());
    place(folder.path(), &certificates.server());
    let ca = certificates.ca_file();
    let (trusted, stranger) = (certificates.client("a"), certificates.client_of_stranger("b"));
    for (policy, admitted) in
        [("VerifyClientCertIfGiven", [true, true, false]), ("RequireAndVerifyClientCert", [false, true, false])]
    {
        let config = crate::harness::exporter::configure(folder.path(), &steady(folder.path()));
        let web = configure(folder.path(), &web_config(&format!("  client_auth_type: {policy}\n")));
        let config = format!("--config.file={}", config.display());
        let mut command = command([config.as_str(), "--web.listen-address=127.0.0.1:0", &web]);
        command.env("SSL_CERT_FILE", &ca).env_remove("SSL_CERT_DIR");
        let exporter = Exporter::started(Process::start(command));
        let got = [None, Some(&trusted), Some(&stranger)]
            .map(|identity| Client::new(&ca, identity, &[&TLS13]).get(exporter.address(), "/-/healthy").is_ok());
        assert_eq!(got, admitted, "{policy}");
        assert!(exporter.log().contains("without `client_ca_file`"), "{}", exporter.log());
    }
}

#[test]
fn only_certificates_with_an_allowed_name_are_let_in() {
    let (folder, certificates) = (folder(), Certificates::make());
    let exporter = started(
        folder.path(),
        &certificates,
        "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.pem\n  client_allowed_sans: \
         [prometheus.example, 192.0.2.7, 'spiffe://example/prometheus']\n",
    );
    for (names, admitted) in [
        (&["prometheus.example"][..], true),
        (&["other.example", "192.0.2.7"], true),
        (&["spiffe://example/prometheus"], true),
        (&["*.example"], false),
        (&["sub.prometheus.example"], false),
        (&["192.0.2.8"], false),
        (&["spiffe://example/prometheus/x"], false),
        (&[], false),
    ] {
        let identity = certificates.client_with("prometheus.example", names);
        let answer = Client::with(&certificates.ca_file(), &identity).get(exporter.address(), "/metrics");
        assert_eq!(answer.is_ok(), admitted, "{names:?}: {answer:?}");
    }
}

#[test]
fn empty_list_of_allowed_names_admits_no_certificate() {
    let (folder, certificates) = (folder(), Certificates::make());
    let exporter = started(
        folder.path(),
        &certificates,
        "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.pem\n  client_allowed_sans: []\n",
    );
    let identity = certificates.client_with("prometheus.example", &["prometheus.example"]);
    assert!(Client::with(&certificates.ca_file(), &identity).get(exporter.address(), "/metrics").is_err());
    assert!(exporter.log().contains("names nobody"), "{}", exporter.log());
}

#[test]
fn a_version_or_a_suite_that_is_not_allowed_is_refused() {
    let certificates = Certificates::make();
    let ca = certificates.ca_file();
    for (more, with_12, with_13) in [
        ("  min_version: TLS13\n", false, true),
        ("  max_version: TLS12\n", true, false),
        // The key of the certificate is an ECDSA key.
        ("  cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]\n", false, true),
        ("  cipher_suites: [TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256]\n  curve_preferences: [CurveP384]\n", true, true),
    ] {
        let folder = folder();
        let exporter = started(folder.path(), &certificates, more);
        let with = |version| Client::new(&ca, None, &[version]).get(exporter.address(), "/-/healthy").is_ok();
        assert_eq!((with(&TLS12), with(&TLS13)), (with_12, with_13), "{more}");
    }
}

#[test]
fn a_new_certificate_is_served_without_a_restart_and_a_wrong_one_changes_nothing() {
    let (folder, certificates) = (folder(), Certificates::make());
    let exporter = started(folder.path(), &certificates, "");
    let client = Client::trusting(&certificates.ca_file());
    let serves = |name: &str| {
        super::client::ask(client.connect(exporter.address(), name), "GET", "/-/healthy", "")
            .is_ok_and(|answer| answer.status == 200)
    };
    assert!(serves("localhost") && !serves("renewed.example"));
    let mut kept = client.connect(exporter.address(), "localhost");
    keep_alive(&mut kept);

    place(folder.path(), &certificates.next_server(&["renewed.example"]));
    eventually("the new certificate", || serves("renewed.example").then_some(()));
    assert!(!serves("localhost"));
    exporter.process().stderr.wait_for("the web configuration was loaded again");
    // An older connection gets one more response, which closes it.
    assert!(keep_alive(&mut kept).contains("connection: close"));

    fs::write(folder.path().join("server.pem"), "-----BEGIN CERTIFICATE-----\nplanted\n").unwrap();
    eventually("the wrong certificate to be told", || {
        assert!(serves("renewed.example"));
        exporter.log().contains("the web configuration cannot be used").then_some(())
    });
    for _ in 0..20 {
        assert!(serves("renewed.example"));
    }
    let log = exporter.log();
    assert_eq!(log.matches("the web configuration cannot be used").count(), 1, "{log}");
    assert!(log.contains("server.pem") || log.contains("cert_file"), "{log}");
    assert!(!log.contains("planted"), "{log}");
    place(folder.path(), &certificates.next_server(&["again.example"]));
    eventually("the certificate after that", || serves("again.example").then_some(()));
}

#[test]
fn a_secret_that_is_swapped_by_its_link_as_kubernetes_does_is_noticed() {
    let (folder, certificates) = (folder(), Certificates::make());
    let at = |name: &str| folder.path().join(name);
    for (version, pair) in [("1", certificates.server()), ("2", certificates.next_server(&["renewed.example"]))] {
        fs::create_dir(at(version)).unwrap();
        place(&at(version), &pair);
    }
    let link = |to: &str| {
        std::os::unix::fs::symlink(to, at("..next")).unwrap();
        fs::rename(at("..next"), at("..data")).unwrap();
    };
    link("1");
    for name in ["server.pem", "server.key"] {
        std::os::unix::fs::symlink(format!("..data/{name}"), at(name)).unwrap();
    }
    let exporter = start(folder.path(), &web_config(""));
    let client = Client::trusting(&certificates.ca_file());
    assert_eq!(client.get(exporter.address(), "/-/healthy").unwrap().status, 200);
    link("2");
    eventually("the new certificate", || {
        super::client::ask(client.connect(exporter.address(), "renewed.example"), "GET", "/-/healthy", "").ok()
    });
    assert!(!exporter.log().contains("cannot be used"), "both files change at once: {}", exporter.log());
}

#[test]
fn clients_of_other_rules_do_not_stay_connected() {
    let (folder, certificates) = (folder(), Certificates::make());
    let exporter = started(folder.path(), &certificates, "");
    let client = Client::trusting(&certificates.ca_file());
    let mut kept = client.connect(exporter.address(), "localhost");
    keep_alive(&mut kept);
    configure(folder.path(), &web_config("  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.pem\n"));
    eventually("clients to need certificates", || client.get(exporter.address(), "/-/healthy").is_err().then_some(()));
    write!(kept, "GET /metrics HTTP/1.1\r\nHost: test\r\n\r\n").unwrap();
    let mut rest = Vec::new();
    let _ = kept.read_to_end(&mut rest);
    assert_eq!(String::from_utf8_lossy(&rest), "", "it is closed without an answer");
    let known = certificates.client("prometheus");
    assert_eq!(Client::with(&certificates.ca_file(), &known).get(exporter.address(), "/metrics").unwrap().status, 200);
}

#[test]
fn a_file_that_cannot_be_used_keeps_the_exporter_from_starting() {
    let folder = folder();
    let own = crate::harness::exporter::configure(folder.path(), &super::steady(folder.path()));
    let config = format!("--config.file={}", own.display());
    let web = configure(folder.path(), "tls_server_config: {cert_file: gone.pem, key: planted}");
    let finished = run(&[&config, "--web.listen-address=127.0.0.1:0", &web]);
    assert_eq!(finished.code, Some(3), "{}", finished.all());
    assert!(finished.stderr.contains("`cert_file`") && finished.stderr.contains("web.yml:1"), "{}", finished.stderr);
    assert!(!finished.all().contains("planted") && !finished.stderr.contains("listening"), "{}", finished.stderr);
    let gone = run(&[&config, "--web.listen-address=127.0.0.1:0", "--web.config.file=/nowhere/web.yml"]);
    assert_eq!(gone.code, Some(3), "{}", gone.all());
    assert!(gone.stderr.contains("/nowhere/web.yml"), "{}", gone.stderr);
}

/// Sends a request on a persistent connection, and returns the head of the response.
fn keep_alive(stream: &mut (impl std::io::Read + std::io::Write)) -> String {
    write!(stream, "GET /-/healthy HTTP/1.1\r\nHost: test\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"OK\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        answer.push(byte[0]);
    }
    String::from_utf8(answer).unwrap().to_lowercase()
}
