//! What the exporter shows of the lease at one moment.

use std::time::Duration;

use crate::lease::{DatedAge, Progress, Reason, State, Status};

/// What the exporter shows of the lease.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shown {
    pub(super) state: State,
    pub(super) reason: Reason,
    pub(super) sentence: String,
    pub(super) lease_age: Option<Duration>,
    pub(super) progress_age: Option<Duration>,
}

impl Shown {
    /// The configuration names the lease, so this should never be needed; but the truth is what is told here.
    pub(super) fn nothing() -> Self {
        Self {
            state: State::Unknown,
            reason: Reason::NotObservedYet,
            sentence: "the exporter does not show the lease".to_owned(),
            lease_age: None,
            progress_age: None,
        }
    }

    pub(super) fn of(status: &Status) -> Self {
        let progress_age = match status.evidence().map(|evidence| evidence.progress) {
            Some(Progress::Made { when, .. }) => when.shown(),
            _ => None,
        };
        Self {
            state: status.verdict.state,
            reason: status.verdict.reason,
            sentence: status.sentence().to_string(),
            lease_age: status.holding().map(|holding| holding.renewed).as_ref().and_then(DatedAge::shown),
            progress_age,
        }
    }
}
