//! Every metric in a query exists.

use std::collections::BTreeSet;

use lease_exporter::expose;
use lease_exporter::self_metrics::SelfMetrics;

use super::document::Dashboard;
use crate::harness::contents;

/// The names of metrics in an expression: what is left of its words once strings, label lists and functions are gone.
fn metrics(expression: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let mut rest = without_strings(expression);
    while let Some(start) = rest.find(|letter: char| letter.is_ascii_alphabetic() || letter == '_') {
        // A unit, as in `[1d]`, is no name.
        let is_unit = rest[..start].ends_with(|letter: char| letter.is_ascii_digit() || letter == '$');
        let word_on = &rest[start..];
        let end = word_on.find(|letter: char| !(letter.is_ascii_alphanumeric() || "_:".contains(letter)));
        let (word, after) = word_on.split_at(end.unwrap_or(word_on.len()));
        let follows = after.trim_start();
        let after = match word {
            "by" | "on" | "ignoring" | "without" | "group_left" | "group_right" => past(follows, ')'),
            "and" | "or" | "unless" | "bool" | "offset" => after,
            _ if is_unit
                || follows.starts_with('(')
                || follows.starts_with("by ")
                || follows.starts_with("without ") =>
            {
                after
            }
            _ => {
                words.insert(word.to_owned());
                if follows.starts_with('{') { past(follows, '}') } else { after }
            }
        };
        rest = after.to_owned();
    }
    words
}

fn past(text: &str, end: char) -> &str {
    text.split_once(end).map_or("", |(_, after)| after)
}

fn without_strings(expression: &str) -> String {
    expression.split('"').step_by(2).collect::<Vec<_>>().join("\"\"")
}

/// What the rules record.
fn recorded() -> BTreeSet<String> {
    let rules = contents("alerts/lease.rules.yaml");
    rules.lines().filter_map(|line| Some(line.split_once("record: ")?.1.trim().to_owned())).collect()
}

#[test]
fn names_are_found_in_an_expression() {
    let expression = r#"abs(topk by (source) (1, lease_a{lease=~"$lease", x="up"} * ignoring (reason) group_left ()
        sum without (state) (5 * (lease_b == 1) or rate(c[$__rate_interval])))) and on (job) last_over_time(lease:d[1d])"#;
    assert_eq!(metrics(expression).into_iter().collect::<Vec<_>>(), ["c", "lease:d", "lease_a", "lease_b"]);
}

#[test]
fn every_metric_that_a_query_names_exists() {
    let recorded = recorded();
    assert!(recorded.contains("lease:alert_would_fire"), "{recorded:?}");
    let mut known = recorded;
    let exposed = expose::family_names().chain(SelfMetrics::NAMES);
    // Series that Prometheus adds to a scrape, and metrics of the process.
    let besides = ["up", "scrape_duration_seconds", "process_cpu_seconds_total", "process_open_fds"];
    known.extend(exposed.chain(besides).chain(["process_resident_memory_bytes"]).map(str::to_owned));
    let dashboard = Dashboard::shipped();
    let queries = dashboard.queries();
    let queries = queries.iter().map(|query| (query.panel, query.expression()));
    for (place, expression) in queries.chain(dashboard.choices().into_iter().map(|(series, label)| (label, series))) {
        let named = metrics(expression);
        assert!(!named.is_empty(), "{place}: no metric in {expression}");
        for name in named {
            assert!(known.contains(&name), "{place}: {name} does not exist");
        }
    }
}

#[test]
fn only_the_panel_on_alerts_needs_the_recording_rules() {
    let dashboard = Dashboard::shipped();
    let needing: Vec<&str> = dashboard
        .queries()
        .iter()
        .filter(|query| metrics(query.expression()).iter().any(|name| name.contains(':')))
        .map(|query| query.panel)
        .collect();
    assert_eq!(needing, ["What would fire, and what does"]);
}
