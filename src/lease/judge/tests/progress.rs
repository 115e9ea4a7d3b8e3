//! Whether work moves, and what bounds cannot decide.

use super::*;

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
            healthy_but(made(exact(300), ProgressEpoch::Current), waiting(14, 400)),
            ACTIVE,
            "renewed 2s ago by 186a…, last progress 5m ago, 14 are due, the oldest for 6m40s",
        ),
        standing(
            "progress beyond the limit, nothing due",
            healthy_but(made(exact(301), ProgressEpoch::Current), Due::Nothing),
            IDLE,
            "renewed 2s ago by 186a…, nothing is due; last progress 5m1s ago",
        ),
        standing(
            "progress beyond the limit, nothing due for longer than the limit",
            healthy_but(made(exact(9_000), ProgressEpoch::Current), waiting(2, 300)),
            IDLE,
            "renewed 2s ago by 186a…, nothing has been due for longer than 5m, 2 are due, the oldest for 5m; \
             last progress 2h30m ago",
        ),
        standing(
            "progress beyond the limit, work due for longer than that",
            healthy_but(made(exact(432), ProgressEpoch::Current), waiting(14, 420)),
            stalled(Reason::NoProgress),
            "renewed 2s ago by 186a…, no progress for 7m12s while 14 are due, the oldest for 7m; the limit is 5m",
        ),
        standing(
            "no progress under this epoch for longer than the limit, work due",
            healthy_but(made(exact(4_000), ProgressEpoch::Earlier), waiting(1, 420)),
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
                progress: made(exact(1), ProgressEpoch::Earlier),
                due: waiting(3, 60),
                ..holding(|holding| holding.acquired = exact(10))
            },
            unknown(Authority::Held, Reason::AwaitingFirstProgress),
            "renewed 2s ago by 186a…, newly acquired and no progress yet, 3 are due, the oldest for 1m; \
             judged after 5m",
        ),
        standing(
            "beyond the limit, due not known",
            healthy_but(made(exact(301), ProgressEpoch::Current), Due::NotKnown),
            unknown(Authority::Held, Reason::DueUnknown),
            "renewed 2s ago by 186a…, last progress 5m1s ago; whether work has been due for long is not known",
        ),
        standing(
            "beyond the limit, due for an unknown time",
            healthy_but(
                made(exact(301), ProgressEpoch::Current),
                Due::Waiting { count: Some(5), oldest: None, oldest_at: None },
            ),
            unknown(Authority::Held, Reason::DueUnknown),
            "renewed 2s ago by 186a…, last progress 5m1s ago; whether work has been due for long is not known",
        ),
        with(
            continuous,
            standing(
                "beyond the limit, always something to do",
                healthy_but(made(exact(301), ProgressEpoch::Current), Due::NotKnown),
                stalled(Reason::NoProgress),
                "renewed 2s ago by 186a…, no progress for 5m1s though there is always work to do; the limit is 5m",
            ),
        ),
        with(
            continuous,
            standing(
                "a store that says that nothing is due outweighs the policy",
                healthy_but(made(exact(301), ProgressEpoch::Current), Due::Nothing),
                IDLE,
                "renewed 2s ago by 186a…, nothing is due; last progress 5m1s ago",
            ),
        ),
        with(
            cadence,
            standing(
                "within the cadence",
                healthy_but(made(exact(3_600), ProgressEpoch::Current), Due::NotKnown),
                IDLE,
                "renewed 2s ago by 186a…, nothing is overdue at one run every 1h; last progress 1h ago",
            ),
        ),
        with(
            cadence,
            standing(
                "past the cadence by no more than the limit",
                healthy_but(made(exact(3_900), ProgressEpoch::Current), Due::NotKnown),
                IDLE,
                "renewed 2s ago by 186a…, nothing is overdue at one run every 1h; last progress 1h5m ago",
            ),
        ),
        with(
            cadence,
            standing(
                "past the cadence by more than the limit",
                healthy_but(made(exact(3_901), ProgressEpoch::Current), Due::NotKnown),
                stalled(Reason::NoProgress),
                "renewed 2s ago by 186a…, no progress for 1h5m though a run is due every 1h; the limit is 5m",
            ),
        ),
        with(
            cadence,
            standing(
                "a takeover puts off no run that is overdue",
                Evidence {
                    progress: made(exact(9_000), ProgressEpoch::Earlier),
                    due: Due::NotKnown,
                    ..holding(|holding| holding.acquired = exact(301))
                },
                stalled(Reason::NeverProgressed),
                "renewed 2s ago by 186a…, no progress since it was acquired 5m1s ago though a run is due every 1h; \
                 the limit is 5m",
            ),
        ),
        with(
            overdue,
            standing(
                "the oldest waits too long though other work moves",
                healthy_but(made(exact(4), ProgressEpoch::Current), waiting(1, 1_801)),
                stalled(Reason::WorkStuck),
                "renewed 2s ago by 186a…, 1 is due, for 30m1s; the limit is 30m, even while other work moves",
            ),
        ),
        standing(
            "the same without that policy",
            healthy_but(made(exact(4), ProgressEpoch::Current), waiting(1, 1_801)),
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
            "renewed 2s ago by 186a…, the record lacks a value that decides its state",
        ),
        standing(
            "progress of an epoch that is not there yet",
            healthy_but(made(exact(4), ProgressEpoch::Later), Due::Nothing),
            unknown(Authority::Held, Reason::EpochRegressed),
            "renewed 2s ago by 186a…, its epoch went backwards, so fencing cannot be relied on",
        ),
    ]);
}

