//! All that is written of the alerts agrees: the exporter's names, the rules', the runbooks', the README's.

use std::collections::BTreeSet;

use lease_exporter::expose;
use lease_exporter::lease::{Alert, LeaseKind, Reason, State};
use lease_exporter::self_metrics::SelfMetrics;

use super::files::{ALERTS, RULES, folder, listed, rules, text, yaml};

type Names = BTreeSet<String>;

fn names<'a>(of: impl IntoIterator<Item = &'a str>) -> Names {
    of.into_iter().map(str::to_owned).collect()
}

/// The names of the exporter's alerts, in its order.
fn alerts() -> Vec<&'static str> {
    Alert::ALL.iter().map(|alert| alert.as_str()).collect()
}

/// What looks like the name of a series that begins so. What a text says of `lease_state{…}` counts; a label does not.
fn series_in(text: &str, beginning: &str) -> Names {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let found = text.split(|c| !part(c)).map(|word| word.trim_end_matches(':'));
    found.filter(|word| word.starts_with(beginning) && *word != beginning).map(str::to_owned).collect()
}

fn recorded() -> Names {
    rules(&yaml(&text(RULES))).iter().map(|rule| rule["record"].as_str().unwrap().to_owned()).collect()
}

/// Everything that says something of series: rules, alerts, mixin, runbooks and README.
fn all_texts() -> Vec<(String, String)> {
    let mut found = vec![RULES.to_owned(), ALERTS.to_owned(), "README.md".to_owned()];
    found.extend(listed("runbooks", ".md").into_iter().map(|name| format!("runbooks/{name}")));
    found.extend(listed("mixin", ".libsonnet").into_iter().map(|name| format!("mixin/{name}")));
    found.into_iter().map(|name| (text(&name), name)).map(|(text, name)| (name, text)).collect()
}

#[test]
fn the_alerts_are_those_that_the_exporter_can_enable() {
    let file = yaml(&text(ALERTS));
    let rules = rules(&file);
    let fired: Vec<_> = rules.iter().map(|rule| rule["alert"].as_str().unwrap()).collect();
    assert_eq!(fired, alerts());
    let recorded = super::files::rules(&yaml(&text(RULES)));
    for of in ["lease:alert_condition", "lease:alert_wait_seconds"] {
        let of_each: Vec<_> = recorded.iter().filter(|rule| rule["record"] == of).collect();
        let of_each: Vec<_> = of_each.iter().map(|rule| rule["labels"]["alert"].as_str().unwrap()).collect();
        assert_eq!(of_each, alerts(), "{of}");
    }
}

#[test]
fn every_metric_is_one_that_the_exporter_exposes() {
    let mut exposed = names(expose::family_names().chain(SelfMetrics::NAMES));
    // The mixin's own words.
    exposed.extend(names(["lease_exporter"]));
    for (name, text) in all_texts() {
        for metric in series_in(&text, "lease_") {
            assert!(exposed.contains(&metric), "{name}: {metric}");
        }
    }
}

/// What the exporter refuses to drop while an alert is named is what the rules read.
#[test]
fn the_alerts_stand_on_what_the_rules_read() {
    let read: Names = rules(&yaml(&text(RULES)))
        .iter()
        .flat_map(|rule| series_in(rule["expr"].as_str().unwrap(), "lease_"))
        .filter(|metric| !SelfMetrics::NAMES.contains(&metric.as_str()))
        .collect();
    assert_eq!(read, names(expose::REQUIRED_BY_ALERTS));
}

#[test]
fn every_recorded_series_is_recorded_and_in_the_readme() {
    let recorded = recorded();
    for (name, text) in all_texts() {
        for series in series_in(&text, "lease:") {
            assert!(recorded.contains(&series), "{name}: {series}");
        }
    }
    let told: Names =
        text("README.md").lines().filter_map(|line| line.strip_prefix("| `lease:")).map(first_name).collect();
    assert_eq!(told, recorded);
}

/// The name at the beginning of a row of the README's table of series.
fn first_name(row: &str) -> String {
    format!("lease:{}", row.split(['{', '`']).next().unwrap())
}

