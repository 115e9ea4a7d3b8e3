//! Alerts are off by default; a stall notifies once after opt-in, and not after opt-out.

use std::collections::BTreeMap;

use rustix::process::{Signal, kill_process};
use serde_json::Value;

use super::local::{Choice, Local, evaluations};
use crate::harness::{Webhook, eventually};
use crate::servers::{Database, Kind, PrometheusApi, Server};

/// Time for pending notifications: rules and alert groups are evaluated each second.
const A_WHILE: usize = 5;

/// The schedulers use this database, and their lease outlives its outages.
fn up(database: &Database, webhook: &Webhook) -> Local {
    let owner = database.owner();
    let password_file = owner.password_file().to_str().unwrap();
    let store = ["--store", owner.url(), "--password-file", password_file];
    Local::up(&[&store[..], &["--ttl", "1h", "--webhook", &webhook.url()]].concat())
}

/// Waits until both exporters report a state and reason of the lease.
fn until_both_say(api: PrometheusApi, state: &str) {
    let said = format!("lease_state{{source=\"documents\",lease=\"planner\",state=\"{state}\"}} == 1");
    eventually(&format!("both exporters to say {state}"), || (api.query(&said).len() == 2).then_some(()));
}

/// Waits until the condition of an alert holds for the lease, whether or not it is enabled.
fn until_would_fire(api: PrometheusApi, alert: &str) {
    let would = format!("lease:alert_would_fire{{alert=\"{alert}\",lease=\"planner\",source=\"documents\"}}");
    eventually(&format!("{alert} to be what would fire"), || (api.query(&would).len() == 1).then_some(()));
}

fn is_firing(api: PrometheusApi) {
    let alerts = api.alerts();
    assert_eq!(alerts.len(), 1, "{alerts:?}");
    assert_eq!((alerts[0].labels["alertname"].as_str(), alerts[0].state.as_str()), ("LeaseWorkStalled", "firing"));
}

/// Checks the number of notifications, and that the last has only this alert with this text.
fn is_last_told(webhook: &Webhook, number: usize, status: &str) {
    let told = webhook.notifications();
    assert_eq!(told.len(), number, "{told:#?}");
    let last = told.last().unwrap();
    assert_eq!((last["status"].as_str(), last["alerts"].as_array().map(Vec::len)), (Some(status), Some(1)), "{last:#}");
    let labels: BTreeMap<String, Value> = serde_json::from_value(last["alerts"][0]["labels"].clone()).unwrap();
    let expected =
        [("alertname", "LeaseWorkStalled"), ("lease", "planner"), ("severity", "critical"), ("source", "documents")];
    assert_eq!(labels, expected.map(|(name, value)| (name.to_owned(), Value::from(value))).into());
    assert!(
        last["alerts"][0]["annotations"]["summary"].as_str().is_some_and(|text| text.contains("planner")),
        "{last:#}"
    );
}

#[test]
fn a_stall_pages_nobody_until_opted_in_then_once_through_an_outage_and_no_more_once_opted_out() {
    let server = Server::start(Kind::Postgres, &[]);
    let database = server.database();
    let webhook = Webhook::listen();
    let local = up(&database, &webhook);
    let api = local.prometheus();
    until_both_say(api, "active");
    let began = api.now();

    // Disabled: the state shows, and nothing is sent.
    kill_process(local.leader(), Signal::USR1).unwrap();
    until_both_say(api, "stalled");
    until_would_fire(api, "LeaseWorkStalled");
    evaluations(api, A_WHILE, || assert_eq!(api.alerts(), []));
    assert_eq!(webhook.notifications(), [] as [Value; 0]);

    // Enabled for this lease: one notification, although two exporters report it.
    local.opt(Choice::In);
    let enabled = "lease_alert_enabled{alert=\"LeaseWorkStalled\"}";
    eventually("both exporters to have read it", || (api.query(enabled).len() == 2).then_some(()));
    eventually("the alert in Prometheus", || (!api.alerts().is_empty()).then_some(()));
    eventually("a notification", || (!webhook.notifications().is_empty()).then_some(()));
    evaluations(api, A_WHILE, || is_firing(api));
    is_last_told(&webhook, 1, "firing");

    // The store fails: the state is unknown, so the alert is not resolved.
    server.kill();
    until_both_say(api, "unknown");
    evaluations(api, A_WHILE, || is_firing(api));
    is_last_told(&webhook, 1, "firing");

    // The store is back, and the work is still stuck.
    server.restart();
    until_both_say(api, "stalled");
    evaluations(api, A_WHILE, || is_firing(api));
    is_last_told(&webhook, 1, "firing");

    // Disabled again: the alert ends, and the state is still reported.
    local.opt(Choice::Out);
    eventually("a notification that it is resolved", || (webhook.notifications().len() == 2).then_some(()));
    is_last_told(&webhook, 2, "resolved");
    evaluations(api, A_WHILE, || assert_eq!(api.alerts(), []));
    is_last_told(&webhook, 2, "resolved");
    until_both_say(api, "stalled");
    until_would_fire(api, "LeaseWorkStalled");

    // The raw series have no gap, except for scrapes that a busy machine has missed.
    let now = api.now();
    for state in ["active", "stalled", "unknown"] {
        let series = format!("lease_state{{lease=\"planner\",state=\"{state}\"}}");
        let holes = format!("up{{job=\"lease-exporter\"}} == 1 unless on (instance) {series}");
        assert_eq!(api.query_range(&holes, began, now, 1.0), [], "{state} has holes");
        let whole = api.query_range(&series, began, now, 1.0);
        assert_eq!(whole.len(), 2, "{state} is of two exporters, and nothing else splits it");
        for series in whole {
            let values: Vec<f64> = series.points.iter().map(|point| point.1).collect();
            assert!(values.contains(&1.0) && values.contains(&0.0), "{state} was not seen to change: {values:?}");
        }
    }
    assert_eq!(local.end_by(Signal::TERM), Some(143));
}

#[test]
fn by_default_no_alert_fires_in_any_state_of_a_lease() {
    let server = Server::start(Kind::Postgres, &[]);
    let database = server.database();
    let webhook = Webhook::listen();
    let local = up(&database, &webhook);
    let api = local.prometheus();
    until_both_say(api, "active");

    kill_process(local.leader(), Signal::USR1).unwrap();
    until_would_fire(api, "LeaseWorkStalled");
    let schedulers = &local.processes()[..2];
    for scheduler in schedulers {
        kill_process(*scheduler, Signal::TERM).unwrap();
    }
    until_both_say(api, "no_leader");
    until_would_fire(api, "LeaseNoLeader");
    server.kill();
    until_both_say(api, "unknown");
    until_would_fire(api, "LeaseSourceDown");
    until_would_fire(api, "LeaseStateUnknown");
    for exporter in local.exporters() {
        kill_process(exporter, Signal::KILL).unwrap();
    }
    until_would_fire(api, "LeaseExporterAbsent");
    evaluations(api, A_WHILE, || assert_eq!(api.alerts(), []));
    // Neither now nor at any time before.
    assert_eq!(api.query("count_over_time(ALERTS[1h])"), []);
    assert_eq!(webhook.notifications(), [] as [Value; 0]);
}
