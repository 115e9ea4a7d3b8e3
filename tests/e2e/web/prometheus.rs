//! A real Prometheus scrapes a protected exporter.

use std::fs;

use super::{start, user};
use crate::harness::eventually;
use crate::harness::store::folder;
use crate::servers::{Certificates, Prometheus};

#[test]
fn prometheus_scrapes_over_tls_with_a_certificate_and_a_password_and_stores_what_is_said() {
    let (folder, certificates) = (folder(), Certificates::make());
    let (server, client) = (certificates.server(), certificates.client_with("prometheus", &["prometheus.example"]));
    let exporter = start(
        folder.path(),
        &format!(
            "tls_server_config:\n  cert_file: {}\n  key_file: {}\n  client_ca_file: {}\n  client_auth_type: \
             RequireAndVerifyClientCert\n  client_allowed_sans: [prometheus.example]\n  min_version: TLS13\n\
             basic_auth_users:\n{}",
            server.certificate_file.display(),
            server.key_file.display(),
            certificates.ca_file().display(),
            user("prometheus", "right")
        ),
    );
    let job = |name: &str, password: &str| {
        fs::write(folder.path().join(name), password).unwrap();
        format!(
            "  - job_name: {name}\n    scheme: https\n    scrape_interval: 1s\n    basic_auth: {{username: prometheus, \
             password_file: {folder}/{name}}}\n    tls_config: {{ca_file: {ca}, cert_file: {cert}, key_file: {key}, \
             server_name: localhost}}\n    static_configs: [{{targets: ['{address}']}}]\n",
            folder = folder.path().display(),
            ca = certificates.ca_file().display(),
            cert = client.certificate_file.display(),
            key = client.key_file.display(),
            address = exporter.address(),
        )
    };
    let prometheus =
        Prometheus::start(&format!("scrape_configs:\n{}{}", job("right", "right"), job("wrong", "wrong")), &[]);
    let active = "lease_state{job=\"right\",source=\"own\",lease=\"steady\",state=\"active\"}";
    let stored = eventually("a sample", || prometheus.api().query(active).pop());
    assert_eq!(stored.value, 1.0);
    let refused = eventually("both targets to be scraped", || {
        let targets = prometheus.api().targets();
        targets.into_iter().find(|target| target.labels["job"] == "wrong" && target.health == "down")
    });
    assert!(refused.last_error.contains("401"), "{}", refused.last_error);
    assert!(prometheus.api().query("lease_state{job=\"wrong\"}").is_empty());
}
