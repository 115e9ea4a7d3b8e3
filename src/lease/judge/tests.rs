//! The tables of the model, row by row, each with its state, its reason and its sentence.

use std::sync::Arc;
use std::time::Duration;

use super::super::anomaly::AnomalyCounts;
use super::super::label::{Column, ReadFailure};
use super::super::policy::AlertSet;
use super::super::record::Epoch;
use super::super::snapshot::Status;
use super::super::token::TokenKey;
use super::*;

mod authority;
mod progress;
mod unclaimed;

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

const LIMIT: Duration = s(300);

fn policy() -> Policy {
    Policy { stall_after: LIMIT, overdue_after: None, work: Work::Unstated, alerts: AlertSet::default() }
}

fn exact(seconds: u64) -> EventAge {
    EventAge { age: Age::exact(s(seconds)), source: AgeSource::StoredTime }
}

fn left(seconds: i64) -> RemainingTtl {
    RemainingTtl::Micros { at_least: Some(seconds * 1_000_000), at_most: seconds * 1_000_000 }
}

/// Held for an hour under epoch 7, renewed two seconds ago; progress four seconds ago; nothing due.
fn healthy() -> Evidence {
    Evidence {
        authority: AuthorityEvidence::Holder(Holder {
            token: Some(TokenKey::new(b"key").token("host-a")),
            others: Box::default(),
            epoch: Some(Epoch(7)),
            epoch_regressed: false,
            acquired: exact(3_600),
            renewed: exact(2),
            remaining_ttl: left(13),
            acquired_at: None,
            renewed_at: None,
        }),
        progress: made(exact(4), ProgressEpoch::Current),
        due: Due::Nothing,
        renewals_since_progress: Some(0),
    }
}

fn made(when: EventAge, under: ProgressEpoch) -> Progress {
    let epoch = Some(Epoch(if under == ProgressEpoch::Current { 7 } else { 6 }));
    Progress::Made { age: when, epoch, epoch_relation: under, stored_at: None }
}

fn waiting(count: u64, oldest: u64) -> Due {
    Due::Waiting { count: Some(count), oldest: Some(exact(oldest)), oldest_at: None }
}

fn holding(change: impl FnOnce(&mut Holder)) -> Evidence {
    let mut evidence = healthy();
    if let AuthorityEvidence::Holder(holding) = &mut evidence.authority {
        change(holding);
    }
    evidence
}

fn vacant(how: VacancyCause, since: u64) -> Evidence {
    Evidence {
        authority: AuthorityEvidence::Vacant { cause: how, since: exact(since), epoch: Some(Epoch(7)) },
        ..healthy()
    }
}

fn status(observation: Observation, kind: LeaseKind, policy: Policy) -> Status {
    Status {
        lease: "retention".into(),
        verdict: judge(&observation, kind, &policy),
        observation,
        policy: Arc::new(policy),
        anomalies: AnomalyCounts::default(),
    }
}

struct Case {
    case: &'static str,
    kind: LeaseKind,
    policy: Policy,
    evidence: Evidence,
    verdict: (Authority, ProgressState, State, Reason),
    sentence: &'static str,
}

fn check(cases: impl IntoIterator<Item = Case>) {
    for Case { case, kind, policy, evidence, verdict, sentence } in cases {
        let status = status(Ok(evidence), kind, policy);
        let Verdict { authority, progress, state, reason } = status.verdict;
        assert_eq!((authority, progress, state, reason), verdict, "{case}");
        assert_eq!(status.sentence().to_string(), sentence, "{case}");
    }
}

fn standing(
    case: &'static str,
    evidence: Evidence,
    verdict: (Authority, ProgressState, State, Reason),
    sentence: &'static str,
) -> Case {
    Case { case, kind: LeaseKind::Standing, policy: policy(), evidence, verdict, sentence }
}

const UNKNOWN: (ProgressState, State) = (ProgressState::Unknown, State::Unknown);

fn unknown(authority: Authority, reason: Reason) -> (Authority, ProgressState, State, Reason) {
    (authority, UNKNOWN.0, UNKNOWN.1, reason)
}

fn no_leader(authority: Authority, reason: Reason) -> (Authority, ProgressState, State, Reason) {
    (authority, ProgressState::Unknown, State::NoLeader, reason)
}

const ACTIVE: (Authority, ProgressState, State, Reason) =
    (Authority::Held, ProgressState::Advancing, State::Active, Reason::Progressing);
const IDLE: (Authority, ProgressState, State, Reason) =
    (Authority::Held, ProgressState::Idle, State::Idle, Reason::NothingDue);
const fn stalled(reason: Reason) -> (Authority, ProgressState, State, Reason) {
    (Authority::Held, ProgressState::Stalled, State::Stalled, reason)
}