#[test]
fn a_state_that_the_bounds_do_not_decide_is_unknown_with_its_reason() {
    let observed = |age, source| Evidence {
        progress: made(EventAge { age, source }, ProgressEpoch::Current),
        due: waiting(2, 400),
        ..healthy()
    };
    check([
        standing(
            "a cursor seen for the first time",
            observed(Age::at_least(s(100)), AgeSource::FirstReading),
            unknown(Authority::Held, Reason::NotObservedYet),
            "renewed 2s ago by 186a…, not watched for long enough to tell; the limit is 5m",
        ),
        standing(
            "a cursor that has not moved for longer than the limit since then",
            observed(Age::at_least(s(301)), AgeSource::FirstReading),
            stalled(Reason::NoProgress),
            "renewed 2s ago by 186a…, no progress for at least 5m1s while 2 are due, the oldest for 6m40s; \
             the limit is 5m",
        ),
        standing(
            "a cursor that moved within a gap",
            observed(Age::between(s(0), s(600)), AgeSource::ChangeBetweenReadings),
            unknown(Authority::Held, Reason::ObservationGap),
            "renewed 2s ago by 186a…, last progress 0s ago or up to 10m ago, between two readings; the limit \
             is 5m",
        ),
        standing(
            "a cursor that moved within a gap shorter than the limit",
            observed(Age::between(s(0), s(299)), AgeSource::ChangeBetweenReadings),
            ACTIVE,
            "renewed 2s ago by 186a…, last progress 0s ago, 2 are due, the oldest for 6m40s",
        ),
        standing(
            "a progress time in the future",
            observed(Age::UNBOUNDED, AgeSource::FutureTime),
            unknown(Authority::Held, Reason::ClockSkew),
            "renewed 2s ago by 186a…, times in the store disagree with each other or lie in the future",
        ),
        standing(
            "a stored time that is contradicted, but no move watched for longer than the limit",
            observed(Age::at_least(s(301)), AgeSource::ContradictedTime),
            stalled(Reason::NoProgress),
            "renewed 2s ago by 186a…, no progress for at least 5m1s while 2 are due, the oldest for 6m40s; \
             the limit is 5m",
        ),
        standing(
            "bounds that do not decide where both answers agree",
            Evidence {
                progress: Progress::Never,
                ..holding(|holding| {
                    holding.acquired = EventAge { age: Age::UNBOUNDED, source: AgeSource::FirstReading }
                })
            },
            IDLE,
            "renewed 2s ago by 186a…, nothing is due; no progress is recorded",
        ),
        standing(
            "due times that do not decide",
            Evidence {
                progress: made(exact(400), ProgressEpoch::Current),
                due: Due::Waiting {
                    count: Some(2),
                    oldest: Some(EventAge { age: Age::between(s(299), s(303)), source: AgeSource::StoredTime }),
                    oldest_at: None,
                },
                ..healthy()
            },
            unknown(Authority::Held, Reason::ClockSkew),
            "renewed 2s ago by 186a…, the times are too close to a limit, or to each other, to tell",
        ),
        standing(
            "progress that may be the holder's or its predecessor's, and would count",
            Evidence {
                progress: made(exact(10), ProgressEpoch::Unattributed),
                due: waiting(2, 100),
                ..holding(|holding| holding.acquired = exact(10))
            },
            unknown(Authority::Held, Reason::AwaitingFirstProgress),
            "renewed 2s ago by 186a…, newly acquired and no progress yet, 2 are due, the oldest for 1m40s; \
             judged after 5m",
        ),
        standing(
            "the same while nothing is due, which would be active or idle, where nobody saw when it was acquired",
            Evidence {
                progress: made(exact(10), ProgressEpoch::Unattributed),
                ..holding(|holding| {
                    holding.acquired = EventAge { age: Age::UNBOUNDED, source: AgeSource::FirstReading }
                })
            },
            unknown(Authority::Held, Reason::NotObservedYet),
            "renewed 2s ago by 186a…, not watched for long enough to tell; the limit is 5m",
        ),
        standing(
            "the same where it was acquired between two readings",
            Evidence {
                progress: made(exact(10), ProgressEpoch::Unattributed),
                ..holding(|holding| {
                    holding.acquired =
                        EventAge { age: Age::between(s(0), s(20)), source: AgeSource::ChangeBetweenReadings };
                })
            },
            unknown(Authority::Held, Reason::NotObservedYet),
            "renewed 2s ago by 186a…, not watched for long enough to tell; the limit is 5m",
        ),
        standing(
            "the same where two stored times are too close to tell",
            Evidence {
                progress: made(exact(10), ProgressEpoch::Unattributed),
                ..holding(|holding| {
                    holding.acquired = EventAge { age: Age::between(s(9), s(11)), source: AgeSource::StoredTime };
                })
            },
            unknown(Authority::Held, Reason::ClockSkew),
            "renewed 2s ago by 186a…, the times are too close to a limit, or to each other, to tell",
        ),
        standing(
            "the same, but too old to count either way",
            Evidence {
                progress: made(exact(400), ProgressEpoch::Unattributed),
                due: waiting(2, 400),
                ..holding(|holding| holding.acquired = exact(400))
            },
            stalled(Reason::NoProgress),
            "renewed 2s ago by 186a…, no progress for 6m40s while 2 are due, the oldest for 6m40s; the limit is 5m",
        ),
    ]);
}
