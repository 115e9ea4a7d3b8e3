//! Results of the queries if several exporters disagree about a lease, by promtool.

use std::process::Command;

use serde_json::{Value, json};

use super::document::Dashboard;
use super::grafana::{Choice, interpolated};
use crate::harness::store::folder;
use crate::servers::program;

const STATES: [&str; 5] = ["no_leader", "active", "idle", "stalled", "unknown"];

/// The series of a lease from the exporters `a`, `b`, ….
fn said(lease: &str, by: &[(&str, &str)]) -> Vec<Value> {
    let row = |name: &str, exporter: usize, label: &str, value: &str, shown: u8| {
        let instance = ["a", "b", "c"][exporter];
        json!({
            "series": format!("{name}{{source=\"s\",lease=\"{lease}\",job=\"j\",instance=\"{instance}\",{label}=\"{value}\"}}"),
            "values": format!("{shown}x3"),
        })
    };
    let mut rows = Vec::new();
    for (exporter, (state, reason)) in by.iter().enumerate() {
        rows.extend(STATES.map(|one| row("lease_state", exporter, "state", one, u8::from(one == *state))));
        rows.push(row("lease_state_reason", exporter, "reason", reason, 1));
    }
    rows
}

fn holder(lease: &str, instance: &str, token: &str) -> Value {
    let labels = format!("source=\"s\",lease=\"{lease}\",job=\"j\",instance=\"{instance}\",holder=\"{token}\"");
    json!({ "series": format!("lease_holder_info{{{labels}}}"), "values": "1x3" })
}

/// Checks the result of a panel query for given series with promtool.
fn gives(series: &[Value], panel: &str, letter: &str, expected: &[(&str, f64)]) {
    let dashboard = Dashboard::shipped();
    let panel = dashboard.panel(panel);
    let expression = interpolated(panel.query(letter).expression(), Choice::All, Choice::All, 60, 60);
    let samples: Vec<_> = expected.iter().map(|(labels, value)| json!({ "labels": labels, "value": value })).collect();
    let tests = json!({ "evaluation_interval": "1m", "tests": [{ "interval": "1m", "input_series": series,
        "promql_expr_test": [{ "expr": expression, "eval_time": "3m", "exp_samples": samples }] }] });
    let folder = folder();
    let path = folder.path().join("tests.yaml");
    std::fs::write(&path, tests.to_string()).unwrap();
    let output = Command::new(program("promtool")).args(["test", "rules"]).arg(&path).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.contains("SUCCESS"), "{} {letter}: {told}", panel.title());
}

fn three_leases() -> Vec<Value> {
    let split = [("active", "progressing"), ("stalled", "no_progress"), ("unknown", "store_timeout")];
    let mut rows = said("split", &split);
    rows.extend(said("calm", &[("idle", "nothing_due"), ("unknown", "store_timeout")]));
    rows.extend(said("dark", &[("unknown", "store_timeout"), ("unknown", "store_timeout")]));
    rows
}

#[test]
fn known_state_wins_over_unknown_and_the_worse_of_two_known_states_wins() {
    let states = [
        (r#"{source="s", lease="calm"}"#, 2.0),
        (r#"{source="s", lease="dark"}"#, 3.0),
        (r#"{source="s", lease="split"}"#, 5.0),
    ];
    gives(&three_leases(), "State of each lease", "A", &states);
}

#[test]
fn the_table_has_one_row_a_lease_with_the_reason_of_the_state_that_it_shows() {
    let rows = [
        (r#"{source="s", lease="calm", reason="nothing_due"}"#, 2.0),
        (r#"{source="s", lease="dark", reason="store_timeout"}"#, 3.0),
        (r#"{source="s", lease="split", reason="no_progress"}"#, 5.0),
    ];
    gives(&three_leases(), "Leases, worst first", "A", &rows);
}

#[test]
fn leases_are_counted_and_without_an_exporter_there_is_no_count_at_all() {
    for (letter, number) in [("A", 1.0), ("B", 0.0), ("C", 1.0), ("D", 1.0), ("E", 1.0)] {
        gives(&three_leases(), "Leases by state, worst first", letter, &[("{}", number)]);
        gives(&[], "Leases by state, worst first", letter, &[]);
    }
}

#[test]
fn holder_is_named_only_if_all_exporters_agree() {
    let holders = [
        holder("one", "a", "f00d"),
        holder("one", "b", "f00d"),
        holder("two", "a", "f00d"),
        holder("two", "b", "beef"),
    ];
    let named = (r#"{source="s", lease="one", holder="f00d"}"#, 1.0);
    gives(&holders, "Leases, worst first", "J", &[named]);
}

#[test]
fn an_exporter_that_is_down_stays_in_the_table() {
    let series = [
        json!({ "series": r#"up{job="j", instance="a"}"#, "values": "1 1 0 0" }),
        json!({ "series": r#"lease_exporter_build_info{job="j", instance="a", version="1"}"#, "values": "1 1 stale" }),
        json!({ "series": r#"up{job="database", instance="b"}"#, "values": "1x3" }),
    ];
    gives(&series, "Exporters", "A", &[(r#"{instance="a"}"#, 0.0)]);
}

fn counted(name: &str, instance: &str, values: &str) -> Value {
    let labels = format!("source=\"s\",job=\"j\",instance=\"{instance}\",reason=\"r\"");
    json!({ "series": format!("{name}{{{labels}}}"), "values": values })
}

#[test]
fn a_row_that_two_exporters_reject_counts_once() {
    let rejected = |instance, values| counted("lease_source_rows_rejected_total", instance, values);
    let series = [rejected("a", "0 2 4 6"), rejected("b", "0 1 2 3")];
    gives(&series, "Rows rejected, by reason", "A", &[(r#"{reason="r"}"#, 6.0)]);
}

#[test]
fn failed_reads_are_those_of_each_exporter() {
    let failed = |instance, values| counted("lease_source_read_failures_total", instance, values);
    let series = [failed("a", "0 2 4 6"), failed("b", "0 0 0 0")];
    let expected = [(r#"{instance="a", reason="r"}"#, 6.0), (r#"{instance="b", reason="r"}"#, 0.0)];
    gives(&series, "Failed reads, by reason", "A", &expected);
}
