//! One lease with all that its state was made of.

use askama::Template;

use super::advice::Advice;
use super::lease::{Detail, LeaseView};
use super::moment::date_and_time;
use super::past::Past;
use super::source::SourceView;
use super::view::View;
use super::{Looked, Now, words};
use crate::expose::visible::Visible;
use crate::lease::{
    Alert, Anomaly, DatedAge, Due, Evidence, Policy, Progress, Readable, SourceSnapshot, Status, StoreTime, Tenure,
    Work,
};

/// What is between the header and the end of the page of one lease.
#[derive(Template)]
#[template(path = "lease.html")]
pub(super) struct Opened {
    title: String,
    live: String,
    made_at: String,
    name: String,
    source_name: String,
    source: Option<SourceView>,
    /// `None` if no such lease is known.
    known: Option<Known>,
}

struct Known {
    lease: LeaseView,
    rule: &'static str,
    advice: Option<Advice>,
    ages: Vec<AgeView>,
    limits: Vec<Detail>,
    anomalies: Vec<Detail>,
    past: Past,
}

/// How long ago something was, as bounds, and how that is known.
struct AgeView {
    what: &'static str,
    bounds: String,
    basis: &'static str,
    stored: Option<String>,
}

impl Opened {
    pub(super) fn of(source: &str, lease: &str, looks: &[Looked<'_>], now: Now) -> Self {
        let look = looks.iter().find(|look| *look.snapshot.source == *source);
        let status = look.and_then(|look| {
            let at = look.snapshot.leases.binary_search_by(|status| (*status.lease).cmp(lease)).ok()?;
            look.snapshot.leases.get(at).map(|status| (look, status))
        });
        let name = Visible(lease).to_string();
        let now = look.map_or(now, |look| now.at(look.at));
        Self {
            title: match status {
                Some((_, status)) => format!("{}: {name}", words::state(status.verdict.state)),
                None => format!("not known: {name}"),
            },
            live: View::Lease { source: source.to_owned(), lease: lease.to_owned() }.live_link(),
            made_at: now.date_and_time(),
            name,
            source_name: Visible(source).to_string(),
            source: look.map(|look| SourceView::of(look, now)),
            known: status.map(|(look, status)| Known {
                lease: LeaseView::of(look, status, now),
                rule: words::rule(status.verdict.reason, look.snapshot.kind),
                advice: Advice::on(status.verdict.reason),
                ages: status.evidence().map(ages).unwrap_or_default(),
                limits: limits(look.snapshot, status),
                anomalies: anomalies(status),
                past: Past::of(look.history, &status.lease, &status.verdict, now),
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
    fn of(what: &'static str, dated: &DatedAge, stored: Option<StoreTime>) -> Self {
        Self {
            what,
            bounds: words::bounds(dated.age),
            basis: words::basis(dated.basis),
            stored: stored.map(|time| date_and_time(time.unix_seconds())),
        }
    }
}

fn ages(evidence: &Evidence) -> Vec<AgeView> {
    let mut ages = match &evidence.tenure {
        Tenure::Vacant { since, .. } => vec![AgeView::of("nobody has held it for", since, None)],
        Tenure::Holder(holding) => vec![
            AgeView::of("acquired", &holding.acquired, holding.acquired_at),
            AgeView::of("renewed", &holding.renewed, holding.renewed_at),
        ],
    };
    if let Progress::Made { when, at, .. } = &evidence.progress {
        ages.push(AgeView::of("last progress", when, *at));
    }
    if let Due::Waiting { oldest: Some(oldest), oldest_at, .. } = &evidence.due {
        ages.push(AgeView::of("oldest due work", oldest, *oldest_at));
    }
    ages
}

fn limits(snapshot: &SourceSnapshot, status: &Status) -> Vec<Detail> {
    let Policy { stall_after, overdue_after, work, alerts } = &*status.policy;
    let alerts: Vec<_> = alerts.iter().map(Alert::as_str).collect();
    let mut limits = vec![
        Detail::new("stall_after", Readable(*stall_after)),
        Detail::new("overdue_after", overdue_after.map_or_else(|| "not set".to_owned(), |it| Readable(it).to_string())),
        Detail::new("kind", snapshot.kind),
        Detail::new("alerts", if alerts.is_empty() { "none".to_owned() } else { alerts.join(", ") }),
    ];
    match work {
        Work::Unstated => {}
        Work::Continuous => limits.push(Detail::new("work", "continuous")),
        Work::Cadence(cadence) => limits.push(Detail::new("cadence", Readable(*cadence))),
    }
    if let Some(renewals) = status.evidence().and_then(|evidence| evidence.renewals_since_progress) {
        limits.push(Detail::new("renewals since progress", renewals));
    }
    limits
}

fn anomalies(status: &Status) -> Vec<Detail> {
    let noticed = Anomaly::ALL.into_iter().filter(|anomaly| status.anomalies.of(*anomaly) > 0);
    noticed.map(|anomaly| Detail::new(words::anomaly(anomaly), words::times(status.anomalies.of(anomaly)))).collect()
}
