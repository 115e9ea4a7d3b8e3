//! Tests of the Prometheus, Alertmanager and webhook that other tests use.

use std::path::Path;

use crate::harness::store::{STEADY, folder};
use crate::harness::{Exporter, Webhook, eventually};
use crate::servers::{Alertmanager, Prometheus};

#[test]
fn prometheus_scrapes_evaluates_rules_and_tells_alertmanager_who_tells_the_webhook() {
    let folder = folder();
    let store = folder.path().join("steady.db");
    crate::harness::store::database(&store, "CREATE TABLE t (x)");
    let yaml =
        format!("sources: [{{ name: documents, store: 'sqlite://{}', query: \"{STEADY}\" }}]\n", store.display());
    let exporter = Exporter::start(folder.path(), &yaml);
    let rules = folder.path().join("own.yaml");
    let group = "groups: [{ name: own, interval: 1s, rules: [\
        { record: 'lease:seen', expr: 'count by (lease) (lease_state == 1)' }, \
        { alert: Seen, expr: 'lease:seen > 0', annotations: { summary: 'it is {{ $value }}' } }] }]";
    std::fs::write(&rules, group).unwrap();

    let webhook = Webhook::listen();
    let alertmanager = Alertmanager::start(&format!(
        "route: {{ receiver: test, group_wait: 0s }}\n\
         receivers: [{{ name: test, webhook_configs: [{{ url: '{}' }}] }}]\n",
        webhook.url()
    ));
    let configuration = |job: &str| {
        format!(
            "global: {{ scrape_interval: 1s }}\nrule_files: [own.yaml]\n\
             alerting: {{ alertmanagers: [{{ static_configs: [{{ targets: ['{}'] }}] }}] }}\n\
             scrape_configs: [{{ job_name: {job}, static_configs: [{{ targets: ['{}', '127.0.0.1:1'] }}] }}]\n",
            alertmanager.api().address(),
            exporter.address()
        )
    };
    let prometheus = Prometheus::start(&configuration("before"), &[Path::new(&rules)]);
    let api = prometheus.api();
    assert_eq!(api.rules(), ["lease:seen", "Seen"]);
    let first = api.last_evaluations();

    let seen = eventually("a recorded series", || api.query("lease:seen").into_iter().next());
    assert_eq!((seen.labels["lease"].as_str(), seen.value), ("steady", 1.0));
    eventually("another evaluation", || (api.last_evaluations() != first).then_some(()));
    let health = |job: &str| {
        let mut found: Vec<String> = api
            .targets()
            .into_iter()
            .filter(|target| target.labels["job"] == job)
            .map(|target| format!("{} {}", target.health, !target.last_error.is_empty()))
            .collect();
        found.sort();
        (found == ["down true", "up false"]).then_some(())
    };
    eventually("one target to be up and one down", || health("before"));
    let now = api.now();
    let series = api.query_range("lease:seen", now - 60.0, now, 1.0);
    assert!(series.len() == 1 && !series[0].points.is_empty());

    let alert = eventually("an alert", || api.alerts().into_iter().next());
    assert_eq!(alert.labels["alertname"], "Seen");
    assert_eq!((alert.state.as_str(), alert.annotations["summary"].as_str()), ("firing", "it is 1"));
    let told = eventually("a notification", || webhook.notifications().into_iter().next());
    assert_eq!(told["alerts"][0]["labels"]["lease"], "steady");
    let received = alertmanager.api().alerts();
    assert_eq!((received[0].state.as_str(), received[0].receivers.as_slice()), ("active", &["test".to_owned()][..]));

    prometheus.reload(&configuration("after"));
    eventually("the targets of the new configuration", || health("after"));
}

#[test]
#[should_panic(expected = "yaml")]
fn a_prometheus_that_refuses_its_configuration_fails_the_test_with_what_it_says() {
    Prometheus::start("no: such: thing\n", &[]);
}
