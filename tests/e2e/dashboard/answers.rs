//! A real Prometheus answers every query of every panel, with variables replaced as Grafana replaces them.

use std::collections::BTreeSet;

use lease_exporter::clock::unix_seconds;

use super::document::{Dashboard, Query};
use super::environment::{DECOY, DEMO, Environment, HARD, SCRAPE};
use super::grafana::{Choice, interpolated};
use crate::harness::{PATIENCE, now};
use crate::servers::{Labels, PrometheusApi};

/// The step of a graph of a few minutes in seconds.
const STEP: u32 = 5;

/// Panels without data in the demo, which does not configure what they show. The lease with the special name has both,
/// so these queries have results too.
const NOT_CONFIGURED_IN_THE_DEMO: [(&str, &str); 2] =
    [("How long the oldest due work has waited", "B"), ("Enabled alerts", "A")];

/// The series that a panel gets for a query.
fn answer(api: PrometheusApi, query: &Query<'_>, source: Choice<'_>, lease: Choice<'_>) -> Vec<Labels> {
    let expression = interpolated(query.expression(), source, lease, STEP, SCRAPE);
    if query.is_instant() {
        return api.query(&expression).into_iter().map(|sample| sample.labels).collect();
    }
    let to = unix_seconds();
    let series = api.query_range(&expression, to - 300.0, to, f64::from(STEP));
    series.into_iter().map(|series| series.labels).collect()
}

/// Waits until each query has a result for the chosen variables, and returns the results.
fn answers<'a>(
    api: PrometheusApi,
    dashboard: &'a Dashboard,
    source: Choice<'_>,
    lease: Choice<'_>,
    but: &[(&str, &str)],
) -> Vec<(Query<'a>, Vec<Labels>)> {
    let mut waiting: Vec<Query<'_>> = dashboard.queries();
    waiting.retain(|query| !but.contains(&(query.panel, query.letter())));
    let mut answered = Vec::new();
    let until = now() + PATIENCE;
    // By then, rare events of the demo have happened.
    while !waiting.is_empty() {
        let (with, without): (Vec<_>, Vec<_>) = waiting
            .into_iter()
            .map(|query| {
                let series = answer(api, &query, source, lease);
                (query, series)
            })
            .partition(|(_, series)| !series.is_empty());
        answered.extend(with);
        waiting = without.into_iter().map(|(query, _)| query).collect();
        let empty: Vec<_> = waiting.iter().map(|query| (query.panel, query.letter())).collect();
        assert!(now() < until, "{source:?} {lease:?}: no data for {empty:?}");
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    answered
}

/// The values of a label in results.
fn values<'a>(answers: &'a [(Query<'_>, Vec<Labels>)], label: &str) -> BTreeSet<&'a str> {
    let all = answers.iter().flat_map(|(_, series)| series);
    all.filter_map(|labels| labels.get(label)).map(String::as_str).collect()
}

#[test]
fn every_query_is_answered_of_what_was_chosen_and_of_nothing_else() {
    let world = Environment::start();
    let dashboard = Dashboard::shipped();
    let of = |source: Choice<'_>, lease: Choice<'_>, but: &[(&str, &str)]| {
        let answers = answers(world.api(), &dashboard, source, lease, but);
        for (query, series) in &answers {
            for label in query.named_labels() {
                let names_all = series.iter().all(|labels| labels.get(label).is_some_and(|value| !value.is_empty()));
                assert!(names_all, "{}: a legend without {label}: {series:?}", query.panel);
            }
        }
        answers
    };

    let everything = of(Choice::All, Choice::All, &[]);
    assert_eq!(values(&everything, "lease"), BTreeSet::from([DEMO.1, HARD.1, DECOY]));
    assert_eq!(values(&everything, "source"), BTreeSet::from([DEMO.0, HARD.0]));

    let hard = of(Choice::These(&[HARD.0]), Choice::These(&[HARD.1]), &[]);
    assert_eq!(values(&hard, "lease"), BTreeSet::from([HARD.1]));
    assert_eq!(values(&hard, "source"), BTreeSet::from([HARD.0]));

    let demo = of(Choice::These(&[DEMO.0]), Choice::These(&[DEMO.1]), &NOT_CONFIGURED_IN_THE_DEMO);
    assert_eq!(values(&demo, "lease"), BTreeSet::from([DEMO.1]));
    assert_eq!(values(&demo, "source"), BTreeSet::from([DEMO.0]));

    let both = of(Choice::These(&[DEMO.0, HARD.0]), Choice::These(&[DEMO.1, HARD.1]), &[]);
    assert_eq!(values(&both, "lease"), BTreeSet::from([DEMO.1, HARD.1]));

    // The choices of the lease variable are the leases of the chosen source.
    let offered = dashboard.choices().into_iter().map(|(series, label)| {
        let expression = interpolated(series, Choice::These(&[HARD.0]), Choice::All, STEP, SCRAPE);
        let rows = world.api().query(&expression);
        (label, rows.iter().map(|row| row.labels[label].clone()).collect::<BTreeSet<_>>())
    });
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<BTreeSet<_>>();
    let expected = [("source", names(&[DEMO.0, HARD.0])), ("lease", names(&[DECOY, HARD.1]))];
    assert_eq!(offered.collect::<Vec<_>>(), expected);

    // One exporter reports the stall, and the other cannot reach the store.
    let table = dashboard.panel("Leases, worst first");
    let expression = interpolated(table.query("A").expression(), Choice::All, Choice::These(&[HARD.1]), STEP, SCRAPE);
    let rows = world.api().query(&expression);
    let said: Vec<_> = rows.iter().map(|row| (row.labels["reason"].as_str(), row.value)).collect();
    assert_eq!(said, [("no_progress", 5.0)]);

    // The alert of the stall is enabled, and the other pending alerts are not.
    let alerts = dashboard.panel("What would fire, and what does");
    let expression = interpolated(alerts.query("A").expression(), Choice::All, Choice::All, STEP, SCRAPE);
    let fires = world.api().query(&format!("({expression}) == 2"));
    let fires: Vec<_> = fires.iter().map(|row| (row.labels["lease"].as_str(), row.labels["alert"].as_str())).collect();
    assert_eq!(fires, [(HARD.1, "LeaseWorkStalled")]);
}
