//! Verdicts on the authority, and on leases without evidence.

use super::*;

#[test]
fn authority_is_held_vacant_expired_or_unknown() {
    let at_least = |at_least: Option<i64>, at_most: i64| {
        holding(|holding| {
            holding.remaining_ttl = RemainingTtl::Micros { at_least, at_most };
            holding.renewed.source = AgeSource::FirstReading;
        })
    };
    check([
        standing(
            "no record",
            vacant(VacancyCause::Absent, 1),
            no_leader(Authority::Vacant, Reason::Absent),
            "the store names no holder",
        ),
        standing(
            "a record without holder",
            vacant(VacancyCause::Released, 1),
            no_leader(Authority::Vacant, Reason::Released),
            "the holder gave it back and nobody has taken it",
        ),
        standing(
            "a holder whose time is up, by an expiry time",
            Evidence {
                progress: made(exact(60), ProgressEpoch::Current),
                ..holding(|holding| holding.remaining_ttl = left(-30))
            },
            no_leader(Authority::Expired, Reason::Expired),
            "the lease of 186a… expired 30s ago, and nobody has taken over",
        ),
        standing(
            "a holder whose time is up this very moment",
            Evidence {
                progress: made(exact(60), ProgressEpoch::Current),
                ..holding(|holding| holding.remaining_ttl = left(0))
            },
            no_leader(Authority::Expired, Reason::Expired),
            "the lease of 186a… expired 0s ago, and nobody has taken over",
        ),
        standing(
            "the key being there is the lease",
            holding(|holding| holding.remaining_ttl = RemainingTtl::WhileRecordExists),
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
            "the lease of 186a… expired <1ms ago, and nobody has taken over",
        ),
        standing(
            "a holder's clock that leaves open whether its time is up",
            holding(|holding| holding.remaining_ttl = RemainingTtl::Micros { at_least: Some(-1), at_most: 1 }),
            unknown(Authority::Unknown, Reason::ClockSkew),
            "renewed 2s ago by 186a…, the times are too close to a limit, or to each other, to tell",
        ),
        standing(
            "a record that does not say when it expires",
            holding(|holding| holding.remaining_ttl = RemainingTtl::NotRecorded),
            unknown(Authority::Unknown, Reason::InvalidRecord),
            "renewed 2s ago by 186a…, the record lacks a value that decides its state",
        ),
        standing(
            "a renewal in the future",
            holding(|holding| holding.renewed = EventAge { age: Age::UNBOUNDED, source: AgeSource::FutureTime }),
            unknown(Authority::Unknown, Reason::ClockSkew),
            "held by 186a…, times in the store disagree with each other or lie in the future",
        ),
        standing(
            "an acquisition in the future",
            holding(|holding| holding.acquired = EventAge { age: Age::UNBOUNDED, source: AgeSource::FutureTime }),
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
fn a_lease_that_was_not_read_is_unknown() {
    for (why, reason, sentence) in [
        (
            ObservationFailure::Source(ReadFailure::Unreachable),
            Reason::StoreUnreachable,
            "the store could not be reached, so nothing is known now",
        ),
        (
            ObservationFailure::Source(ReadFailure::Timeout),
            Reason::StoreTimeout,
            "the store did not answer in time, so nothing is known now",
        ),
        (
            ObservationFailure::Source(ReadFailure::Refused),
            Reason::StoreRefused,
            "the store answered with an error, so nothing is known now",
        ),
        (
            ObservationFailure::Source(ReadFailure::SchemaMismatch),
            Reason::SchemaMismatch,
            "the store lacks a table or column that the query needs, so nothing is known now",
        ),
        (
            ObservationFailure::Source(ReadFailure::InvalidRecord),
            Reason::InvalidRecord,
            "the store's answer breaks the contract, so nothing is known now",
        ),
        (
            ObservationFailure::InvalidRecord(Column::Epoch),
            Reason::InvalidRecord,
            "the record breaks the contract in its column `epoch`",
        ),
        (
            ObservationFailure::LeaseOverLimit,
            Reason::NotObservedYet,
            "the source has more leases than `max_leases`, and this one was not read",
        ),
        (
            ObservationFailure::MembersOverLimit,
            Reason::NotObservedYet,
            "the source has more than 1000 records of this lease, and the others were not read",
        ),
        (
            ObservationFailure::DuplicateRecord,
            Reason::InvalidRecord,
            "the store has several records of this lease, and only one can be right",
        ),
    ] {
        for kind in LeaseKind::ALL {
            let status = status(Err(why), kind, policy());
            assert_eq!(status.verdict, Verdict::unknown(Authority::Unknown, reason));
            assert_eq!(status.sentence().to_string(), sentence);
        }
    }
}
