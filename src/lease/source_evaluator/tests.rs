//! The evaluation of one reading after another.

mod limits;

use std::collections::BTreeSet;

use super::super::*;
use super::*;

#[derive(Debug)]
struct Expecting(BTreeSet<&'static str>);

impl Policies for Expecting {
    fn policy(&self, _: &str) -> Arc<Policy> {
        Arc::new(Policy { stall_after: s(60), ..Policy::default() })
    }

    fn expected_leases(&self) -> Vec<Arc<str>> {
        self.0.iter().map(|lease| (*lease).into()).collect()
    }
}

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

const RULES: Rules = Rules {
    kind: LeaseKind::Standing,
    clock: Clock::Store,
    clock_skew: s(2),
    max_leases: 10,
    resolution: Duration::ZERO,
};

fn evaluator(rules: Rules) -> SourceEvaluator {
    let policies = Arc::new(Expecting(BTreeSet::from(["named"])));
    SourceEvaluator::new("source".into(), rules, TokenKey::new(b"key"), policies)
}

/// Store time, in seconds of the test.
fn t(seconds: i64) -> StoreTime {
    StoreTime::from_unix_seconds(1_800_000_000 + seconds).unwrap()
}

/// A lease as the reference protocol keeps it, renewed and progressed at `now`.
fn row(lease: &str, holder: &str, epoch: u64, now: i64) -> LeaseRecord {
    LeaseRecord {
        lease: Some(lease.into()),
        holder: Some(holder.into()),
        epoch: Some(Epoch(epoch)),
        acquired_at: Some(t(0)),
        renewed_at: Some(t(now)),
        expires_at: Some(t(now + 15)),
        ttl: None,
        persistent: false,
        progress_at: Some(t(now)),
        progress_epoch: Some(Epoch(epoch)),
        progress_cursor: Some(Cursor::Number(now)),
        due: Some(0),
        oldest_due_at: None,
    }
}

/// The same, acquired at another time than the first.
fn since(acquired: i64, row: LeaseRecord) -> LeaseRecord {
    LeaseRecord { acquired_at: Some(t(acquired)), ..row }
}

fn accepted(accepted: Vec<LeaseRecord>) -> RecordSet {
    RecordSet { accepted, ..RecordSet::default() }
}

fn reading(now: i64, columns: Columns, records: RecordSet) -> Reading {
    let at = s(now.unsigned_abs());
    let interval = ReadInterval { start: at, end: at };
    Reading { interval, store_now: t(now), clock_offset: 0.0, columns, records }
}

fn evaluate(evaluator: &mut SourceEvaluator, now: i64, records: Vec<LeaseRecord>) -> SourceSnapshot {
    evaluate_reading(evaluator, reading(now, Columns::all(), accepted(records)))
}

fn evaluate_reading(evaluator: &mut SourceEvaluator, reading: Reading) -> SourceSnapshot {
    evaluator.evaluate(reading, Duration::ZERO)
}

fn status<'a>(snapshot: &'a SourceSnapshot, lease: &str) -> &'a Status {
    snapshot.leases.iter().find(|status| &*status.lease == lease).unwrap()
}

fn state_and_reason(snapshot: &SourceSnapshot, lease: &str) -> (State, Reason) {
    let verdict = status(snapshot, lease).verdict;
    (verdict.state, verdict.reason)
}

fn counted(snapshot: &SourceSnapshot, lease: &str) -> Vec<(Anomaly, u64)> {
    let anomalies = status(snapshot, lease).anomalies;
    Anomaly::ALL.into_iter().map(|anomaly| (anomaly, anomalies.get(anomaly))).filter(|(_, count)| *count > 0).collect()
}

#[test]
fn a_configured_lease_has_a_status_before_it_has_a_record() {
    let mut evaluator = evaluator(RULES);
    assert_eq!(
        state_and_reason(&evaluator.fail(ReadFailure::Unreachable, s(1)), "named"),
        (State::Unknown, Reason::StoreUnreachable)
    );
    assert_eq!(state_and_reason(&evaluate(&mut evaluator, 10, Vec::new()), "named"), (State::NoLeader, Reason::Absent));
}

