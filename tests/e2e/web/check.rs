//! Errors and warnings about a web configuration, from `check` and at the start.

use std::fs;

use super::client::{Client, plainly};
use super::{configure, start, steady, user};
use crate::harness::store::folder;
use crate::harness::{Exporter, eventually, run};
use crate::servers::Certificates;

const TLS: &str = "tls_server_config: {cert_file: server.pem, key_file: server.key}\n";

#[test]
fn check_reports_whether_clients_are_authenticated() {
    let folder = folder();
    let check = |text: &str| run(&["check", &configure(folder.path(), text)]);
    let open = "The web configuration is well formed: no TLS, no passwords; whoever can connect may read everything.";
    for text in ["", "tls_server_config: {cert_file: \"\"}\n"] {
        let checked = check(text);
        assert_eq!((checked.code, checked.stdout.as_str()), (Some(0), open), "{text}");
    }
    let checked = check(&format!("basic_auth_users:\n{}http_server_config: {{http2: true}}\n", user("one", "x")));
    let lines: Vec<_> = checked.stdout.lines().collect();
    assert_eq!(checked.code, Some(0));
    assert_eq!(lines[0], "The web configuration is well formed: no TLS, a password of 1 user.");
    assert!(lines[1].starts_with("  warning: `http2: true` changes nothing"), "{}", checked.stdout);
    let own = crate::harness::exporter::configure(folder.path(), &steady(folder.path()));
    let both = run(&["check", &format!("--config.file={}", own.display()), &configure(folder.path(), "")]);
    assert!(both.stdout.starts_with(open) && both.stdout.contains("\nown: sqlite"), "{}", both.stdout);
}

#[test]
fn expired_certificate_is_reported_before_a_client_meets_it() {
    let (folder, key) = (folder(), rcgen::KeyPair::generate().unwrap());
    let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.not_after = rcgen::date_time_ymd(2024, 1, 1);
    fs::write(folder.path().join("server.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
    fs::write(folder.path().join("server.key"), key.serialize_pem()).unwrap();
    let checked = run(&["check", &configure(folder.path(), TLS)]);
    assert!(checked.stdout.contains("warning: the certificate ran out at 2024-01-01T00:00:00Z"), "{}", checked.stdout);
    let exporter = start(folder.path(), TLS);
    let log = exporter.log();
    let warned = log.lines().find(|line| line.contains("ran out at 2024-01-01T00:00:00Z"));
    assert!(warned.is_some_and(|line| line.contains("level=warn")), "{log}");
}

#[test]
fn when_the_certificate_runs_out_is_a_metric() {
    let (folder, certificates) = (folder(), Certificates::make());
    let pair = certificates.server();
    fs::copy(&pair.certificate_file, folder.path().join("server.pem")).unwrap();
    fs::copy(&pair.key_file, folder.path().join("server.key")).unwrap();
    let name = "lease_exporter_web_certificate_not_after_timestamp_seconds";
    let exporter = start(folder.path(), TLS);
    let metrics = Client::trusting(&certificates.ca_file()).get(exporter.address(), "/metrics").unwrap().body;
    let told = metrics.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
    // The first second of the year 4096.
    assert_eq!(told.map(|time| time.parse::<f64>().unwrap()), Some(67_090_118_400.0), "{metrics}");
    let plain = self::folder();
    assert!(!start(plain.path(), "").get("/metrics").body.contains(name));
}

#[test]
fn start_logs_the_client_requirements_and_refuses_an_empty_name() {
    let folder = folder();
    let exporter = Exporter::start_with(folder.path(), &steady(folder.path()), &["--web.config.file="]);
    let log = exporter.log();
    assert!(log.contains("tls=off client_certificates=off users=0"), "{log}");
    assert_eq!(exporter.get("/metrics").status, 200);
    assert!(!exporter.get("/metrics").body.contains("lease_exporter_web_config"));
    let exporter = start(folder.path(), &format!("basic_auth_users:\n{}", user("one", "x")));
    let log = exporter.log();
    assert!(log.contains("tls=off client_certificates=off users=1"), "{log}");
    let absent = run(&["check", "--web.config.file=nope.yml"]);
    assert_eq!(absent.code, Some(3), "{}", absent.all());
    assert!(absent.stderr.contains("nope.yml: there is no such file; a relative path starts at the working directory"));
}

#[test]
fn burst_of_zero_is_accepted_with_a_warning_and_refuses_every_request() {
    let folder = folder();
    let text = "rate_limit: {interval: 1s, burst: 0}\n";
    let checked = run(&["check", &configure(folder.path(), text)]);
    assert_eq!(checked.code, Some(0), "{}", checked.all());
    assert!(checked.stdout.contains("warning: `rate_limit` without a `burst`, or with one of 0"), "{}", checked.stdout);
    let exporter = start(folder.path(), text);
    for _ in 0..3 {
        assert_eq!(exporter.get("/metrics").status, 429);
    }
    assert!(exporter.log().contains("refuses every request"), "{}", exporter.log());
}

#[test]
fn reload_reports_the_web_configuration_too() {
    let folder = folder();
    let headers = "http_server_config: {headers: {X-Frame-Options: deny}}\n";
    let web = configure(folder.path(), headers);
    let exporter = Exporter::start_with(folder.path(), &steady(folder.path()), &["--web.enable-lifecycle", &web]);
    let reload = || plainly(exporter.address(), "POST", "/-/reload", "").unwrap();
    assert_eq!(reload().status, 200);
    configure(folder.path(), "nonsense: 1\n");
    let refused = reload();
    assert_eq!(refused.status, 500);
    assert!(refused.body.contains("the web configuration cannot be used"), "{}", refused.body);
    eventually("what is wrong to be told", || exporter.log().contains("unknown key `nonsense`").then_some(()));
    let metrics = exporter.scrape();
    assert_eq!(metrics.value("lease_exporter_config_last_reload_successful", &[]), Some(1.0), "that one is sound");
    assert_eq!(metrics.value("lease_exporter_web_config_last_reload_successful", &[]), Some(0.0));
    configure(folder.path(), headers);
    assert_eq!(reload().status, 200);
    assert!(!exporter.log().contains("anew="), "nothing begins anew: {}", exporter.log());
}
