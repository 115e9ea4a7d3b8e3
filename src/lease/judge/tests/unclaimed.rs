//! Verdicts on leases without a holder, by the kind of lease.

use super::*;

#[test]
fn the_state_of_a_vacant_lease_depends_on_its_kind() {
    let claim = |case: Case| Case { kind: LeaseKind::Claim, ..case };
    let registry = |case: Case| Case { kind: LeaseKind::Registry, ..case };
    let unclaimed = |due| Evidence {
        progress: made(exact(400), ProgressEpoch::Unattributed),
        due,
        ..vacant(VacancyCause::Absent, 60)
    };
    let claim_idle = (Authority::Vacant, ProgressState::Idle, State::Idle, Reason::NothingDue);
    check([
        registry(standing(
            "nobody beats any more",
            Evidence {
                progress: made(exact(60), ProgressEpoch::Current),
                ..holding(|holding| holding.remaining_ttl = left(-30))
            },
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
            "nobody holds it while 1 is due, for 5m1s; the limit is 5m",
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
                "nobody holds it though a run is due every 1m; last progress 6m40s ago",
            )
        }),
        claim(standing(
            "a claim that ran out, nothing due",
            Evidence {
                progress: made(exact(60), ProgressEpoch::Current),
                ..holding(|holding| holding.remaining_ttl = left(-30))
            },
            (Authority::Expired, ProgressState::Idle, State::Idle, Reason::NothingDue),
            "the lease of 186a… expired 30s ago, nothing is due; last progress 1m ago",
        )),
        standing(
            "progress surely made after the lease ended",
            Evidence {
                progress: made(exact(5), ProgressEpoch::Current),
                ..holding(|holding| holding.remaining_ttl = left(-30))
            },
            unknown(Authority::Expired, Reason::ProgressWithoutAuthority),
            "the lease of 186a… expired 30s ago, yet there was progress 5s ago",
        ),
        standing(
            "the same, but so long ago that it is fresh no more",
            Evidence {
                progress: made(exact(301), ProgressEpoch::Current),
                ..holding(|holding| holding.remaining_ttl = left(-600))
            },
            no_leader(Authority::Expired, Reason::Expired),
            "the lease of 186a… expired 10m ago, and nobody has taken over",
        ),
        standing(
            "progress after a release that was seen",
            Evidence { progress: made(exact(5), ProgressEpoch::Unattributed), ..vacant(VacancyCause::Released, 30) },
            unknown(Authority::Vacant, Reason::ProgressWithoutAuthority),
            "nobody holds it, yet there was progress 5s ago",
        ),
        standing(
            "progress after the lease had ended, where a tenure may have passed unseen",
            Evidence {
                authority: AuthorityEvidence::Vacant { cause: VacancyCause::Absent, since: exact(30), epoch: None },
                progress: made(exact(5), ProgressEpoch::Unattributed),
                ..healthy()
            },
            no_leader(Authority::Vacant, Reason::Absent),
            "the store names no holder",
        ),
    ]);
}