#[test]
fn a_failed_read_shows_nothing_of_an_earlier_one_and_the_next_reading_is_exact_again() {
    let mut evaluator = evaluator(RULES);
    assert_eq!(
        state_and_reason(&evaluate(&mut evaluator, 10, vec![row("a", "h", 1, 10)]), "a"),
        (State::Active, Reason::Progressing)
    );
    let failed = evaluator.fail(ReadFailure::Timeout, s(5));
    assert_eq!(state_and_reason(&failed, "a"), (State::Unknown, Reason::StoreTimeout));
    assert_eq!(status(&failed, "a").evidence(), None);
    assert_eq!((failed.health.leases, failed.health.clock_offset), (None, None));
    assert_eq!(failed.health.failures[ReadFailure::Timeout as usize], 1);
    let stuck =
        LeaseRecord { due: Some(3), oldest_due_at: Some(t(20)), renewed_at: Some(t(99)), ..row("a", "h", 1, 10) };
    let stuck = LeaseRecord { expires_at: Some(t(115)), ..stuck };
    assert_eq!(
        state_and_reason(&evaluate(&mut evaluator, 100, vec![stuck]), "a"),
        (State::Stalled, Reason::NoProgress)
    );
}

#[test]
fn a_newer_time_beside_an_unmoved_cursor_is_not_progress() {
    let mut evaluator = evaluator(RULES);
    evaluate(&mut evaluator, 10, vec![row("a", "h", 1, 10)]);
    for now in [40, 70, 100] {
        let touched = LeaseRecord { progress_cursor: Some(Cursor::Number(10)), ..row("a", "h", 1, now) };
        let touched = LeaseRecord { due: Some(1), oldest_due_at: Some(t(0)), ..touched };
        let snapshot = evaluate(&mut evaluator, now, vec![touched]);
        if now == 100 {
            assert_eq!(state_and_reason(&snapshot, "a"), (State::Stalled, Reason::NoProgress));
            assert_eq!(status(&snapshot, "a").evidence().unwrap().renewals_since_progress, Some(3));
        }
    }
    let moved = evaluate(&mut evaluator, 110, vec![row("a", "h", 1, 110)]);
    assert_eq!(state_and_reason(&moved, "a"), (State::Active, Reason::Progressing));
    assert_eq!(status(&moved, "a").evidence().unwrap().renewals_since_progress, Some(0));
}

#[test]
fn an_epoch_that_goes_back_is_unknown_until_one_is_higher_than_all_before() {
    let mut evaluator = evaluator(RULES);
    evaluate(&mut evaluator, 10, vec![row("a", "h", 7, 10)]);
    let mut read = |now: i64, epoch| {
        let snapshot =
            evaluate(&mut evaluator, now, vec![since(now - 5, row("a", &format!("holder-{epoch}"), epoch, now))]);
        (state_and_reason(&snapshot, "a"), counted(&snapshot, "a"))
    };
    let regressed = |count| ((State::Unknown, Reason::EpochRegressed), vec![(Anomaly::EpochRegressed, count)]);
    assert_eq!(read(20, 3), regressed(1));
    assert_eq!(read(30, 3), regressed(1));
    assert_eq!(read(40, 7), regressed(1), "a fencing token that was used before");
    assert_eq!(read(50, 6), regressed(2));
    assert_eq!(read(60, 8).0, (State::Active, Reason::Progressing));
}

#[test]
fn a_record_that_no_longer_shows_progress_is_incomplete() {
    let mut evaluator = evaluator(RULES);
    let without = |now| LeaseRecord {
        progress_at: None,
        progress_epoch: None,
        progress_cursor: None,
        due: Some(3),
        oldest_due_at: Some(t(-900)),
        acquired_at: Some(t(-1_000)),
        ..row("a", "h", 1, now)
    };
    let never = evaluate(&mut evaluator, 10, vec![without(10)]);
    assert_eq!(state_and_reason(&never, "a"), (State::Stalled, Reason::NeverProgressed));
    evaluate(&mut evaluator, 20, vec![since(-1_000, row("a", "h", 1, 20))]);
    let gone = evaluate(&mut evaluator, 30, vec![without(30)]);
    assert_eq!(state_and_reason(&gone, "a"), (State::Unknown, Reason::InvalidRecord));
}

