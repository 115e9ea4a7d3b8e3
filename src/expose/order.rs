//! The order in which leases are shown to people: the worst first.

use std::cmp::Reverse;
use std::time::Duration;

use super::SEVERITY;
use crate::lease::{Progress, SourceSnapshot, State, Status};

/// Sorts leases: in the order of [`SEVERITY`]; those that are stalled or have no leader by how long their work has not
/// moved, the longest first; and then by source and name, so that a healthy lease stays in its place.
pub fn worst_first<'a>(snapshot: &'a SourceSnapshot, status: &'a Status) -> impl Ord + use<'a> {
    let severity = SEVERITY.into_iter().position(|state| state == status.verdict.state);
    (severity, Reverse(unmoved(status)), &snapshot.source, &status.lease)
}

/// For how long the work of a lease that needs somebody has not moved, at least; `None`, which is less than any, where
/// that is not known or does not matter.
fn unmoved(status: &Status) -> Option<Duration> {
    if !matches!(status.verdict.state, State::Stalled | State::NoLeader) {
        return None;
    }
    match &status.evidence()?.progress {
        Progress::Made { when, .. } => when.shown().or_else(|| Some(when.age.lower()).filter(|age| !age.is_zero())),
        _ => None,
    }
}
