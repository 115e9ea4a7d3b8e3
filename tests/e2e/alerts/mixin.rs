//! The mixin renders to the shipped files, and other configurations of it are consistent.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::files::{ALERTS, Copy, RULES, folder, read, rules, text, yaml};
use super::promtool::run;
use crate::harness::repository;

/// Renders an expression, in which `mixin` is the mixin.
fn render(expression: &str) -> Value {
    let mixin = folder().join("mixin/mixin.libsonnet");
    let output = Command::new("jsonnet")
        .args(["--exec", &format!("local mixin = import '{}'; {expression}", mixin.display())])
        .output()
        .unwrap_or_else(|error| panic!("jsonnet: {error}: run `make tools`"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn assert_same(rendered: &Value, shipped: &Value) {
    for (rendered, shipped) in rules(rendered).iter().zip(&rules(shipped)) {
        assert_eq!(rendered, shipped);
    }
    assert_eq!(rendered, shipped);
}

#[test]
fn the_mixin_renders_to_the_shipped_files() {
    assert_same(&render("mixin.prometheusRules"), &yaml(&text(RULES)));
    assert_same(&render("mixin.prometheusAlerts"), &yaml(&text(ALERTS)));
    let shipped = read(&repository("").join("deploy/grafana/lease-exporter.json"));
    assert!(render(DASHBOARD) == yaml(&shipped), "the dashboard differs");
}

/// The dashboard of the mixin.
const DASHBOARD: &str = "mixin.grafanaDashboards['lease-exporter.json']";

#[test]
fn the_mixin_is_formatted() {
    for name in super::files::listed("mixin", ".libsonnet") {
        let output = Command::new("jsonnetfmt").arg("--test").arg(folder().join("mixin").join(&name)).output();
        let output = output.unwrap_or_else(|error| panic!("jsonnetfmt: {error}: run `make tools`"));
        assert!(output.status.success(), "alerts/mixin/{name}: run jsonnetfmt -i");
    }
}

/// The `PrometheusRule` is the two files in one; `UPDATE_GOLDEN=1` writes it anew.
#[test]
fn the_prometheus_rule_is_the_two_files() {
    const HEAD: &str = "# alerts/lease.rules.yaml and alerts/lease.alerts.yaml for the Prometheus Operator; what they do is said there.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: lease-exporter
  labels:
    app.kubernetes.io/name: lease-exporter
spec:
  groups:
";
    let groups = [RULES, ALERTS].map(|name| {
        let text = text(name);
        let (_, groups) = text.split_once("\ngroups:\n").unwrap();
        groups
            .lines()
            .map(|line| if line.is_empty() { "\n".to_owned() } else { format!("  {line}\n") })
            .collect::<String>()
    });
    let written = HEAD.to_owned() + &groups.concat();
    let path = repository("").join("deploy/kubernetes/components/alerts/prometheusrule.yaml");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &written).unwrap();
    }
    let shipped = read(&path);
    assert!(shipped == written, "{} differs; UPDATE_GOLDEN=1 rewrites it", path.display());
    let rendered = render("{ groups: mixin.prometheusRules.groups + mixin.prometheusAlerts.groups }");
    assert_same(&rendered, &yaml(&shipped)["spec"]);
}

/// Configured otherwise in every respect: two clusters have a lease of one name, and another job has series of one name.
const CONFIGURED: &str = r#"
local configured = mixin {
  _config+:: {
    selector: 'job="leases"',
    groupLabels: ['cluster'],
    exporterLabels: ['job'],
    prefix: 'scheduling',
    rulesGroup: 'one',
    alertsGroup: 'two',
    window: '10m',
    takeovers: 2,
    wait+: { LeaseWorkStalled: 240 },
    severity+: { LeaseWorkStalled: 'page' },
    alertLabels: { team: 'scheduling' },
    runbookBase: 'https://runbooks.example/',
  },
};
"#;

#[test]
fn the_mixin_configured_otherwise_still_holds_together() {
    let shown = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &str| std::fs::write(shown.path().join(name), content).unwrap();
    // JSON is YAML.
    write("rules.yaml", &render(&format!("{CONFIGURED} configured.prometheusRules")).to_string());
    write("alerts.yaml", &render(&format!("{CONFIGURED} configured.prometheusAlerts")).to_string());
    let (well_formed, said) =
        run(shown.path(), &["check", "rules", "--lint=all", "--lint-fatal", "rules.yaml", "alerts.yaml"]);
    assert!(well_formed, "{said}");
    write("test.yaml", &test_of_the_configured().to_string());
    let (content, said) = run(shown.path(), &["test", "rules", "test.yaml"]);
    assert!(content, "{said}");
    write("test.yaml", &test_of_the_configured().to_string().replace("240", "210").replace("4m30s", "4m"));
    assert!(!run(shown.path(), &["test", "rules", "test.yaml"]).0, "it can fail");
}

fn test_of_the_configured() -> Value {
    let state = |cluster: &str, job: &str, stuck: bool| {
        ["no_leader", "active", "idle", "stalled", "unknown"].map(|state| {
            let now = state == if stuck { "stalled" } else { "active" };
            let of = format!(
                "cluster=\"{cluster}\",job=\"{job}\",instance=\"a\",source=\"jobs\",lease=\"night\",state=\"{state}\""
            );
            json!({ "series": format!("lease_state{{{of}}}"), "values": format!("{}x60", u8::from(now)) })
        })
    };
    let one =
        |name: &str, labels: &str, values: &str| json!({ "series": format!("{name}{{{labels}}}"), "values": values });
    let east = "cluster=\"east\",job=\"leases\",instance=\"a\",source=\"jobs\"";
    let enabled = format!("{east},lease=\"night\",alert=\"LeaseWorkStalled\"");
    let mut series = Vec::new();
    series.extend(state("east", "leases", true));
    series.extend(state("west", "leases", false));
    series.extend(state("west", "others", true));
    series.push(one("lease_source_up", east, "1x60"));
    series.push(one("lease_alert_enabled", &enabled, "1x60"));
    series.push(one("lease_due", &format!("{east},lease=\"night\""), "3x60"));
    series.push(one("lease_due", "cluster=\"west\",job=\"leases\",source=\"jobs\",lease=\"night\"", "5x60"));
    series.push(one("lease_due", "cluster=\"east\",job=\"others\",source=\"jobs\",lease=\"night\"", "7x60"));
    let would =
        "scheduling:alert_would_fire{cluster=\"east\",source=\"jobs\",lease=\"night\",alert=\"LeaseWorkStalled\"}";
    let fired = json!({
        "exp_labels": { "severity": "page", "team": "scheduling", "cluster": "east", "source": "jobs", "lease": "night" },
        "exp_annotations": {
            "summary": "The work of lease \"night\" of source \"jobs\" is due and does not move.",
            "description": "Last renewed: not known. Last progress: not known; the limit is not known. Work due: 3; \
                the oldest for: not known. Reason now: not known.",
            "runbook_url": "https://runbooks.example/LeaseWorkStalled.md",
        },
    });
    json!({
        "rule_files": ["rules.yaml", "alerts.yaml"],
        "evaluation_interval": "30s",
        "group_eval_order": ["one", "two"],
        "tests": [{
            "interval": "30s",
            "input_series": series,
            "promql_expr_test": [
                { "expr": "scheduling:alert_would_fire", "eval_time": "4m", "exp_samples": [] },
                { "expr": "scheduling:alert_would_fire", "eval_time": "4m30s", "exp_samples": [{ "labels": would, "value": 1 }] },
                {
                    "expr": "scheduling:alert_wait_seconds{alert=\"LeaseWorkStalled\"}",
                    "eval_time": "4m30s",
                    "exp_samples": [{ "labels": "scheduling:alert_wait_seconds{alert=\"LeaseWorkStalled\"}", "value": 240 }],
                },
            ],
            "alert_rule_test": [{ "alertname": "LeaseWorkStalled", "eval_time": "5m", "exp_alerts": [fired] }],
        }],
    })
}

#[test]
fn a_folder_of_runbooks_may_end_with_a_slash_or_not() {
    for base in ["https://runbooks.example/at", "https://runbooks.example/at/"] {
        let of = format!("(mixin {{ _config+:: {{ runbookBase: '{base}' }} }})");
        let alert = &rules(&render(&format!("{of}.prometheusAlerts")))[0];
        assert_eq!(alert["annotations"]["runbook_url"], "https://runbooks.example/at/LeaseNoLeader.md");
        let dashboard = render(&DASHBOARD.replace("mixin", &of));
        let variables = dashboard["templating"]["list"].as_array().unwrap();
        let runbooks = variables.iter().find(|variable| variable["name"] == "runbooks").unwrap();
        for at in ["/query", "/current/text", "/current/value"] {
            assert_eq!(runbooks.pointer(at).unwrap(), "https://runbooks.example/at", "{at}");
        }
    }
}

/// The shipped dashboard does not choke on the series of a mixin that tells clusters apart; the rendered one does too.
#[test]
fn dashboard_shows_pending_alerts_of_equal_leases_in_two_clusters() {
    const PANEL: &str = "What would fire, and what does";
    let would = |cluster: &str, prefix: &str| {
        format!("{prefix}:alert_would_fire{{cluster=\"{cluster}\",source=\"s\",lease=\"l\",alert=\"LeaseNoLeader\"}}")
    };
    let shown = tempfile::tempdir().unwrap();
    let gives = |dashboard: &Value, prefix: &str, expected: Value| {
        let panels = dashboard["panels"].as_array().unwrap();
        let panel = panels.iter().find(|panel| panel["title"] == PANEL).unwrap();
        let query = panel["targets"][0]["expr"].as_str().unwrap();
        let query = ["cluster", "source", "lease"]
            .iter()
            .fold(query.to_owned(), |query, variable| query.replace(&format!("=~\"${variable}\""), "=~\".+\""));
        // West alone has asked, and there alone nothing is wrong in between.
        let series = [
            (would("east", prefix), "1x3"),
            (would("west", prefix), "1 1 stale 1"),
            (would("west", prefix).replace("would_fire", "enabled"), "1x3"),
        ];
        let series = series.map(|(series, values)| json!({ "series": series, "values": values }));
        let asked = ["1m", "2m"]
            .iter()
            .zip(expected.as_array().unwrap())
            .map(|(time, samples)| json!({ "expr": query, "eval_time": time, "exp_samples": samples }));
        let test = json!({ "evaluation_interval": "1m", "tests": [{ "interval": "1m", "input_series": series,
            "promql_expr_test": asked.collect::<Vec<_>>() }] });
        std::fs::write(shown.path().join("test.yaml"), test.to_string()).unwrap();
        let (content, said) = run(shown.path(), &["test", "rules", "test.yaml"]);
        assert!(content, "{said}");
    };
    let one = |labels: &str, value: u8| json!({ "labels": format!("{{{labels}}}"), "value": value });
    let of = "source=\"s\",lease=\"l\",alert=\"LeaseNoLeader\"";
    // One that is not enabled here does not count as firing because it is enabled there.
    gives(&render(DASHBOARD), "lease", json!([[one(of, 2)], [one(of, 1)]]));
    let (east, west) = (format!("cluster=\"east\",{of}"), format!("cluster=\"west\",{of}"));
    let configured = render(&format!("{CONFIGURED} {}", DASHBOARD.replace("mixin", "configured")));
    gives(&configured, "scheduling", json!([[one(&east, 1), one(&west, 2)], [one(&east, 1)]]));
}

/// Each query of the rendered dashboard is one, of the chosen clusters alone, and its legends and tables tell them apart.
#[test]
fn the_dashboard_tells_clusters_apart_where_the_rules_do() {
    let dashboard = render(&format!("{CONFIGURED} {}", DASHBOARD.replace("mixin", "configured")));
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    let named: Vec<_> = variables.iter().map(|variable| variable["name"].as_str().unwrap()).collect();
    assert_eq!(named, ["datasource", "runbooks", "cluster", "source", "lease"]);
    let asked: Vec<_> = variables[2..].iter().map(|variable| variable["query"]["query"].as_str().unwrap()).collect();
    let expected = [
        "label_values(lease_source_up, cluster)",
        "label_values(lease_source_up{cluster=~\"$cluster\"}, source)",
        "label_values(lease_state{cluster=~\"$cluster\", source=~\"$source\"}, lease)",
    ];
    assert_eq!(asked, expected);
    let mut records = Vec::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().into_iter().flatten() {
            let query = target["expr"].as_str().unwrap();
            let sources = query.matches("source=~\"$source\"").count();
            assert_eq!(query.matches("{cluster=~\"$cluster\", source=~\"$source\"").count(), sources, "{query}");
            for word in ["by (source", "on (source", "by (instance", "lease:"] {
                assert!(!query.contains(word), "{query}");
            }
            let legend = target["legendFormat"].as_str().unwrap_or_default();
            let names_one = ["{{source}}", "{{instance}}"].iter().any(|label| legend.contains(label));
            assert_eq!(legend.contains("{{cluster}}"), names_one, "{legend}");
            let query = query.replace("$__rate_interval", "1m");
            records.push(json!({ "record": format!("shown:{}", records.len()), "expr": query }));
        }
        for step in panel["transformations"].as_array().into_iter().flatten().filter(|step| step["id"] == "organize") {
            let keys = |of: &str| step["options"][of].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
            assert!(keys("indexByName").contains(&"cluster".to_owned()), "{step}");
            assert_eq!(keys("indexByName"), keys("renameByName"));
        }
    }
    assert!(dashboard.to_string().contains("&var-cluster=${__data.fields.cluster:percentencode}&var-source="));
    let shown = tempfile::tempdir().unwrap();
    let group = json!({ "groups": [{ "name": "shown", "rules": records }] });
    std::fs::write(shown.path().join("shown.yaml"), group.to_string()).unwrap();
    let (well_formed, said) = run(shown.path(), &["check", "rules", "--lint=none", "shown.yaml"]);
    assert!(well_formed, "{said}");
}