#[test]
fn the_time_of_the_last_progress_stays_valid_after_its_record_was_deleted() {
    let columns: Columns =
        [Column::Holder, Column::AcquiredAt, Column::RenewedAt, Column::ProgressAt, Column::Due].into_iter().collect();
    for kind in LeaseKind::ALL {
        let mut evaluator = evaluator(Rules { kind, ..RULES });
        let mut read = |now, progress: Option<i64>, due| {
            let row = LeaseRecord { progress_at: progress.map(t), due: Some(due), ..row("a", "h", 1, now) };
            let row = LeaseRecord { epoch: None, progress_epoch: None, progress_cursor: None, expires_at: None, ..row };
            let row = LeaseRecord { oldest_due_at: (due > 0).then_some(t(20)), ..row };
            let reading = reading(now, columns, accepted(vec![row]));
            let snapshot = evaluate_reading(&mut evaluator, reading);
            (state_and_reason(&snapshot, "a"), status(&snapshot, "a").evidence().unwrap().progress)
        };
        assert_eq!(read(10, Some(5), 0).0, (State::Active, Reason::Progressing), "{kind}");
        let (verdict, progress) = read(20, None, 0);
        assert_eq!(verdict, (State::Active, Reason::Progressing), "{kind}");
        assert!(matches!(progress, Progress::Made { stored_at: Some(at), .. } if at == t(5)), "{kind}");
        assert_eq!(read(100, None, 0).0, (State::Idle, Reason::NothingDue), "{kind}");
        assert_eq!(read(101, None, 3).0, (State::Stalled, Reason::NoProgress), "{kind}");
        assert_eq!(read(102, Some(101), 3).0, (State::Active, Reason::Progressing), "{kind}");
    }
}

#[test]
fn a_run_of_a_claim_continues_the_progress_of_the_runs_before() {
    let columns = [Column::Holder, Column::RenewedAt, Column::ProgressAt, Column::OldestDueAt].into_iter().collect();
    for (kind, expected) in [
        (LeaseKind::Claim, (State::Stalled, Reason::NoProgress)),
        (LeaseKind::Standing, (State::Unknown, Reason::NotObservedYet)),
    ] {
        let mut evaluator = evaluator(Rules { kind, ..RULES });
        let stuck =
            LeaseRecord { progress_at: Some(t(-7_200)), oldest_due_at: Some(t(-7_000)), ..row("a", "h", 1, 10) };
        let stuck = LeaseRecord { acquired_at: None, epoch: None, expires_at: None, progress_epoch: None, ..stuck };
        let rows = vec![LeaseRecord { progress_cursor: None, due: None, ..stuck }];
        let reading = reading(10, columns, accepted(rows));
        assert_eq!(state_and_reason(&evaluate_reading(&mut evaluator, reading), "a"), expected, "{kind}");
    }
}

#[test]
fn progress_without_an_epoch_counts_for_a_new_holder_once_it_is_certainly_its_own() {
    let mut evaluator = evaluator(RULES);
    let columns = [Column::Holder, Column::Epoch, Column::RenewedAt, Column::ProgressCursor, Column::Due];
    let mut read = |now, holder: &str, epoch, cursor| {
        let row =
            LeaseRecord { progress_cursor: Some(Cursor::Number(cursor)), due: Some(1), ..row("a", holder, epoch, now) };
        let row = LeaseRecord { acquired_at: None, expires_at: None, progress_at: None, progress_epoch: None, ..row };
        let columns = columns.into_iter().collect();
        let reading = reading(now, columns, accepted(vec![row]));
        state_and_reason(&evaluate_reading(&mut evaluator, reading), "a")
    };
    assert_eq!(read(10, "h", 1, 1), (State::Unknown, Reason::NotObservedYet));
    assert_eq!(read(20, "h", 1, 2), (State::Active, Reason::Progressing));
    assert_eq!(read(30, "i", 2, 2).0, State::Unknown, "its predecessor's");
    assert_eq!(read(40, "i", 2, 3), (State::Active, Reason::Progressing));
}