#[test]
fn every_label_value_is_one_that_the_exporter_gives() {
    for (name, text) in all_texts() {
        let given = |label: &str| {
            let mut values = Names::new();
            for operator in ["=\"", "=~\"", "!=\""] {
                let beginning = format!("{label}{operator}");
                let after = text.split(&beginning).skip(1);
                let alternatives = after.flat_map(|rest| rest.split('"').next().unwrap().split('|'));
                values.extend(
                    alternatives.filter(|value| !value.is_empty() && !value.contains(['%', '.'])).map(str::to_owned),
                );
            }
            values
        };
        let mut states = names(State::ALL.map(|state| state.as_str()));
        states.extend(names(["held", "vacant", "expired"]));
        assert!(given("state").is_subset(&states), "{name}: {:?}", given("state"));
        assert!(
            given("reason").is_subset(&names(Reason::ALL.map(|reason| reason.as_str()))),
            "{name}: {:?}",
            given("reason")
        );
        assert!(given("alert").is_subset(&names(alerts())), "{name}: {:?}", given("alert"));
        assert!(
            given("kind").is_subset(&names(LeaseKind::ALL.map(|kind| kind.as_str()))),
            "{name}: {:?}",
            given("kind")
        );
    }
}

#[test]
fn every_alert_has_its_runbook_and_every_runbook_its_alert() {
    const HEADINGS: [&str; 6] = ["Meaning", "Impact", "Confirm", "What to do", "Silence it", "False alarms"];
    let expected: Vec<_> = alerts().iter().map(|alert| format!("{alert}.md")).collect::<Names>().into_iter().collect();
    assert_eq!(listed("runbooks", ".md"), expected);
    for alert in alerts() {
        let runbook = text(&format!("runbooks/{alert}.md"));
        assert!(runbook.starts_with(&format!("# {alert}\n")), "{alert}");
        let headings: Vec<_> = runbook.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        assert_eq!(headings, HEADINGS, "{alert}");
        for needed in ["SIGHUP", "amtool silence add", &format!("alertname={alert}")] {
            assert!(runbook.contains(needed), "{alert} does not tell of {needed}");
        }
    }
    for rule in rules(&yaml(&text(ALERTS))) {
        let (alert, url) = (rule["alert"].as_str().unwrap(), rule["annotations"]["runbook_url"].as_str().unwrap());
        assert!(url.ends_with(&format!("/alerts/runbooks/{alert}.md")), "{url}");
    }
}

/// Once its labels are filled in, every query of a runbook or of the README is one that Prometheus understands.
#[test]
fn every_query_that_is_shown_can_be_run() {
    let folder = tempfile::tempdir().unwrap();
    let mut records = Vec::new();
    for (name, text) in all_texts().into_iter().filter(|(name, _)| name.ends_with(".md")) {
        let blocks = text.split("```promql\n").skip(1).map(|block| block.split("```").next().unwrap());
        let before = records.len();
        for query in blocks.flat_map(|block| block.lines()).filter(|line| !line.trim().is_empty()) {
            records.push(serde_json::json!({ "record": format!("shown:{}", records.len()), "expr": query.trim() }));
        }
        assert!(records.len() > before, "{name} shows no query");
    }
    let group = serde_json::json!({ "groups": [{ "name": "shown", "rules": records }] });
    std::fs::write(folder.path().join("shown.yaml"), group.to_string()).unwrap();
    let (well_formed, said) = super::promtool::run(folder.path(), &["check", "rules", "--lint=none", "shown.yaml"]);
    assert!(well_formed, "{said}");
}

/// The table of alerts is what the rules say.
#[test]
fn the_readme_gives_each_alerts_wait_and_severity() {
    let waits = rules(&yaml(&text(RULES)));
    let waits = waits.iter().filter(|rule| rule["record"] == "lease:alert_wait_seconds");
    let severities = rules(&yaml(&text(ALERTS)));
    let readme = text("README.md");
    for (wait, rule) in waits.zip(&severities) {
        let alert = rule["alert"].as_str().unwrap();
        let seconds = wait["expr"].as_str().unwrap().trim_start_matches("vector(").trim_end_matches(')');
        let ending = format!("| {seconds}s | {} |", rule["labels"]["severity"].as_str().unwrap());
        let beginning = format!("| [`{alert}`](runbooks/{alert}.md) |");
        let row =
            readme.lines().find(|line| line.starts_with(&beginning)).unwrap_or_else(|| panic!("no row {beginning}"));
        assert!(row.ends_with(&ending), "{row}: {ending}");
    }
    assert!(folder().join("README.md").is_file());
}
