//! What changed from one look to the next, a line each: for a pipe, a file, or whoever keeps the lines.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::expose::DisplayName;
use crate::lease::{ReadFailure, Reason, SourceSnapshot, State};

/// What the last look at a source showed, so far as a change of it is told.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// By name. Not by the sentence, which is another at each look.
    leases: BTreeMap<Arc<str>, (State, Reason)>,
    outcome: Option<Result<(), ReadFailure>>,
}

impl Changes {
    /// The lines for what this look at the source shows and the last one did not. `time` begins each.
    pub(super) fn take_in(&mut self, snapshot: &SourceSnapshot, time: &str) -> Vec<String> {
        let source = DisplayName(&snapshot.source);
        let mut lines = Vec::new();
        let outcome = snapshot.health.outcome;
        match outcome {
            Err(failure) if self.outcome != Some(outcome) => {
                lines.push(format!("{time}  {source}  -  unread  {failure}  the source cannot be read"));
            }
            Ok(()) if self.outcome.is_some_and(|before| before.is_err()) => {
                lines.push(format!("{time}  {source}  -  read  -  the source can be read again"));
            }
            _ => {}
        }
        self.outcome = Some(outcome);
        let mut leases = BTreeMap::new();
        for status in &snapshot.leases {
            let now = (status.verdict.state, status.verdict.reason);
            if self.leases.remove(&status.lease) != Some(now) {
                let (state, reason) = now;
                let lease = DisplayName(&status.lease);
                lines.push(format!("{time}  {source}  {lease}  {state}  {reason}  {}", status.sentence()));
            }
            leases.insert(Arc::clone(&status.lease), now);
        }
        for gone in self.leases.keys() {
            lines.push(format!("{time}  {source}  {}  gone  -  the source no longer has it", DisplayName(gone)));
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
    fn the_first_look_tells_every_lease_and_the_next_what_changed_alone() {
        let mut changes = Changes::default();
        let mut snapshot = snapshots::many(3);
        let first = changes.take_in(&snapshot, "1");
        assert_eq!(first.len(), 3);
        assert!(first[0].starts_with("1  many  lease-00000  active  progressing  renewed 2s ago by "), "{first:?}");
        assert_eq!(changes.take_in(&snapshot, "2"), [""; 0]);
        snapshot.leases[1].verdict.state = State::Stalled;
        snapshot.leases.remove(2);
        let next = changes.take_in(&snapshot, "3");
        assert!(next[0].starts_with("3  many  lease-00001  stalled  progressing  "), "{next:?}");
        assert_eq!(next[1..], ["3  many  lease-00002  gone  -  the source no longer has it"]);
        assert_eq!(changes.take_in(&snapshot, "4"), [""; 0]);
    }

    #[test]
    fn a_source_that_cannot_be_read_is_told_once_with_its_leases_and_so_is_that_it_can_be_again() {
        let mut changes = Changes::default();
        let snapshot = snapshots::many(1);
        changes.take_in(&snapshot, "1");
        for (failure, time, told) in
            [(ReadFailure::Timeout, "2", 2), (ReadFailure::Timeout, "3", 0), (ReadFailure::Refused, "4", 2)]
        {
            let lines = changes.take_in(&snapshot.unread(failure, Duration::ZERO), time);
            assert_eq!(lines.len(), told, "{lines:?}");
            if told > 0 {
                assert_eq!(lines[0], format!("{time}  many  -  unread  {failure}  the source cannot be read"));
                assert!(lines[1].starts_with(&format!("{time}  many  lease-00000  unknown  {failure}  ")), "{lines:?}");
            }
        }
        let again = changes.take_in(&snapshot, "5");
        assert_eq!(again[0], "5  many  -  read  -  the source can be read again");
        assert_eq!(again.len(), 2);
    }

    #[test]
    fn a_name_stays_in_its_line() {
        let snapshots = snapshots::all();
        let hostile = snapshots.iter().flat_map(|snapshot| Changes::default().take_in(snapshot, "1"));
        for line in hostile {
            assert!(!line.contains(char::is_control), "{line:?}");
        }
    }
}