#[test]
fn a_claim_held_only_between_two_readings_is_not_progress_without_authority() {
    let mut evaluator = evaluator(Rules { kind: LeaseKind::Claim, ..RULES });
    let columns = [Column::Lease, Column::Holder, Column::ProgressAt, Column::Due].into_iter().collect();
    let mut read = |now, progress| {
        let row = LeaseRecord {
            lease: Some("a".into()),
            progress_at: Some(t(progress)),
            due: Some(0),
            ..LeaseRecord::default()
        };
        let reading = reading(now, columns, accepted(vec![row]));
        state_and_reason(&evaluate_reading(&mut evaluator, reading), "a")
    };
    assert_eq!(read(10, 1), (State::Idle, Reason::NothingDue));
    assert_eq!(read(20, 19), (State::Idle, Reason::NothingDue));
}

#[test]
fn another_holder_under_the_same_epoch_is_counted() {
    let mut evaluator = evaluator(RULES);
    evaluate(&mut evaluator, 10, vec![row("a", "h", 7, 10)]);
    let snapshot = evaluate(&mut evaluator, 20, vec![since(15, row("a", "i", 7, 20))]);
    assert_eq!(counted(&snapshot, "a"), [(Anomaly::HolderChangedWithoutEpoch, 1)]);
    let snapshot = evaluate(&mut evaluator, 30, vec![since(25, row("a", "j", 8, 30))]);
    assert_eq!(counted(&snapshot, "a"), [(Anomaly::HolderChangedWithoutEpoch, 1)]);
}

#[test]
fn progress_made_after_its_epoch_ended_is_counted_and_earlier_progress_is_not() {
    let mut evaluator = evaluator(RULES);
    evaluate(&mut evaluator, 10, vec![row("a", "h", 7, 10)]);
    let stale = |now, progress| LeaseRecord {
        progress_at: Some(t(progress)),
        progress_epoch: Some(Epoch(7)),
        progress_cursor: Some(Cursor::Number(progress)),
        ..since(15, row("a", "i", 8, now))
    };
    // The old leader's last progress and the takeover were both since the last reading.
    let snapshot = evaluate(&mut evaluator, 20, vec![stale(20, 12)]);
    assert_eq!(counted(&snapshot, "a"), []);
    assert_eq!(state_and_reason(&snapshot, "a"), (State::Idle, Reason::NothingDue));
    let snapshot = evaluate(&mut evaluator, 30, vec![stale(30, 25)]);
    assert_eq!(counted(&snapshot, "a"), [(Anomaly::ProgressFromStaleEpoch, 1)]);
}

#[test]
fn a_time_in_the_future_is_counted_once() {
    let mut evaluator = evaluator(RULES);
    for now in [10, 20, 30] {
        let ahead = LeaseRecord { renewed_at: Some(t(3_600)), ..row("a", "h", 1, now) };
        let snapshot = evaluate(&mut evaluator, now, vec![ahead]);
        assert_eq!(state_and_reason(&snapshot, "a"), (State::Unknown, Reason::ClockSkew));
        assert_eq!(counted(&snapshot, "a"), [(Anomaly::ClockSkew, 1)]);
    }
}

