//! The programs accept the shipped configuration files.

use std::process::Command;

use serde_json::Value;

use crate::harness::{repository, run};
use crate::servers;

fn shipped(path: &str) -> String {
    let path = repository(path);
    assert!(path.is_file(), "{} is not there", path.display());
    path.to_str().unwrap().to_owned()
}

/// The output of a program, which must succeed.
fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(servers::program(program)).args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{program} {arguments:?}: {said}");
    said
}

#[test]
fn promtool_accepts_the_configuration_of_prometheus_with_the_rules_it_names() {
    for file in ["prometheus.yml", "compose.yml"] {
        let file = shipped(&format!("deploy/prometheus/{file}"));
        let checked = said("promtool", &["check", "config", "--lint-fatal", &file]);
        assert!(checked.contains("2 rule files found"), "{checked}");
        for rules in ["lease.rules.yaml", "lease.alerts.yaml"] {
            assert!(checked.contains(&format!("alerts/{rules}")), "{checked}");
            said("promtool", &["check", "rules", "--lint-fatal", &shipped(&format!("alerts/{rules}"))]);
        }
    }
}

#[test]
fn the_exporter_accepts_the_configuration_of_the_local_stack() {
    let checked = run(&["check", &format!("--config.file={}", shipped("deploy/local/exporter.yml"))]);
    assert_eq!(checked.code, Some(0), "{}", checked.all());
}

fn yaml(path: &str) -> Value {
    serde_saphyr::from_str(&std::fs::read_to_string(shipped(path)).unwrap()).unwrap()
}

/// Without a shared key, the exporters show different tokens for the same holder.
#[test]
fn exporters_of_the_local_stack_share_one_token_key() {
    let named = yaml("deploy/local/exporter.yml")["token_key_file"].as_str().unwrap().to_owned();
    assert!(!named.contains('/'), "{named}");
    shipped(&format!("deploy/local/{named}"));
}

#[test]
fn scrape_interval_is_the_same_in_compose_elsewhere_and_in_grafana() {
    let [shipped, compose] = ["prometheus.yml", "compose.yml"].map(|file| {
        let mut configuration = yaml(&format!("deploy/prometheus/{file}"));
        *configuration.pointer_mut("/alerting/alertmanagers/0/static_configs/0/targets").unwrap() = Value::Null;
        *configuration.pointer_mut("/scrape_configs/0/static_configs/0/targets").unwrap() = Value::Null;
        configuration
    });
    assert_eq!(shipped, compose);
    let source = yaml("deploy/grafana/provisioning/datasources/prometheus.yml");
    assert_eq!(source["datasources"][0]["jsonData"]["timeInterval"], shipped["global"]["scrape_interval"]);
}

/// Grafana does not start with two default data sources, and overwrites a data source of the same name.
#[test]
fn data_source_of_grafana_does_not_replace_others() {
    let source = yaml("deploy/grafana/provisioning/datasources/prometheus.yml")["datasources"][0].take();
    assert_ne!(source["isDefault"], true);
    for name in ["name", "uid"] {
        assert!(source[name].as_str().unwrap().contains("lease-exporter"), "{source}");
    }
}

#[test]
fn amtool_accepts_the_configuration_of_alertmanager_and_routes_by_severity() {
    let configuration = shipped("deploy/alertmanager/alertmanager.yml");
    said("amtool", &["check-config", &configuration]);
    let route = |labels: &[&str]| {
        let file = format!("--config.file={configuration}");
        let told = said("amtool", &[&["config", "routes", "test", &file], labels].concat());
        // What it warns of comes after it.
        told.lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(route(&["alertname=LeaseWorkStalled", "severity=critical"]), "on-call");
    assert_eq!(route(&["alertname=LeaseSourceDown", "severity=warning"]), "team");
    for severity in ["critical", "warning"] {
        assert_eq!(route(&["alertname=SomethingElse", &format!("severity={severity}")]), "nobody");
    }
}
