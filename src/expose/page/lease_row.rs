//! One lease as the page shows it.

use std::fmt::Display;
use std::time::Duration;

use super::super::display_name::DisplayName;
use super::age_bars::{AgeBar, AgeMarker, AgeScale};
use super::timeline::StateDuration;
use super::view::link_to;
use super::{ObservedSource, PageClock, phrases};
use crate::lease::Readable;
use crate::lease::{
    Anomaly, Authority, AuthorityEvidence, Due, EventAge, Holder, Progress, ProgressEpoch, RemainingTtl, State, Status,
    Truth,
};

/// One lease: its state and since when, the two facts it follows from, and the details.
pub(super) struct LeaseRow {
    pub(super) name: String,
    pub(super) source: String,
    /// As of when all of it is, where that is not the time of the page.
    pub(super) as_of: Option<String>,
    /// Where the lease is with its evidence.
    pub(super) link: String,
    pub(super) state: State,
    pub(super) word: &'static str,
    pub(super) since: Option<StateDuration>,
    pub(super) reason: &'static str,
    pub(super) sentence: String,
    /// Authority and progress, apart; and what waits, where that has a limit of its own.
    pub(super) facts: Vec<Fact>,
    pub(super) details: Vec<Property>,
    pub(super) anomalies: Option<String>,
}

/// One of the facts.
pub(super) struct Fact {
    pub(super) name: &'static str,
    /// The label value.
    pub(super) state: &'static str,
    /// What the age is the age of.
    pub(super) age: String,
    pub(super) bar: Option<AgeBar>,
    /// Where on the scale the oldest due work lies.
    pub(super) due: Option<AgeMarker>,
}

/// A name and a value.
pub(super) struct Property {
    pub(super) name: &'static str,
    pub(super) value: String,
}

impl Property {
    pub(super) fn new(name: &'static str, value: impl Display) -> Self {
        Self { name, value: value.to_string() }
    }
}

impl LeaseRow {
    /// `page` is the time of the page that it is on.
    pub(super) fn of(look: &ObservedSource<'_>, status: &Status, page: PageClock) -> Self {
        let verdict = &status.verdict;
        let source = &look.snapshot.source;
        let scale = AgeScale::of_limit(status.policy.stall_after);
        Self {
            name: DisplayName(&status.lease).to_string(),
            source: DisplayName(source).to_string(),
            as_of: page.other_than(look),
            link: link_to(source, &status.lease),
            state: verdict.state,
            word: phrases::state(verdict.state),
            since: StateDuration::of(look.history, &status.lease, verdict, page.at(look.at)),
            reason: verdict.reason.as_str(),
            sentence: status.sentence().to_string(),
            facts: [authority(status, scale), progress(status, scale)].into_iter().chain(waiting(status)).collect(),
            details: details(status),
            anomalies: anomalies(status),
        }
    }
}

/// A name as a list shows it: of a long one the beginning and the end, for many differ in nothing else.
pub(super) fn abridged(name: &str) -> String {
    const BEGINNING: usize = 80;
    const END: usize = 40;
    let length = name.chars().count();
    if length <= BEGINNING + END {
        return DisplayName(name).to_string();
    }
    let at = |count: usize| name.char_indices().nth(count).map_or(name.len(), |(at, _)| at);
    format!("{}\u{2026}{}", DisplayName(&name[..at(BEGINNING)]), DisplayName(&name[at(length - END)..]))
}

fn authority(status: &Status, scale: AgeScale) -> Fact {
    let fact =
        Fact { name: "authority", state: status.verdict.authority.as_str(), age: String::new(), bar: None, due: None };
    match status.evidence().map(|evidence| &evidence.authority) {
        None => fact,
        Some(AuthorityEvidence::Vacant { since, .. }) => {
            let age = match phrases::age(since) {
                age if age == phrases::NOT_KNOWN => "vacant, since unknown".to_owned(),
                age => format!("vacant {age}"),
            };
            Fact { age, bar: scale.bar(since), ..fact }
        }
        Some(AuthorityEvidence::Holder(holder)) => {
            // Where a source keeps no renewals, when the lease was acquired says more.
            let never_told = holder.renewed_at.is_none() && holder.renewed.display_age().is_none();
            let (what, dated) = match holder.acquired.display_age() {
                Some(_) if never_told => ("acquired", &holder.acquired),
                _ => ("renewed", &holder.renewed),
            };
            Fact { age: ago(what, dated), bar: scale.bar(dated), ..fact }
        }
    }
}

