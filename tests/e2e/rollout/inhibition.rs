//! The inhibition rules of the shipped Alertmanager configuration.

use std::collections::BTreeSet;

use crate::harness::eventually;
use crate::servers::Alertmanager;

const CONFIGURATION: &str = include_str!("../../../deploy/alertmanager/alertmanager.yml");

/// Each alert by its name, source and lease, or `-` without a lease.
type Said<'a> = (&'a str, &'a str, &'a str);

/// The alerts that Alertmanager suppresses if all are sent.
fn suppressed<'a>(alerts: &[Said<'a>]) -> BTreeSet<Said<'a>> {
    let alertmanager = Alertmanager::start(CONFIGURATION);
    let labels: Vec<Vec<(&str, &str)>> = alerts
        .iter()
        .map(|&(name, source, lease)| {
            let mut labels = vec![("alertname", name), ("source", source), ("severity", "critical")];
            labels.extend(Some(("lease", lease)).filter(|_| lease != "-"));
            labels
        })
        .collect();
    alertmanager.api().send(&labels.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let received = eventually("every alert to be there", || {
        Some(alertmanager.api().alerts()).filter(|received| received.len() == alerts.len())
    });
    let is_suppressed = |&&(name, source, lease): &&Said<'_>| {
        let found = received.iter().find(|alert| {
            let label = |name: &str| alert.labels.get(name).map_or("-", String::as_str);
            (label("alertname"), label("source"), label("lease")) == (name, source, lease)
        });
        found.unwrap().inhibited_by > 0
    };
    alerts.iter().filter(is_suppressed).copied().collect()
}

#[test]
fn a_source_that_is_down_explains_what_is_unknown_of_its_own_leases_and_nothing_else() {
    let unknown = ("LeaseStateUnknown", "documents", "planner");
    let told = suppressed(&[
        ("LeaseSourceDown", "documents", "-"),
        unknown,
        ("LeaseStateUnknown", "billing", "planner"),
        ("LeaseWorkStalled", "documents", "planner"),
        ("LeaseNoLeader", "documents", "planner"),
        ("LeaseEpochRegressed", "documents", "other"),
        ("LeaseFencedWriter", "documents", "planner"),
        ("LeaseLeadershipFlapping", "documents", "planner"),
    ]);
    assert_eq!(told, [unknown].into());
}

#[test]
fn an_exporter_that_is_absent_explains_that_its_source_is_down_and_its_leases_unknown() {
    let (down, unknown) = (("LeaseSourceDown", "documents", "-"), ("LeaseStateUnknown", "documents", "planner"));
    let told = suppressed(&[
        ("LeaseExporterAbsent", "documents", "-"),
        down,
        unknown,
        ("LeaseSourceDown", "billing", "-"),
        ("LeaseWorkStalled", "documents", "planner"),
    ]);
    assert_eq!(told, [down, unknown].into());
}

#[test]
fn an_epoch_that_went_back_explains_that_this_lease_is_unknown() {
    let unknown = ("LeaseStateUnknown", "documents", "planner");
    let told = suppressed(&[
        ("LeaseEpochRegressed", "documents", "planner"),
        unknown,
        ("LeaseStateUnknown", "documents", "other"),
    ]);
    assert_eq!(told, [unknown].into());
}
