//! One source as the page shows it.

use std::time::Duration;

use super::super::display_name::DisplayName;
use super::{ObservedSource, PageClock, phrases};
use crate::lease::{ReadFailure, Readable, RecordFault, RejectedRecords, SourceSnapshot};

/// One source.
pub(super) struct SourceSummary {
    pub(super) name: String,
    /// Why it could not be read, and what that means for its leases.
    pub(super) failure: Option<String>,
    /// How the read went, if it went well.
    pub(super) reading: Option<String>,
    /// What of it was not used.
    pub(super) rejected: Option<String>,
}

impl SourceSummary {
    pub(super) fn of(look: &ObservedSource<'_>, now: PageClock) -> Self {
        let snapshot = look.snapshot;
        let took = Readable(snapshot.health.duration);
        let known = snapshot.leases.len();
        Self {
            name: DisplayName(&snapshot.source).to_string(),
            failure: snapshot.health.outcome.err().map(|failure| {
                let leases = match known {
                    0 => "Its leases are not known.".to_owned(),
                    1 => "Nothing is known of its lease now.".to_owned(),
                    _ => format!("Nothing is known of its {known} leases now."),
                };
                match look.unanswered {
                    Some(unanswered) if failure == ReadFailure::Timeout => {
                        format!("has not answered for {} ({failure}). {leases}", whole(unanswered))
                    }
                    _ => {
                        format!("could not be read: {} ({failure}, after {took}). {leases}", phrases::failure(failure))
                    }
                }
            }),
            reading: snapshot.health.leases.map(|leases| {
                let mut reading = match leases {
                    1 => format!("1 lease, read in {took}"),
                    _ => format!("{leases} leases, read in {took}"),
                };
                if let Some(offset) = snapshot.health.clock_offset.filter(|offset| offset.abs() >= 0.1) {
                    let which = if offset > 0.0 { "ahead" } else { "behind" };
                    reading.push_str(&format!(", its clock {:.1}s {which}", offset.abs()));
                }
                reading.push_str(&format!(", as of {}", now.clock(look.at)));
                if let Some(unanswered) = look.unanswered {
                    reading.push_str(&format!(", not answering for {}", whole(unanswered)));
                }
                reading
            }),
            rejected: rejected(snapshot),
        }
    }
}

/// Seconds are enough of a time that is still growing.
fn whole(duration: Duration) -> Readable {
    Readable(if duration < Duration::from_secs(1) { duration } else { Duration::from_secs(duration.as_secs()) })
}

/// What the last reading did not use. What was so since the exporter started would tell how often somebody looked.
fn rejected(snapshot: &SourceSnapshot) -> Option<String> {
    let rejected = &snapshot.health.rejected_now;
    let rows = match rejected.total() {
        0 => return None,
        1 => "1 row of the last reading was not used".to_owned(),
        rows => format!("{rows} rows of the last reading were not used"),
    };
    let faults = RecordFault::ALL.into_iter().filter(|fault| rejected.count(*fault) > 0);
    let faults: Vec<_> = faults
        .map(|fault| format!("{} {}{}", rejected.count(fault), phrases::fault(fault), named(rejected, fault)))
        .collect();
    Some(format!("{rows}: {}.", faults.join("; ")))
}

/// Whose rows had a fault, as far as that is known.
fn named(rejected: &RejectedRecords, fault: RecordFault) -> String {
    let leases: Vec<_> = rejected.leases(fault).iter().map(|lease| DisplayName(lease).to_string()).collect();
    // Several rows may be of one lease, so how many more there are is not known.
    let more = if leases.len() == RejectedRecords::NAMED && rejected.count(fault) > leases.len() as u64 {
        ", \u{2026}"
    } else {
        ""
    };
    if leases.is_empty() { String::new() } else { format!(" ({}{more})", leases.join(", ")) }
}
