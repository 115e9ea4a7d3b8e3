//! The dashboard file has nothing that Grafana would refuse or draw wrongly.

use std::collections::BTreeSet;

use lease_exporter::lease::State;
use serde_json::Value;

use super::document::{Dashboard, file, list, text};
use crate::harness::contents;

/// The value of variables if everything is chosen. It also matches later leases.
pub(super) const ALL_VALUE: &str = ".+";

/// The panel types that Grafana includes.
const PLUGINS: [&str; 5] = ["row", "stat", "state-timeline", "table", "timeseries"];

#[test]
fn boxes_have_ids_of_their_own_and_do_not_overlap() {
    let dashboard = Dashboard::shipped();
    let mut ids = BTreeSet::new();
    let mut taken = BTreeSet::new();
    for panel in dashboard.boxes() {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "an id twice: {}", panel["title"]);
        assert!(PLUGINS.contains(&text(panel, "type")), "not of Grafana's core: {}", panel["type"]);
        let [x, y, w, h] = ["x", "y", "w", "h"].map(|side| panel["gridPos"][side].as_u64().unwrap());
        assert!(x + w <= 24, "{} is too wide", panel["title"]);
        for cell in (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y))) {
            assert!(taken.insert(cell), "{} lies on another", panel["title"]);
        }
    }
    assert_eq!(dashboard.json()["schemaVersion"], 39);
    assert_eq!(dashboard.json()["id"], Value::Null, "an id of one Grafana means nothing to another");
}

#[test]
fn every_panel_says_what_it_is_in_what_unit_and_from_which_data_source() {
    let dashboard = Dashboard::shipped();
    let source = serde_json::json!({ "type": "prometheus", "uid": "${datasource}" });
    for panel in dashboard.panels() {
        let title = panel.title();
        assert!(!title.is_empty());
        let description = text(panel.json(), "description");
        assert!(description.len() > 60 && description.ends_with('.'), "{title}: {description:?}");
        assert_eq!(panel.json()["datasource"], source, "{title}");
        assert!(!text(&panel.json()["fieldConfig"]["defaults"], "unit").is_empty(), "{title}");
        let mut letters = BTreeSet::new();
        for query in panel.queries() {
            assert_eq!(query.json()["datasource"], source, "{title}");
            assert!(letters.insert(query.letter()), "{title}: {} twice", query.letter());
            let is_table = query.json()["format"] == "table";
            assert_eq!(is_table, panel.kind() == "table", "{title}: as what the answer comes");
            assert_eq!(query.is_instant(), ["table", "stat"].contains(&panel.kind()), "{title}: now, or over time");
        }
    }
}

#[test]
fn missing_values_are_not_drawn() {
    let dashboard = Dashboard::shipped();
    for panel in dashboard.panels() {
        let defaults = &panel.json()["fieldConfig"]["defaults"];
        if ["timeseries", "state-timeline"].contains(&panel.kind()) {
            assert_eq!(defaults["custom"]["spanNulls"], false, "{}", panel.title());
            // A `noValue` text would fill the gaps of a timeline.
            assert_eq!(defaults["noValue"], Value::Null, "{}", panel.title());
        }
        for query in panel.queries() {
            let words = query.expression();
            assert!(!words.contains("vector(") && !words.contains("absent"), "{}: {words}", panel.title());
        }
        for changed in panel.overrides().iter().flat_map(|entry| list(entry, "properties")) {
            assert!(changed["id"] != "custom.spanNulls" && changed["id"] != "noValue", "{}", panel.title());
        }
    }
}

#[test]
fn variables_are_used_as_regular_expressions_and_no_others_are() {
    let dashboard = Dashboard::shipped();
    let declared: BTreeSet<&str> = dashboard.variables().iter().map(|variable| text(variable, "name")).collect();
    assert_eq!(declared, BTreeSet::from(["datasource", "lease", "runbooks", "source"]));
    for variable in dashboard.variables().iter().filter(|variable| variable["type"] == "query") {
        let name = text(variable, "name");
        assert!(variable["multi"] == true && variable["includeAll"] == true, "{name}");
        assert_eq!(variable["allValue"], ALL_VALUE, "{name}");
    }
    let mut used = BTreeSet::from(["datasource"]);
    for query in dashboard.queries() {
        let words = query.expression();
        for name in ["source", "lease"] {
            let times = words.matches(&format!("${name}")).count();
            assert_eq!(times, words.matches(&format!("{name}=~\"${name}\"")).count(), "{}: {words}", query.panel);
            if times > 0 {
                used.insert(name);
            }
        }
        let others = words.replace("$source", "").replace("$lease", "").replace("$__rate_interval", "");
        assert!(!others.contains('$'), "{}: {words}", query.panel);
    }
    let whole = dashboard.json().to_string();
    for link in whole.split("${").skip(1).filter_map(|rest| rest.split(['}', ':']).next()) {
        let is_builtin = link.starts_with("__");
        assert!(is_builtin || declared.contains(link), "${{{link}}} is not declared");
        used.extend(declared.get(link));
    }
    assert_eq!(used, declared, "what is declared is used");
}

