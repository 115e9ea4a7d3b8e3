//! One source as the page shows it.

use std::time::Duration;

use super::super::display_name::DisplayName;
use super::{ObservedSource, PageClock, phrases};
use crate::lease::{ReadFailure, Readable, RecordFault, RejectedRecords, SourceSnapshot};

/// One source.
pub(super) struct SourceSummary {
    pub(super) name: String,
    /// Why it could not be read, and the consequence for its leases.
    pub(super) failure: Option<String>,
    /// The last read, if it succeeded.
    pub(super) reading: Option<String>,
    /// The rows that were rejected.
    pub(super) rejected: Option<String>,
}

impl SourceSummary {
    pub(super) fn of(source: &ObservedSource<'_>, now: PageClock) -> Self {
        Self {
            name: DisplayName(&source.snapshot.source).to_string(),
            failure: failure(source),
            reading: reading(source, now),
            rejected: rejected(source.snapshot),
        }
    }
}

fn failure(source: &ObservedSource<'_>) -> Option<String> {
    let health = &source.snapshot.health;
    let failure = health.outcome.err()?;
    let leases = match source.snapshot.leases.len() {
        0 => "Its leases are not known.".to_owned(),
        1 => "Nothing is known of its lease now.".to_owned(),
        known => format!("Nothing is known of its {known} leases now."),
    };
    Some(match source.unanswered_for {
        Some(unanswered) if failure == ReadFailure::Timeout => {
            format!("has not answered for {} ({failure}). {leases}", to_seconds(unanswered))
        }
        _ => {
            let (cause, took) = (failure.clause(), Readable(health.duration));
            format!("could not be read: {cause} ({failure}, after {took}). {leases}")
        }
    })
}

fn reading(source: &ObservedSource<'_>, now: PageClock) -> Option<String> {
    let health = &source.snapshot.health;
    let leases = usize::try_from(health.leases?).unwrap_or(usize::MAX);
    let mut reading = format!("{}, read in {}", phrases::counted(leases, "lease"), Readable(health.duration));
    if let Some(offset) = health.clock_offset.filter(|offset| offset.abs() >= 0.1) {
        let direction = if offset > 0.0 { "ahead" } else { "behind" };
        reading.push_str(&format!(", its clock {:.1}s {direction}", offset.abs()));
    }
    reading.push_str(&format!(", as of {}", now.time_of_day(source.observed_at)));
    if let Some(unanswered) = source.unanswered_for {
        reading.push_str(&format!(", not answering for {}", to_seconds(unanswered)));
    }
    Some(reading)
}

/// A duration that still grows, in whole seconds once it is longer than one.
fn to_seconds(duration: Duration) -> Readable {
    Readable(if duration < Duration::from_secs(1) { duration } else { Duration::from_secs(duration.as_secs()) })
}

/// The rows that the last reading rejected. The total since the start would grow with the number of scrapes.
fn rejected(snapshot: &SourceSnapshot) -> Option<String> {
    let rejected = &snapshot.health.rejected_now;
    let rows = match rejected.total() {
        0 => return None,
        1 => "1 row of the last reading was not used".to_owned(),
        rows => format!("{rows} rows of the last reading were not used"),
    };
    let faults = RecordFault::ALL.into_iter().filter(|fault| rejected.count(*fault) > 0);
    let faults: Vec<_> = faults
        .map(|fault| format!("{} {}{}", rejected.count(fault), phrases::fault(fault), leases_with(rejected, fault)))
        .collect();
    Some(format!("{rows}: {}.", faults.join("; ")))
}

/// The leases whose rows have a fault, in brackets, as far as they are known.
fn leases_with(rejected: &RejectedRecords, fault: RecordFault) -> String {
    let leases: Vec<_> = rejected.leases(fault).iter().map(|lease| DisplayName(lease).to_string()).collect();
    // Several rows may belong to one lease, so the number of further leases is not known.
    let is_cut = leases.len() == RejectedRecords::NAMED && rejected.count(fault) > leases.len() as u64;
    let more = if is_cut { ", \u{2026}" } else { "" };
    if leases.is_empty() { String::new() } else { format!(" ({}{more})", leases.join(", ")) }
}
