//! One lease as a row of the list, which is also the head of its page.

use std::fmt::Display;
use std::time::Duration;

use super::super::display_name::DisplayName;
use super::age_bars::{AgeBar, AgeMarker, AgeScale};
use super::request::link;
use super::timeline::StateDuration;
use super::{ObservedSource, PageClock, phrases};
use crate::lease::{
    Authority, AuthorityEvidence, Due, EventAge, Holder, Progress, ProgressEpoch, Readable, RemainingTtl, State,
    Status, Truth,
};

/// One lease: its state and for how long, authority and progress, and the details.
pub(super) struct LeaseRow {
    pub(super) name: String,
    pub(super) source: String,
    /// The time of the snapshot, if it is older than the page.
    pub(super) as_of: Option<String>,
    pub(super) link: String,
    pub(super) state: State,
    pub(super) word: &'static str,
    pub(super) since: Option<StateDuration>,
    pub(super) reason: &'static str,
    pub(super) sentence: String,
    /// Authority, progress and, if it has a limit of its own, the oldest due work.
    pub(super) facts: Vec<Fact>,
    pub(super) details: Vec<Property>,
    pub(super) anomalies: Option<String>,
}

/// Authority, progress or the oldest due work, with its age.
#[derive(Default)]
pub(super) struct Fact {
    pub(super) name: &'static str,
    pub(super) state: &'static str,
    /// The age in words; empty if nothing is known.
    pub(super) age: String,
    pub(super) bar: Option<AgeBar>,
    /// The oldest due work on the scale of the bar.
    pub(super) due: Option<AgeMarker>,
}

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
    pub(super) fn of(source: &ObservedSource, status: &Status, page_time: PageClock) -> Self {
        let verdict = &status.verdict;
        let source_name = &source.snapshot.source;
        let scale = AgeScale::of_limit(status.policy.stall_after);
        let now = page_time.as_of(source.observed_at);
        Self {
            name: DisplayName(&status.lease).to_string(),
            source: DisplayName(source_name).to_string(),
            as_of: page_time.older_time(source),
            link: link("lease", source_name, &status.lease),
            state: verdict.state,
            word: phrases::state(verdict.state),
            since: StateDuration::of(&source.history, &status.lease, verdict, now),
            reason: verdict.reason.as_str(),
            sentence: status.sentence().to_string(),
            facts: [authority(status, scale), progress(status, scale)].into_iter().chain(oldest_due(status)).collect(),
            details: details(status),
            anomalies: anomalies(status),
        }
    }

    /// The same with an abridged name, for a list.
    pub(super) fn abridged(source: &ObservedSource, status: &Status, page_time: PageClock) -> Self {
        Self { name: abridged(&status.lease), ..Self::of(source, status, page_time) }
    }
}

/// The beginning and the end of a long name: long names often differ only in one of them.
fn abridged(name: &str) -> String {
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
    let (age, dated) = match status.evidence().map(|evidence| &evidence.authority) {
        None => (String::new(), None),
        Some(AuthorityEvidence::Vacant { since, .. }) => (
            phrases::age(since).map_or_else(|| "vacant, since unknown".to_owned(), |age| format!("vacant {age}")),
            Some(since),
        ),
        Some(AuthorityEvidence::Holder(holder)) => {
            // A source that stores no renewals may still store the acquisition.
            let is_renewal_known = holder.renewed_at.is_some() || holder.renewed.display_age().is_some();
            let (event, dated) = match holder.acquired.display_age() {
                Some(_) if !is_renewal_known => ("acquired", &holder.acquired),
                _ => ("renewed", &holder.renewed),
            };
            (ago(event, dated), Some(dated))
        }
    };
    let state = status.verdict.authority.as_str();
    Fact { name: "authority", state, age, bar: dated.and_then(|dated| scale.bar(dated)), due: None }
}

fn progress(status: &Status, scale: AgeScale) -> Fact {
    let fact = Fact { name: "progress", state: status.verdict.progress.as_str(), ..Fact::default() };
    let Some(evidence) = status.evidence() else { return fact };
    // With a limit of its own, the oldest due work has its own bar.
    let due = match &evidence.due {
        Due::Waiting { oldest: Some(oldest), .. } if status.policy.overdue_after.is_none() => scale.marker(oldest),
        _ => None,
    };
    let (age, bar) = match &evidence.progress {
        Progress::NotReported => ("not reported".to_owned(), None),
        Progress::Never => ("none recorded".to_owned(), None),
        Progress::Incomplete => ("incomplete record".to_owned(), None),
        Progress::Made { age, .. } => (ago("moved", age), scale.bar(age)),
    };
    Fact { age, bar, due, ..fact }
}

/// The oldest due work, if it has a limit of its own.
fn oldest_due(status: &Status) -> Option<Fact> {
    let limit = status.policy.overdue_after?;
    let Due::Waiting { oldest: Some(oldest), .. } = status.evidence()?.due else { return None };
    let is_overdue = oldest.age.exceeds(limit) == Truth::True;
    Some(Fact {
        name: "due",
        state: if is_overdue { "overdue" } else { "waiting" },
        age: phrases::age(&oldest).map(|age| format!("oldest for {age}")).unwrap_or_default(),
        bar: AgeScale::of_limit(limit).bar(&oldest),
        due: None,
    })
}

fn ago(event: &str, dated: &EventAge) -> String {
    phrases::age(dated).map_or_else(|| format!("{event}, when unknown"), |age| format!("{event} {age} ago"))
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
    let holders: Vec<_> = holder.token.iter().chain(&*holder.others).map(ToString::to_string).collect();
    if holders.is_empty() { "not named".to_owned() } else { phrases::some_of(&holders, 4) }
}

fn expires(remaining: RemainingTtl, authority: Authority) -> String {
    let readable = |micros: i64| Readable(Duration::from_micros(micros.unsigned_abs()));
    match remaining {
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
                Some(oldest) => {
                    let age = phrases::age(oldest);
                    format!("{count}, oldest for {}", age.as_deref().unwrap_or("not known"))
                }
                None => count,
            }
        }
    }
}

fn anomalies(status: &Status) -> Option<String> {
    let noticed = status.anomalies.noticed().map(|(anomaly, count)| match count {
        1 => phrases::anomaly(anomaly).to_owned(),
        _ => format!("{} ({})", phrases::anomaly(anomaly), phrases::times(count)),
    });
    let noticed: Vec<_> = noticed.collect();
    (!noticed.is_empty()).then(|| noticed.join("; "))
}