#[test]
fn an_invalid_row_affects_only_its_own_lease_and_keeps_the_order_of_names() {
    let mut evaluator = evaluator(RULES);
    let reading = reading(
        10,
        Columns::all(),
        RecordSet {
            accepted: vec![row("z", "h", 1, 10), row("b", "h", 1, 10), row("b", "i", 1, 10), row("c", "h", 1, 10)],
            rejected: vec![
                RejectedRecord { lease: Some("a".into()), column: Column::Epoch, fault: RecordFault::OutOfRange },
                RejectedRecord { lease: None, column: Column::Lease, fault: RecordFault::NoName },
            ],
            over_limit: 5,
            ..RecordSet::default()
        },
    );
    let snapshot = evaluate_reading(&mut evaluator, reading);
    let names: Vec<_> = snapshot.leases.iter().map(|status| &*status.lease).collect();
    assert_eq!(names, ["a", "b", "c", "named", "z"]);
    assert_eq!(state_and_reason(&snapshot, "a"), (State::Unknown, Reason::InvalidRecord));
    assert_eq!(status(&snapshot, "b").observation, Err(ObservationFailure::DuplicateRecord));
    assert_eq!(state_and_reason(&snapshot, "c"), (State::Active, Reason::Progressing));
    let rejected: Vec<_> = RecordFault::ALL.into_iter().map(|fault| snapshot.health.rejected[fault as usize]).collect();
    // wrong_type, out_of_range, unreadable, no_name, name_too_long, duplicate, over_limit
    assert_eq!(rejected, [0, 1, 0, 1, 0, 2, 5]);
    assert_eq!((snapshot.health.rejected_now.total(), snapshot.health.leases), (9, Some(4)));
}

#[test]
fn rejected_rows_are_reported_for_their_own_reading_with_the_names_of_a_few_leases() {
    let mut evaluator = evaluator(RULES);
    let bad =
        |lease: Option<&str>, fault| RejectedRecord { lease: lease.map(Into::into), column: Column::Epoch, fault };
    let names = ["a", "a", "b", "c", "d"];
    for at in [10, 20] {
        let mut rejected: Vec<_> = names.iter().map(|name| bad(Some(name), RecordFault::OutOfRange)).collect();
        rejected.push(bad(None, RecordFault::NoName));
        let rows = vec![row("y", "h", 1, at), row("y", "i", 1, at)];
        let reading =
            reading(at, Columns::all(), RecordSet { accepted: rows, rejected, over_limit: 7, ..RecordSet::default() });
        let snapshot = evaluate_reading(&mut evaluator, reading);
        let now = &snapshot.health.rejected_now;
        let rejected = |fault| (now.count(fault), now.leases(fault).iter().map(|lease| &**lease).collect::<Vec<_>>());
        assert_eq!(rejected(RecordFault::OutOfRange), (5, vec!["a", "b", "c"]), "at {at}");
        assert_eq!(rejected(RecordFault::Duplicate), (2, vec!["y"]), "at {at}");
        assert_eq!(
            (rejected(RecordFault::NoName), rejected(RecordFault::OverLimit)),
            ((1, vec![]), (7, vec![])),
            "at {at}"
        );
        assert_eq!(now.total(), 15);
        let readings = (at / 10).unsigned_abs();
        assert_eq!(
            snapshot.health.rejected[RecordFault::OutOfRange as usize],
            5 * readings,
            "the counter is of all readings"
        );
    }
    let failed = evaluator.fail(ReadFailure::Refused, Duration::ZERO);
    assert_eq!(failed.health.rejected_now, RejectedRecords::default());
}

