//! The changes between two readings of a source, one line each, for pipes and files.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::expose::DisplayName;
use crate::lease::{ReadFailure, Reason, SourceSnapshot, State};

/// The result of the previous reading of a source.
#[derive(Debug, Default)]
pub(super) struct ChangeLog {
    /// By lease name. The sentence is left out, because it contains ages.
    leases: BTreeMap<Arc<str>, (State, Reason)>,
    outcome: Option<Result<(), ReadFailure>>,
}

impl ChangeLog {
    /// The lines for the differences to the previous reading. Each line begins with `time`.
    pub(super) fn update(&mut self, snapshot: &SourceSnapshot, time: &str) -> Vec<String> {
        let source = DisplayName(&snapshot.source);
        let mut lines = Vec::new();
        let outcome = snapshot.health.outcome;
        match outcome {
            Err(failure) if self.outcome != Some(outcome) => {
                lines.push(format!("{time}  {source}  -  unread  {failure}  the source cannot be read"));
            }
            Ok(()) if self.outcome.is_some_and(|previous| previous.is_err()) => {
                lines.push(format!("{time}  {source}  -  read  -  the source can be read again"));
            }
            _ => {}
        }
        self.outcome = Some(outcome);
        let mut leases = BTreeMap::new();
        for status in &snapshot.leases {
            let current = (status.verdict.state, status.verdict.reason);
            if self.leases.remove(&status.lease) != Some(current) {
                let (state, reason) = current;
                let lease = DisplayName(&status.lease);
                lines.push(format!("{time}  {source}  {lease}  {state}  {reason}  {}", status.sentence()));
            }
            leases.insert(Arc::clone(&status.lease), current);
        }
        for removed in self.leases.keys() {
            lines.push(format!("{time}  {source}  {}  gone  -  the source no longer has it", DisplayName(removed)));
        }
        self.leases = leases;
        lines
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::expose::testing::snapshots;

    #[test]
    fn the_first_reading_lists_every_lease_and_the_next_only_changes() {
        let mut changes = ChangeLog::default();
        let mut snapshot = snapshots::many(3);
        let first = changes.update(&snapshot, "1");
        assert_eq!(first.len(), 3);
        assert!(first[0].starts_with("1  many  lease-00000  active  progressing  renewed 2s ago by "), "{first:?}");
        assert_eq!(changes.update(&snapshot, "2"), [""; 0]);
        snapshot.leases[1].verdict.state = State::Stalled;
        snapshot.leases.remove(2);
        let next = changes.update(&snapshot, "3");
        assert!(next[0].starts_with("3  many  lease-00001  stalled  progressing  "), "{next:?}");
        assert_eq!(next[1..], ["3  many  lease-00002  gone  -  the source no longer has it"]);
        assert_eq!(changes.update(&snapshot, "4"), [""; 0]);
    }

    #[test]
    fn a_read_failure_is_listed_once_with_the_leases_and_so_is_the_recovery() {
        let mut changes = ChangeLog::default();
        let snapshot = snapshots::many(1);
        changes.update(&snapshot, "1");
        for (failure, time, count) in
            [(ReadFailure::Timeout, "2", 2), (ReadFailure::Timeout, "3", 0), (ReadFailure::Refused, "4", 2)]
        {
            let lines = changes.update(&snapshot.unread(failure, Duration::ZERO), time);
            assert_eq!(lines.len(), count, "{lines:?}");
            if count > 0 {
                assert_eq!(lines[0], format!("{time}  many  -  unread  {failure}  the source cannot be read"));
                assert!(lines[1].starts_with(&format!("{time}  many  lease-00000  unknown  {failure}  ")), "{lines:?}");
            }
        }
        let again = changes.update(&snapshot, "5");
        assert_eq!(again[0], "5  many  -  read  -  the source can be read again");
        assert_eq!(again.len(), 2);
    }

    #[test]
    fn names_contain_no_line_breaks() {
        let snapshots = snapshots::all();
        let hostile = snapshots.iter().flat_map(|snapshot| ChangeLog::default().update(snapshot, "1"));
        for line in hostile {
            assert!(!line.contains(char::is_control), "{line:?}");
        }
    }
}