#[test]
fn every_state_has_its_word_and_a_colour_of_its_own() {
    let dashboard = Dashboard::shipped();
    let mappings = |json: &Value| -> BTreeSet<(String, String)> {
        let options = list(json, "mappings")[0]["options"].as_object().unwrap();
        options.values().map(|to| (text(to, "text").to_owned(), text(to, "color").to_owned())).collect()
    };
    let words: BTreeSet<String> = State::ALL.iter().map(|state| state.as_str().replace('_', " ")).collect();
    let timeline = mappings(&dashboard.panel("State of each lease").json()["fieldConfig"]["defaults"]);
    assert_eq!(timeline.iter().map(|(word, _)| word.clone()).collect::<BTreeSet<_>>(), words);
    assert_eq!(timeline.iter().map(|(_, colour)| colour).collect::<BTreeSet<_>>().len(), words.len());
    let counts = dashboard.panel("Leases by state, worst first");
    for (word, colour) in &timeline {
        let entry = counts.overrides().iter().find(|entry| entry["matcher"]["options"] == **word);
        let thresholds = &entry.unwrap_or_else(|| panic!("no colour for {word}"))["properties"][0]["value"];
        assert_eq!(list(thresholds, "steps")[1]["color"], **colour, "{word}");
        assert!(counts.queries().iter().any(|query| query.json()["legendFormat"] == **word), "{word}");
    }
    let table = dashboard.panel("Leases, worst first");
    let column = table.overrides().iter().find(|entry| entry["matcher"]["options"] == "State").unwrap();
    let property = list(column, "properties").iter().find(|property| property["id"] == "mappings").unwrap();
    assert_eq!(mappings(&serde_json::json!({ "mappings": property["value"] })), timeline);
}

#[test]
fn documented_columns_exist() {
    let dashboard = Dashboard::shipped();
    for panel in dashboard.panels().iter().filter(|panel| panel.kind() == "table") {
        let organize = list(panel.json(), "transformations").iter().find(|step| step["id"] == "organize").unwrap();
        let renamed = organize["options"]["renameByName"].as_object().unwrap();
        let order = organize["options"]["indexByName"].as_object().unwrap();
        let titles: BTreeSet<&str> = renamed.values().map(|title| title.as_str().unwrap()).collect();
        assert_eq!(renamed.keys().collect::<Vec<_>>(), order.keys().collect::<Vec<_>>(), "{}", panel.title());
        for entry in panel.overrides().iter().filter(|entry| entry["matcher"]["id"] == "byName") {
            let title = text(&entry["matcher"], "options");
            assert!(titles.contains(title), "{}: no column {title}", panel.title());
        }
        for sorted in list(&panel.json()["options"], "sortBy") {
            assert!(titles.contains(text(sorted, "displayName")), "{}: {sorted}", panel.title());
        }
        let letters: BTreeSet<String> =
            panel.queries().iter().map(|query| format!("Value #{}", query.letter())).collect();
        let excluded = organize["options"]["excludeByName"].as_object().unwrap();
        for column in renamed.keys().chain(excluded.keys()).filter(|column| column.starts_with("Value #")) {
            assert!(letters.contains(column), "{}: no query of {column}", panel.title());
        }
    }
}

#[test]
fn runbooks_are_linked_to_where_the_alerts_say_that_they_are() {
    let dashboard = Dashboard::shipped();
    let variable = dashboard.variables().iter().find(|variable| variable["name"] == "runbooks").unwrap();
    let alerts = contents("alerts/lease.alerts.yaml");
    let told: BTreeSet<&str> = alerts
        .lines()
        .filter_map(|line| line.split_once("runbook_url: ")?.1.rsplit_once('/'))
        .map(|(folder, _)| folder)
        .collect();
    assert_eq!(told, BTreeSet::from([text(variable, "query")]));
    assert_eq!(text(&variable["current"], "value"), text(variable, "query"));
}

#[test]
fn grafana_provisioning_names_prometheus_and_the_dashboard_folder() {
    let source: Value = serde_saphyr::from_str(&file("provisioning/datasources/prometheus.yml")).unwrap();
    let source = &list(&source, "datasources")[0];
    assert_eq!((text(source, "type"), text(source, "url")), ("prometheus", "http://prometheus:9090"));
    let boards: Value = serde_saphyr::from_str(&file("provisioning/dashboards/lease-exporter.yml")).unwrap();
    let provider = &list(&boards, "providers")[0];
    assert_eq!(text(provider, "type"), "file");
    let folder = text(&provider["options"], "path");
    let compose = contents("deploy/compose.yaml");
    assert!(compose.contains("./grafana/provisioning:/etc/grafana/provisioning:ro"), "{compose}");
    assert!(compose.contains(&format!("./grafana/lease-exporter.json:{folder}/")), "{compose}");
}