#[test]
fn a_registry_is_held_while_any_holder_is_fresh() {
    let mut evaluator = evaluator(Rules { kind: LeaseKind::Registry, ..RULES });
    let columns =
        [Column::Holder, Column::Epoch, Column::RenewedAt, Column::TtlSeconds, Column::ProgressAt, Column::Due];
    let beat = |holder: &str, epoch, renewed, progress| LeaseRecord {
        lease: Some("workers".into()),
        holder: Some(holder.into()),
        epoch: Some(Epoch(epoch)),
        renewed_at: Some(t(renewed)),
        ttl: Some(s(30)),
        persistent: false,
        progress_at: Some(t(progress)),
        due: Some(4),
        ..LeaseRecord::default()
    };
    let mut read = |now, rows| {
        let reading = reading(now, columns.into_iter().collect(), accepted(rows));
        evaluate_reading(&mut evaluator, reading)
    };
    // One died days ago and its row stays; one is fresh, another slow but not over; the slow one made the progress.
    let rows = vec![beat("dead", 1, -90_000, -90_000), beat("fresh", 3, 98, 20), beat("slow", 2, 75, 95)];
    let snapshot = read(100, rows);
    assert_eq!(state_and_reason(&snapshot, "workers"), (State::Active, Reason::Progressing));
    let holding = status(&snapshot, "workers").holder().unwrap();
    assert_eq!(holding.others.len(), 1);
    assert_eq!((holding.renewed.display_age(), holding.epoch), (Some(s(2)), Some(Epoch(3))));
    assert_eq!(counted(&snapshot, "workers"), []);
    let snapshot =
        read(200, vec![beat("dead", 1, -90_000, -90_000), beat("fresh", 3, 98, 20), beat("slow", 2, 75, 95)]);
    assert_eq!(state_and_reason(&snapshot, "workers"), (State::NoLeader, Reason::Expired));
}

#[test]
fn a_released_record_is_vacant_and_keeps_its_epoch() {
    let mut evaluator = evaluator(RULES);
    evaluate(&mut evaluator, 10, vec![row("a", "h", 7, 10)]);
    let released = evaluate(&mut evaluator, 20, vec![LeaseRecord { holder: None, ..row("a", "", 7, 10) }]);
    assert_eq!(state_and_reason(&released, "a"), (State::NoLeader, Reason::Released));
    assert!(matches!(
        status(&released, "a").evidence().unwrap().authority,
        AuthorityEvidence::Vacant { cause: VacancyCause::Released, epoch: Some(Epoch(7)), .. }
    ));
}

#[test]
fn tracked_evidence_survives_a_change_of_the_policies() {
    #[derive(Debug)]
    struct Stricter;
    impl Policies for Stricter {
        fn policy(&self, _: &str) -> Arc<Policy> {
            Arc::new(Policy { stall_after: s(5), ..Policy::default() })
        }
        fn expected_leases(&self) -> Vec<Arc<str>> {
            vec!["a".into(), "new".into()]
        }
    }
    let mut before = evaluator(RULES);
    before.fail(ReadFailure::Timeout, s(1));
    evaluate(&mut before, 10, vec![row("a", "h", 7, 10), row("b", "h", 7, 10)]);
    evaluate(&mut before, 20, vec![since(15, row("a", "h", 6, 20)), row("b", "h", 7, 20)]);

    let mut after = SourceEvaluator::new("source".into(), RULES, TokenKey::new(b"key"), Arc::new(Stricter));
    after.inherit(&mut before);
    let unread = after.unread(ReadFailure::Timeout, Duration::ZERO);
    let names: Vec<_> = unread.leases.iter().map(|status| &*status.lease).collect();
    assert_eq!(names, ["a", "b", "new"], "`named` is named no longer, and there is none");
    assert_eq!(unread.health.failures[ReadFailure::Timeout as usize], 1);

    let busy = |lease, epoch| LeaseRecord {
        due: Some(3),
        oldest_due_at: Some(t(20)),
        progress_at: Some(t(20)),
        progress_cursor: Some(Cursor::Number(20)),
        ..row(lease, "h", epoch, 30)
    };
    let snapshot = evaluate(&mut after, 30, vec![since(15, busy("a", 6)), busy("b", 7)]);
    assert_eq!(state_and_reason(&snapshot, "a"), (State::Unknown, Reason::EpochRegressed));
    assert_eq!(counted(&snapshot, "a"), [(Anomaly::EpochRegressed, 1)]);
    assert_eq!(state_and_reason(&snapshot, "b"), (State::Stalled, Reason::NoProgress), "by the new limit");
    assert_eq!(state_and_reason(&snapshot, "new"), (State::NoLeader, Reason::Absent));
}
