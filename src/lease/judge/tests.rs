//! The tables of the model, row by row, each with its state, its reason and its sentence.

use std::sync::Arc;
use std::time::Duration;

use super::super::label::{Column, ReadFailure};
use super::super::policy::AlertSet;
use super::super::record::Epoch;
use super::super::status::{Anomalies, Status};
use super::super::token::TokenKey;
use super::*;

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

const LIMIT: Duration = s(300);

fn policy() -> Policy {
    Policy { stall_after: LIMIT, overdue_after: None, work: Work::Unstated, alerts: AlertSet::default() }
}

fn exact(seconds: u64) -> Dated {
    Dated { age: Age::exact(s(seconds)), basis: Basis::Stored }
}

fn left(seconds: i64) -> Left {
    Left::Micros { at_least: Some(seconds * 1_000_000), at_most: seconds * 1_000_000 }
}

/// Held for an hour under epoch 7, renewed two seconds ago; progress four seconds ago; nothing due.
fn healthy() -> Evidence {
    Evidence {
        tenure: Tenure::Holder(Holding {
            holder: Some(TokenKey::new(b"key").token("host-a")),
            others: Box::default(),
            epoch: Some(Epoch(7)),
            epoch_regressed: false,
            acquired: exact(3_600),
            renewed: exact(2),
            left: left(13),
            acquired_at: None,
            renewed_at: None,
        }),
        progress: made(exact(4), Under::Current),
        due: Due::Nothing,
        renewals_since_progress: Some(0),
    }
}

fn made(when: Dated, under: Under) -> Progress {
    let epoch = Some(Epoch(if under == Under::Current { 7 } else { 6 }));
    Progress::Made { when, epoch, under, at: None }
}

fn waiting(count: u64, oldest: u64) -> Due {
    Due::Waiting { count: Some(count), oldest: Some(exact(oldest)) }
}

fn holding(change: impl FnOnce(&mut Holding)) -> Evidence {
    let mut evidence = healthy();
    if let Tenure::Holder(holding) = &mut evidence.tenure {
        change(holding);
    }
    evidence
}

fn vacant(how: Vacancy, since: u64) -> Evidence {
    Evidence { tenure: Tenure::Vacant { how, since: exact(since), epoch: None }, ..healthy() }
}

fn status(observation: Observation, kind: Kind, policy: Policy) -> Status {
    Status {
        lease: "retention".into(),
        verdict: judge(&observation, kind, &policy),
        observation,
        policy: Arc::new(policy),
        anomalies: Anomalies::default(),
    }
}

struct Case {
    says: &'static str,
    kind: Kind,
    policy: Policy,
    evidence: Evidence,
    verdict: (Authority, ProgressState, State, Reason),
    sentence: &'static str,
}

fn check(cases: impl IntoIterator<Item = Case>) {
    for Case { says, kind, policy, evidence, verdict, sentence } in cases {
        let status = status(Observation::Seen(evidence), kind, policy);
        let Verdict { authority, progress, state, reason } = status.verdict;
        assert_eq!((authority, progress, state, reason), verdict, "{says}");
        assert_eq!(status.sentence().to_string(), sentence, "{says}");
    }
}

