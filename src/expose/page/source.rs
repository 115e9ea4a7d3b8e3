//! One source as the page shows it.

use super::super::visible::Visible;
use super::words;
use crate::lease::{Readable, RowFault, SourceSnapshot};

/// One source.
pub(super) struct SourceView {
    pub(super) name: String,
    /// Why it could not be read, and what that means for its leases.
    pub(super) failure: Option<String>,
    /// How the read went, if it went well.
    pub(super) reading: Option<String>,
    /// What of it was not used.
    pub(super) rejected: Option<String>,
}

impl SourceView {
    pub(super) fn of(snapshot: &SourceSnapshot) -> Self {
        let took = Readable(snapshot.health.took);
        let known = snapshot.leases.len();
        Self {
            name: Visible(&snapshot.source).to_string(),
            failure: snapshot.health.outcome.err().map(|failure| {
                let leases = match known {
                    0 => "Its leases are not known.".to_owned(),
                    1 => "Nothing is known of its lease now.".to_owned(),
                    _ => format!("Nothing is known of its {known} leases now."),
                };
                format!("could not be read: {} ({failure}, after {took}). {leases}", words::failure(failure))
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
                reading
            }),
            rejected: rejected(snapshot),
        }
    }
}

fn rejected(snapshot: &SourceSnapshot) -> Option<String> {
    let health = &snapshot.health;
    let rows = match health.rejected_now {
        0 => return None,
        1 => "1 row of the last reading was not used.".to_owned(),
        rows => format!("{rows} rows of the last reading were not used."),
    };
    let faults: Vec<_> = RowFault::ALL
        .into_iter()
        .map(|fault| (fault, health.rejected[fault as usize]))
        .filter(|(_, count)| *count > 0)
        .map(|(fault, count)| format!("{count} {}", words::fault(fault)))
        .collect();
    Some(format!("{rows} Since the exporter started: {}.", faults.join(", ")))
}