fn progress(status: &Status, scale: AgeScale) -> Fact {
    let fact =
        Fact { name: "progress", state: status.verdict.progress.as_str(), age: String::new(), bar: None, due: None };
    let Some(evidence) = status.evidence() else { return fact };
    // What has a limit of its own is drawn against that, below.
    let due = match &evidence.due {
        Due::Waiting { oldest: Some(oldest), .. } if status.policy.overdue_after.is_none() => scale.mark(oldest),
        _ => None,
    };
    let (age, bar) = match &evidence.progress {
        Progress::NotReported => ("not reported".to_owned(), None),
        Progress::Never => ("none recorded".to_owned(), None),
        Progress::Incomplete => ("incomplete record".to_owned(), None),
        Progress::Made { age: when, .. } => (ago("moved", when), scale.bar(when)),
    };
    Fact { age, bar, due, ..fact }
}

/// The oldest due work against the limit that it has apart from what else moves.
fn waiting(status: &Status) -> Option<Fact> {
    let limit = status.policy.overdue_after?;
    let Due::Waiting { oldest: Some(oldest), .. } = status.evidence()?.due else { return None };
    let overdue = oldest.age.exceeds(limit) == Truth::True;
    Some(Fact {
        name: "due",
        state: if overdue { "overdue" } else { "waiting" },
        age: match phrases::age(&oldest) {
            age if age == phrases::NOT_KNOWN => String::new(),
            age => format!("oldest for {age}"),
        },
        bar: AgeScale::of_limit(limit).bar(&oldest),
        due: None,
    })
}

fn ago(what: &str, dated: &EventAge) -> String {
    match phrases::age(dated) {
        age if age == phrases::NOT_KNOWN => format!("{what}, when unknown"),
        age => format!("{what} {age} ago"),
    }
}

fn details(status: &Status) -> Vec<Property> {
    let Some(evidence) = status.evidence() else { return Vec::new() };
    let epoch = status.epoch().map_or_else(|| "not known".to_owned(), |epoch| epoch.to_string());
    let mut details = vec![Property::new("epoch", epoch)];
    if let Progress::Made {
        epoch: Some(epoch), epoch_relation: ProgressEpoch::Earlier | ProgressEpoch::Later, ..
    } = evidence.progress
    {
        details.push(Property::new("progress under epoch", epoch));
    }
    if let Some(holder) = status.holder() {
        details.push(Property::new("holder", holders(holder)));
        details.push(Property::new("expires", expires(holder.remaining_ttl, status.verdict.authority)));
    }
    details.push(Property::new("due", due(&evidence.due)));
    details
}

fn holders(holder: &Holder) -> String {
    let others = holder.others.iter().map(|token| token.to_string());
    let holders: Vec<_> = holder.token.iter().map(|token| token.to_string()).chain(others).collect();
    if holders.is_empty() { "not named".to_owned() } else { phrases::some_of(&holders, 4) }
}

fn expires(left: RemainingTtl, authority: Authority) -> String {
    let readable = |micros: i64| Readable(Duration::from_micros(micros.unsigned_abs()));
    match left {
        RemainingTtl::WhileRecordExists => "never while its record is there".to_owned(),
        RemainingTtl::NotRecorded => "not known".to_owned(),
        RemainingTtl::Micros { at_most, .. } if authority == Authority::Expired => {
            format!("{} ago", readable(at_most.min(0)))
        }
        RemainingTtl::Micros { at_least: Some(at_least), .. } if at_least > 0 => format!("in {}", readable(at_least)),
        RemainingTtl::Micros { at_most, .. } if at_most > 0 => format!("within {}", readable(at_most)),
        RemainingTtl::Micros { .. } => "perhaps already".to_owned(),
    }
}

fn due(due: &Due) -> String {
    match due {
        Due::NotKnown => "not known".to_owned(),
        Due::Nothing => "nothing".to_owned(),
        Due::Waiting { count, oldest, .. } => {
            let count = count.map_or_else(|| "some".to_owned(), |count| count.to_string());
            match oldest {
                Some(oldest) => format!("{count}, oldest for {}", phrases::age(oldest)),
                None => count,
            }
        }
    }
}

fn anomalies(status: &Status) -> Option<String> {
    let noticed: Vec<_> = Anomaly::ALL
        .into_iter()
        .filter_map(|anomaly| match status.anomalies.get(anomaly) {
            0 => None,
            1 => Some(phrases::anomaly(anomaly).to_owned()),
            number => Some(format!("{} ({})", phrases::anomaly(anomaly), phrases::times(number))),
        })
        .collect();
    (!noticed.is_empty()).then(|| noticed.join("; "))
}
