//! One lease with all that its state was made of.

use askama::Template;

use super::advice::Advice;
use super::clock::date_and_time;
use super::lease_row::{LeaseRow, Property};
use super::source::SourceSummary;
use super::timeline::Timeline;
use super::view::View;
use super::{ObservedSource, PageClock, phrases};
use crate::expose::display_name::DisplayName;
use crate::lease::{
    Alert, Anomaly, AuthorityEvidence, Due, EventAge, Evidence, Policy, Progress, Readable, SourceSnapshot, Status,
    StoreTime, Work,
};

/// What is between the header and the end of the page of one lease.
#[derive(Template)]
#[template(path = "lease.html")]
pub(super) struct LeasePage {
    title: String,
    live: String,
    made_at: String,
    name: String,
    source_name: String,
    source: Option<SourceSummary>,
    /// `None` if no such lease is known.
    known: Option<LeaseDetails>,
}

struct LeaseDetails {
    lease: LeaseRow,
    rule: &'static str,
    advice: Option<Advice>,
    ages: Vec<AgeView>,
    limits: Vec<Property>,
    anomalies: Vec<Property>,
    past: Timeline,
}

/// How long ago something was, as bounds, and how that is known.
struct AgeView {
    what: &'static str,
    bounds: String,
    source: &'static str,
    stored: Option<String>,
}

impl LeasePage {
    pub(super) fn of(source: &str, lease: &str, looks: &[ObservedSource<'_>], now: PageClock) -> Self {
        let look = looks.iter().find(|look| *look.snapshot.source == *source);
        let status = look.and_then(|look| {
            let at = look.snapshot.leases.binary_search_by(|status| (*status.lease).cmp(lease)).ok()?;
            look.snapshot.leases.get(at).map(|status| (look, status))
        });
        let name = DisplayName(lease).to_string();
        let now = look.map_or(now, |look| now.at(look.at));
        Self {
            title: match status {
                Some((_, status)) => format!("{}: {name}", phrases::state(status.verdict.state)),
                None => format!("not known: {name}"),
            },
            live: View::Lease { source: source.to_owned(), lease: lease.to_owned() }.live_link(),
            made_at: now.date_and_time(),
            name,
            source_name: DisplayName(source).to_string(),
            source: look.map(|look| SourceSummary::of(look, now)),
            known: status.map(|(look, status)| LeaseDetails {
                lease: LeaseRow::of(look, status, now),
                rule: phrases::rule(status.verdict.reason, look.snapshot.kind),
                advice: Advice::on(status.verdict.reason),
                ages: status.evidence().map(ages).unwrap_or_default(),
                limits: limits(look.snapshot, status),
                anomalies: anomalies(status),
                past: Timeline::of(look.history, &status.lease, &status.verdict, now),
            }),
        }
    }

    pub(super) fn title(&self) -> &str {
        &self.title
    }

    pub(super) const fn is_known(&self) -> bool {
        self.known.is_some()
    }
}

impl AgeView {
    fn of(what: &'static str, dated: &EventAge, stored: Option<StoreTime>) -> Self {
        Self {
            what,
            bounds: phrases::bounds(dated.age),
            source: phrases::age_source(dated.source),
            stored: stored.map(|time| date_and_time(time.unix_seconds())),
        }
    }
}

fn ages(evidence: &Evidence) -> Vec<AgeView> {
    let mut ages = match &evidence.authority {
        AuthorityEvidence::Vacant { since, .. } => vec![AgeView::of("nobody has held it for", since, None)],
        AuthorityEvidence::Holder(holder) => vec![
            AgeView::of("acquired", &holder.acquired, holder.acquired_at),
            AgeView::of("renewed", &holder.renewed, holder.renewed_at),
        ],
    };
    if let Progress::Made { age: when, stored_at: at, .. } = &evidence.progress {
        ages.push(AgeView::of("last progress", when, *at));
    }
    if let Due::Waiting { oldest: Some(oldest), oldest_at, .. } = &evidence.due {
        ages.push(AgeView::of("oldest due work", oldest, *oldest_at));
    }
    ages
}

fn limits(snapshot: &SourceSnapshot, status: &Status) -> Vec<Property> {
    let Policy { stall_after, overdue_after, work, alerts } = &*status.policy;
    let alerts: Vec<_> = alerts.iter().map(Alert::as_str).collect();
    let mut limits = vec![
        Property::new("stall_after", Readable(*stall_after)),
        Property::new(
            "overdue_after",
            overdue_after.map_or_else(|| "not set".to_owned(), |it| Readable(it).to_string()),
        ),
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
    let noticed = Anomaly::ALL.into_iter().filter(|anomaly| status.anomalies.get(*anomaly) > 0);
    noticed
        .map(|anomaly| Property::new(phrases::anomaly(anomaly), phrases::times(status.anomalies.get(anomaly))))
        .collect()
}
