//! The page of one lease, with the evidence from which its state follows.

use askama::Template;

use super::advice::Advice;
use super::clock::date_and_time;
use super::lease_row::{LeaseRow, Property};
use super::request::PageRequest;
use super::source::SourceSummary;
use super::timeline::Timeline;
use super::{ObservedSource, PageClock, phrases};
use crate::expose::display_name::DisplayName;
use crate::lease::{
    Alert, AuthorityEvidence, Due, EventAge, Evidence, Policy, Progress, Readable, SourceSnapshot, Status, StoreTime,
    Work,
};

/// The `<main>` of the page of one lease.
#[derive(Template)]
#[template(path = "lease.html")]
pub(super) struct LeasePage {
    pub(super) title: String,
    live: String,
    rendered_at: String,
    name: String,
    source_name: String,
    source: Option<SourceSummary>,
    /// `None` if no such lease is known.
    pub(super) details: Option<LeaseDetails>,
}

pub(super) struct LeaseDetails {
    lease: LeaseRow,
    rule: String,
    advice: Option<Advice>,
    ages: Vec<AgeRow>,
    limits: Vec<Property>,
    anomalies: Vec<Property>,
    timeline: Timeline,
}

/// The bounds of one age and the source of that knowledge.
struct AgeRow {
    what: &'static str,
    bounds: String,
    age_source: &'static str,
    stored: Option<String>,
}

impl LeasePage {
    pub(super) fn of(source_name: &str, lease: &str, sources: &[ObservedSource], now: PageClock) -> Self {
        let source = sources.iter().find(|source| *source.snapshot.source == *source_name);
        let status = source.and_then(|source| {
            let leases = &source.snapshot.leases;
            let at = leases.binary_search_by(|status| (*status.lease).cmp(lease)).ok()?;
            Some((source, leases.get(at)?))
        });
        let name = DisplayName(lease).to_string();
        let now = source.map_or(now, |source| now.as_of(source.observed_at));
        Self {
            title: match status {
                Some((_, status)) => format!("{}: {name}", phrases::state(status.verdict.state)),
                None => format!("not known: {name}"),
            },
            live: PageRequest::Lease { source: source_name.to_owned(), lease: lease.to_owned() }.live_link(),
            rendered_at: date_and_time(now.unix_seconds),
            name,
            source_name: DisplayName(source_name).to_string(),
            source: source.map(|source| SourceSummary::of(source, now)),
            details: status.map(|(source, status)| LeaseDetails {
                lease: LeaseRow::of(source, status, now),
                rule: phrases::rule(status.verdict.reason, source.snapshot.kind),
                advice: Advice::on(status.verdict.reason),
                ages: status.evidence().map(ages).unwrap_or_default(),
                limits: limits(&source.snapshot, status),
                anomalies: anomalies(status),
                timeline: Timeline::of(&source.history, &status.lease, &status.verdict, now),
            }),
        }
    }
}

impl AgeRow {
    fn of(what: &'static str, dated: &EventAge, stored: Option<StoreTime>) -> Self {
        Self {
            what,
            bounds: phrases::bounds(dated.age),
            age_source: phrases::age_source(dated.source),
            stored: stored.map(|time| date_and_time(time.unix_seconds())),
        }
    }
}

fn ages(evidence: &Evidence) -> Vec<AgeRow> {
    let mut ages = match &evidence.authority {
        AuthorityEvidence::Vacant { since, .. } => vec![AgeRow::of("nobody has held it for", since, None)],
        AuthorityEvidence::Holder(holder) => vec![
            AgeRow::of("acquired", &holder.acquired, holder.acquired_at),
            AgeRow::of("renewed", &holder.renewed, holder.renewed_at),
        ],
    };
    if let Progress::Made { age, stored_at, .. } = &evidence.progress {
        ages.push(AgeRow::of("last progress", age, *stored_at));
    }
    if let Due::Waiting { oldest: Some(oldest), oldest_at, .. } = &evidence.due {
        ages.push(AgeRow::of("oldest due work", oldest, *oldest_at));
    }
    ages
}

fn limits(snapshot: &SourceSnapshot, status: &Status) -> Vec<Property> {
    let Policy { stall_after, overdue_after, work, alerts } = &*status.policy;
    let alerts: Vec<_> = alerts.iter().map(Alert::as_str).collect();
    let overdue_after = overdue_after.map_or_else(|| "not set".to_owned(), |limit| Readable(limit).to_string());
    let mut limits = vec![
        Property::new("stall_after", Readable(*stall_after)),
        Property::new("overdue_after", overdue_after),
        Property::new("kind", snapshot.kind),
        Property::new("alerts", if alerts.is_empty() { "none".to_owned() } else { alerts.join(", ") }),
    ];
    match work {
        Work::Unstated => {}
        Work::Continuous => limits.push(Property::new("work", "continuous")),
        Work::Cadence(cadence) => limits.push(Property::new("cadence", Readable(*cadence))),
    }
    if let Some(renewals) = status.evidence().and_then(|evidence| evidence.renewals_since_progress) {
        limits.push(Property::new("renewals since progress", renewals));
    }
    limits
}

fn anomalies(status: &Status) -> Vec<Property> {
    let noticed = status.anomalies.noticed();
    noticed.map(|(anomaly, count)| Property::new(phrases::anomaly(anomaly), phrases::times(count))).collect()
}