/// Every test of the rules holds for those of a mixin that tells clusters apart, once its series say of which they are.
#[test]
fn the_mixin_that_tells_clusters_apart_does_all_that_the_rules_do() {
    let configured =
        "local configured = mixin { _config+:: { selector: 'job=\"lease-exporter\"', groupLabels: ['cluster'] } };";
    let rendered = |field: &str| render(&format!("{configured} configured.{field}")).to_string();
    let copy = Copy::new(&rendered("prometheusRules"), &rendered("prometheusAlerts"));
    let tests = copy.folder().join("tests");
    // What an alert says in full is checked above, of the mixin that is configured otherwise in every respect.
    let names = super::files::listed("tests", ".yaml").into_iter().filter(|name| name != "texts.yaml");
    for name in names {
        let test = read(&tests.join(&name));
        let of_a_cluster = test
            .replace("{source=", "{cluster=\"east\",source=")
            .replace(",source=", ",cluster=\"east\",source=")
            .replace("cluster=\"east\",cluster=\"east\",", "cluster=\"east\",")
            .replace("{version=", "{cluster=\"east\",version=")
            .replace("(alertname, source, lease)", "(alertname, cluster, source, lease)");
        std::fs::write(tests.join(&name), of_a_cluster).unwrap();
        let (content, said) = run(&tests, &["test", "rules", &name]);
        assert!(content, "{name}: {said}");
    }
}

/// Whoever has no dashboard renders the rules all the same.
#[test]
fn the_dashboard_is_looked_for_only_when_it_is_asked_for() {
    let alone = tempfile::tempdir().unwrap();
    for name in super::files::listed("mixin", ".libsonnet") {
        std::fs::copy(folder().join("mixin").join(&name), alone.path().join(&name)).unwrap();
    }
    let rendered = |field: &str| {
        let mixin: &Path = &alone.path().join("mixin.libsonnet");
        let expression = format!("(import '{}').{field}", mixin.display());
        Command::new("jsonnet").args(["--exec", &expression]).output().unwrap().status.success()
    };
    assert!(rendered("prometheusRules") && rendered("prometheusAlerts"));
    assert!(!rendered("grafanaDashboards"), "it is not there");
}