fn standing(
    says: &'static str,
    evidence: Evidence,
    verdict: (Authority, ProgressState, State, Reason),
    sentence: &'static str,
) -> Case {
    Case { says, kind: Kind::Standing, policy: policy(), evidence, verdict, sentence }
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

#[test]
fn authority_is_held_vacant_expired_or_unknown() {
    let at_least = |at_least: Option<i64>, at_most: i64| {
        holding(|holding| {
            holding.left = Left::Micros { at_least, at_most };
            holding.renewed.basis = Basis::FirstSeen;
        })
    };
    check([
        standing(
            "no record",
            vacant(Vacancy::Absent, 1),
            no_leader(Authority::Vacant, Reason::Absent),
            "the store has no record of a holder",
        ),
        standing(
            "a record without holder",
            vacant(Vacancy::Released, 1),
            no_leader(Authority::Vacant, Reason::Released),
            "the holder gave it back and nobody has taken it",
        ),
        standing(
            "a holder whose time is up, by an expiry time",
            Evidence { progress: made(exact(60), Under::Current), ..holding(|holding| holding.left = left(-30)) },
            no_leader(Authority::Expired, Reason::Expired),
            "the lease of 186a… expired 30s ago, and nobody has taken over",
        ),
        standing(
            "a holder whose time is up this very moment",
            Evidence { progress: made(exact(60), Under::Current), ..holding(|holding| holding.left = left(0)) },
            no_leader(Authority::Expired, Reason::Expired),
            "the lease of 186a… expired 0s ago, and nobody has taken over",
        ),
        standing(
            "the key being there is the lease",
            holding(|holding| holding.left = Left::WhilePresent),
            ACTIVE,
            "renewed 2s ago by 186a…, last progress 4s ago",
        ),
        standing(
            "a TTL from a renewal that is not bounded, seen for the first time",
            at_least(None, 15_000_000),
            unknown(Authority::Unknown, Reason::NotObservedYet),
            "renewed 2s ago by 186a…, not watched for long enough to tell; the limit is 5m",
        ),
        standing(
            "the same, its time surely up",
            Evidence { progress: Progress::Never, ..at_least(None, -1) },
            no_leader(Authority::Expired, Reason::Expired),
            "the lease of 186a… expired 0s ago, and nobody has taken over",
        ),
        standing(
            "a holder's clock that leaves open whether its time is up",
            holding(|holding| holding.left = Left::Micros { at_least: Some(-1), at_most: 1 }),
            unknown(Authority::Unknown, Reason::ClockSkew),
            "renewed 2s ago by 186a…, times in the store disagree with each other or lie in the future",
        ),
        standing(
            "a record that does not say when it expires",
            holding(|holding| holding.left = Left::NotKnown),
            unknown(Authority::Unknown, Reason::InvalidRecord),
            "renewed 2s ago by 186a…, the record leaves out what would tell",
        ),
        standing(
            "a renewal in the future",
            holding(|holding| holding.renewed = Dated { age: Age::UNBOUNDED, basis: Basis::Future }),
            unknown(Authority::Unknown, Reason::ClockSkew),
            "held by 186a…, times in the store disagree with each other or lie in the future",
        ),
        standing(
            "an acquisition in the future",
            holding(|holding| holding.acquired = Dated { age: Age::UNBOUNDED, basis: Basis::Future }),
            unknown(Authority::Unknown, Reason::ClockSkew),
            "renewed 2s ago by 186a…, times in the store disagree with each other or lie in the future",
        ),
        standing(
            "an epoch that went backwards",
            holding(|holding| holding.epoch_regressed = true),
            unknown(Authority::Unknown, Reason::EpochRegressed),
            "renewed 2s ago by 186a…, its epoch went backwards, so fencing cannot be relied on",
        ),
    ]);
}

#[test]
fn progress_is_advancing_idle_stalled_or_unknown() {
    let healthy_but = |progress, due| Evidence { progress, due, ..healthy() };
    let newly_acquired =
        |due| Evidence { progress: Progress::Never, due, ..holding(|holding| holding.acquired = exact(10)) };
    let with = |policy: Policy, case: Case| Case { policy, ..case };
    let continuous = Policy { work: Work::Continuous, ..policy() };
    let cadence = Policy { work: Work::Cadence(s(3_600)), ..policy() };
    let overdue = Policy { overdue_after: Some(s(1_800)), ..policy() };
    check([
        standing("progress within the limit", healthy(), ACTIVE, "renewed 2s ago by 186a…, last progress 4s ago"),
        standing(
            "progress within the limit while work waits",
            healthy_but(made(exact(300), Under::Current), waiting(14, 400)),
            ACTIVE,
            "renewed 2s ago by 186a…, last progress 5m ago, 14 are due, the oldest for 6m40s",
        ),
        standing(
            "progress beyond the limit, nothing due",
            healthy_but(made(exact(301), Under::Current), Due::Nothing),
            IDLE,
            "renewed 2s ago by 186a…, nothing is due; last progress 5m1s ago",
        ),
        standing(
            "progress beyond the limit, nothing due for longer than the limit",
            healthy_but(made(exact(9_000), Under::Current), waiting(2, 300)),
            IDLE,
            "renewed 2s ago by 186a…, nothing has been due for longer than 5m, 2 are due, the oldest for 5m; \
             last progress 2h30m ago",
        ),
        standing(
            "progress beyond the limit, work due for longer than that",
            healthy_but(made(exact(432), Under::Current), waiting(14, 420)),
            stalled(Reason::NoProgress),
            "renewed 2s ago by 186a…, no progress for 7m12s while 14 are due, the oldest for 7m; the limit is 5m",
        ),
        standing(
            "no progress under this epoch for longer than the limit, work due",
            healthy_but(made(exact(4_000), Under::Earlier), waiting(1, 420)),
            stalled(Reason::NeverProgressed),
            "renewed 2s ago by 186a…, no progress since it was acquired 1h ago while 1 is due, for 7m; \
             the limit is 5m",
        ),
        standing(
            "newly acquired, nothing due",
            newly_acquired(Due::Nothing),
            IDLE,
            "renewed 2s ago by 186a…, nothing is due; no progress is recorded",
        ),
        standing(
            "newly acquired, work due",
            newly_acquired(waiting(3, 60)),
            unknown(Authority::Held, Reason::AwaitingFirstProgress),
            "renewed 2s ago by 186a…, newly acquired and no progress yet, 3 are due, the oldest for 1m; \
             judged after 5m",
        ),
        standing(
            "newly acquired, due not known",
            newly_acquired(Due::NotKnown),
            unknown(Authority::Held, Reason::AwaitingFirstProgress),
            "renewed 2s ago by 186a…, newly acquired and no progress yet; judged after 5m",
        ),
        standing(
            "progress of an earlier epoch does not count, however fresh",
            Evidence {
                progress: made(exact(1), Under::Earlier),
                due: waiting(3, 60),
                ..holding(|holding| holding.acquired = exact(10))
            },
            unknown(Authority::Held, Reason::AwaitingFirstProgress),
            "renewed 2s ago by 186a…, newly acquired and no progress yet, 3 are due, the oldest for 1m; \
             judged after 5m",
        ),
        standing(
            "beyond the limit, due not known",
            healthy_but(made(exact(301), Under::Current), Due::NotKnown),
            unknown(Authority::Held, Reason::DueUnknown),
            "renewed 2s ago by 186a…, last progress 5m1s ago; whether work has been due for long is not known",
        ),
        standing(
            "beyond the limit, due for an unknown time",
            healthy_but(made(exact(301), Under::Current), Due::Waiting { count: Some(5), oldest: None }),
            unknown(Authority::Held, Reason::DueUnknown),
            "renewed 2s ago by 186a…, last progress 5m1s ago; whether work has been due for long is not known",
        ),
        with(
            continuous,
            standing(
                "beyond the limit, always something to do",
                healthy_but(made(exact(301), Under::Current), Due::NotKnown),
                stalled(Reason::NoProgress),
                "renewed 2s ago by 186a…, no progress for 5m1s though there is always work to do; the limit is 5m",
            ),
        ),
        with(
            continuous,
            standing(
                "a store that says that nothing is due outweighs the policy",
                healthy_but(made(exact(301), Under::Current), Due::Nothing),
                IDLE,
                "renewed 2s ago by 186a…, nothing is due; last progress 5m1s ago",
            ),
        ),
        with(
            cadence,
            standing(
                "within the cadence",
                healthy_but(made(exact(3_600), Under::Current), Due::NotKnown),
                IDLE,
                "renewed 2s ago by 186a…, nothing is overdue at one run every 1h; last progress 1h ago",
            ),
        ),
        with(
            cadence,
            standing(
                "past the cadence by no more than the limit",
                healthy_but(made(exact(3_900), Under::Current), Due::NotKnown),
                IDLE,
                "renewed 2s ago by 186a…, nothing is overdue at one run every 1h; last progress 1h5m ago",
            ),
        ),
        with(
            cadence,
            standing(
                "past the cadence by more than the limit",
                healthy_but(made(exact(3_901), Under::Current), Due::NotKnown),
                stalled(Reason::NoProgress),
                "renewed 2s ago by 186a…, no progress for 1h5m though a run is due every 1h; the limit is 5m",
            ),
        ),
        with(
            overdue,
            standing(
                "the oldest waits too long though other work moves",
                healthy_but(made(exact(4), Under::Current), waiting(1, 1_801)),
                stalled(Reason::WorkStuck),
                "renewed 2s ago by 186a…, 1 is due, for 30m1s; the limit is 30m, even while other work moves",
            ),
        ),
        standing(
            "the same without that policy",
            healthy_but(made(exact(4), Under::Current), waiting(1, 1_801)),
            ACTIVE,
            "renewed 2s ago by 186a…, last progress 4s ago, 1 is due, for 30m1s",
        ),
        standing(
            "nothing reported",
            healthy_but(Progress::NotReported, Due::NotKnown),
            unknown(Authority::Held, Reason::ProgressNotReported),
            "renewed 2s ago by 186a…, the source says nothing of progress",
        ),
        standing(
            "a record that leaves out when progress was",
            healthy_but(Progress::Incomplete, Due::Nothing),
            unknown(Authority::Held, Reason::InvalidRecord),
            "renewed 2s ago by 186a…, the record leaves out what would tell",
        ),
        standing(
            "progress of an epoch that is not there yet",
            healthy_but(made(exact(4), Under::Later), Due::Nothing),
            unknown(Authority::Held, Reason::EpochRegressed),
            "renewed 2s ago by 186a…, its epoch went backwards, so fencing cannot be relied on",
        ),
    ]);
}

#[test]
fn what_bounds_cannot_decide_is_unknown_and_the_reason_tells_why() {
    let observed = |age, basis| Evidence {
        progress: made(Dated { age, basis }, Under::Current),
        due: waiting(2, 400),
        ..healthy()
    };
    check([
        standing(
            "a cursor seen for the first time",
            observed(Age::at_least(s(100)), Basis::FirstSeen),
            unknown(Authority::Held, Reason::NotObservedYet),
            "renewed 2s ago by 186a…, not watched for long enough to tell; the limit is 5m",
        ),
        standing(
            "a cursor that has not moved for longer than the limit since then",
            observed(Age::at_least(s(301)), Basis::FirstSeen),
            stalled(Reason::NoProgress),
            "renewed 2s ago by 186a…, no progress for at least 5m1s while 2 are due, the oldest for 6m40s; \
             the limit is 5m",
        ),
        standing(
            "a cursor that moved within a gap",
            observed(Age::between(s(0), s(600)), Basis::SeenToChange),
            unknown(Authority::Held, Reason::ObservationGap),
            "renewed 2s ago by 186a…, it was not watched for a while and what is known does not tell; \
             the limit is 5m",
        ),
        standing(
            "a cursor that moved within a gap shorter than the limit",
            observed(Age::between(s(0), s(299)), Basis::SeenToChange),
            ACTIVE,
            "renewed 2s ago by 186a…, last progress 0s ago, 2 are due, the oldest for 6m40s",
        ),
        standing(
            "a progress time in the future",
            observed(Age::UNBOUNDED, Basis::Future),
            unknown(Authority::Held, Reason::ClockSkew),
            "renewed 2s ago by 186a…, times in the store disagree with each other or lie in the future",
        ),
        standing(
            "a stored time that is contradicted, but no move watched for longer than the limit",
            observed(Age::at_least(s(301)), Basis::Contradicted),
            stalled(Reason::NoProgress),
            "renewed 2s ago by 186a…, no progress for at least 5m1s while 2 are due, the oldest for 6m40s; \
             the limit is 5m",
        ),
        standing(
            "bounds that do not decide where both answers agree",
            Evidence {
                progress: Progress::Never,
                ..holding(|holding| holding.acquired = Dated { age: Age::UNBOUNDED, basis: Basis::FirstSeen })
            },
            IDLE,
            "renewed 2s ago by 186a…, nothing is due; no progress is recorded",
        ),
        standing(
            "due times that do not decide",
            Evidence {
                progress: made(exact(400), Under::Current),
                due: Due::Waiting {
                    count: Some(2),
                    oldest: Some(Dated { age: Age::between(s(299), s(303)), basis: Basis::Stored }),
                },
                ..healthy()
            },
            unknown(Authority::Held, Reason::ClockSkew),
            "renewed 2s ago by 186a…, times in the store disagree with each other or lie in the future",
        ),
    ]);
}

#[test]
fn without_a_holder_the_kind_of_source_decides() {
    let claim = |case: Case| Case { kind: Kind::Claim, ..case };
    let registry = |case: Case| Case { kind: Kind::Registry, ..case };
    let unclaimed =
        |due| Evidence { progress: made(exact(400), Under::Unattributed), due, ..vacant(Vacancy::Absent, 60) };
    let claim_idle = (Authority::Vacant, ProgressState::Idle, State::Idle, Reason::NothingDue);
    check([
        registry(standing(
            "nobody beats any more",
            Evidence { progress: made(exact(60), Under::Current), ..holding(|holding| holding.left = left(-30)) },
            no_leader(Authority::Expired, Reason::Expired),
            "the lease of 186a… expired 30s ago, and nobody has taken over",
        )),
        claim(standing(
            "a claim that nobody holds, nothing due",
            unclaimed(Due::Nothing),
            claim_idle,
            "nothing is due; last progress 6m40s ago",
        )),
        claim(standing(
            "a claim that nobody holds, due but not for long",
            unclaimed(waiting(1, 300)),
            claim_idle,
            "nothing has been due for longer than 5m, 1 is due, for 5m; last progress 6m40s ago",
        )),
        claim(standing(
            "a claim that nobody holds, overdue",
            unclaimed(waiting(1, 301)),
            no_leader(Authority::Vacant, Reason::Absent),
            "the store has no record of a holder",
        )),
        claim(standing(
            "a claim that nobody holds, due not known",
            unclaimed(Due::NotKnown),
            unknown(Authority::Vacant, Reason::DueUnknown),
            "last progress 6m40s ago; whether work has been due for long is not known",
        )),
        claim(Case {
            policy: Policy { work: Work::Cadence(s(60)), ..policy() },
            ..standing(
                "a claim that nobody holds, its run overdue by its cadence",
                unclaimed(Due::NotKnown),
                no_leader(Authority::Vacant, Reason::Absent),
                "the store has no record of a holder",
            )
        }),
        claim(standing(
            "a claim that ran out, nothing due",
            Evidence { progress: made(exact(60), Under::Current), ..holding(|holding| holding.left = left(-30)) },
            (Authority::Expired, ProgressState::Idle, State::Idle, Reason::NothingDue),
            "the lease of 186a… expired 30s ago, nothing is due; last progress 1m ago",
        )),
        standing(
            "progress surely made after the lease ended",
            Evidence { progress: made(exact(5), Under::Current), ..holding(|holding| holding.left = left(-30)) },
            unknown(Authority::Expired, Reason::ProgressWithoutAuthority),
            "the lease of 186a… expired 30s ago, the lease had ended, yet last progress 5s ago",
        ),
        standing(
            "the same, but so long ago that it is fresh no more",
            Evidence { progress: made(exact(301), Under::Current), ..holding(|holding| holding.left = left(-600)) },
            no_leader(Authority::Expired, Reason::Expired),
            "the lease of 186a… expired 10m ago, and nobody has taken over",
        ),
        standing(
            "progress after a release that was seen",
            Evidence { progress: made(exact(5), Under::Unattributed), ..vacant(Vacancy::Released, 30) },
            unknown(Authority::Vacant, Reason::ProgressWithoutAuthority),
            "the lease had ended, yet last progress 5s ago",
        ),
    ]);
}

#[test]
fn what_could_not_be_looked_at_is_unknown() {
    for (why, reason, sentence) in [
        (
            Unseen::Source(ReadFailure::Unreachable),
            Reason::StoreUnreachable,
            "the store could not be reached, so nothing is known now",
        ),
        (
            Unseen::Source(ReadFailure::Timeout),
            Reason::StoreTimeout,
            "the store did not answer in time, so nothing is known now",
        ),
        (
            Unseen::Source(ReadFailure::Refused),
            Reason::StoreRefused,
            "the store answered with an error, so nothing is known now",
        ),
        (
            Unseen::Source(ReadFailure::SchemaMismatch),
            Reason::SchemaMismatch,
            "the store lacks the tables or columns asked for, so nothing is known now",
        ),
        (
            Unseen::Source(ReadFailure::InvalidRecord),
            Reason::InvalidRecord,
            "the store's answer breaks the contract, so nothing is known now",
        ),
        (Unseen::Record(Column::Epoch), Reason::InvalidRecord, "the record breaks the contract in its column `epoch`"),
        (
            Unseen::Duplicate,
            Reason::InvalidRecord,
            "the store has several records of this lease, and only one can be right",
        ),
    ] {
        for kind in Kind::ALL {
            let status = status(Observation::Unseen(why), kind, policy());
            assert_eq!(status.verdict, Verdict::unknown(Authority::Unknown, reason));
            assert_eq!(status.sentence().to_string(), sentence);
        }
    }
}
