//! Every file that is shipped is one that the program it is for accepts.

use std::path::Path;
use std::process::Command;

use crate::harness::run;
use crate::servers;

fn shipped(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    assert!(path.is_file(), "{} is not there", path.display());
    path.to_str().unwrap().to_owned()
}

/// What a program says, which has to be a success.
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
    assert_eq!(route(&["alertname=SomethingElse"]), "nobody");
}
