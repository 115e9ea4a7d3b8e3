//! Properties that hold for every input.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use proptest::{collection, option};

use super::*;

#[derive(Debug)]
struct OnePolicy(Arc<Policy>);

impl Policies for OnePolicy {
    fn policy(&self, _: &str) -> Arc<Policy> {
        Arc::clone(&self.0)
    }

    fn expected_leases(&self) -> Vec<Arc<str>> {
        vec!["expected".into()]
    }
}

const START: i64 = 1_800_000_000_000_000;

fn rules(kind: LeaseKind, clock: Clock) -> Rules {
    Rules { kind, clock, clock_skew: Duration::from_secs(2), max_leases: 100, resolution: Duration::ZERO }
}

fn evaluator(rules: Rules, policy: Policy) -> SourceEvaluator {
    SourceEvaluator::new("source".into(), rules, TokenKey::new(b"key"), Arc::new(OnePolicy(Arc::new(policy))))
}

fn micros(seconds: f64) -> Duration {
    Duration::from_micros((seconds * 1e6) as u64)
}

fn store_time(offset_micros: i64) -> StoreTime {
    StoreTime::from_unix_micros(START + offset_micros).unwrap()
}

fn policy() -> impl Strategy<Value = Policy> {
    let work = prop_oneof![
        Just(Work::Unstated),
        Just(Work::Continuous),
        (1..900u64).prop_map(|s| Work::Cadence(Duration::from_secs(s)))
    ];
    (1..900u64, option::of(1..2_000u64), work).prop_map(|(stall_after, overdue_after, work)| Policy {
        stall_after: Duration::from_secs(stall_after),
        overdue_after: overdue_after.map(Duration::from_secs),
        work,
        alerts: AlertSet::default(),
    })
}

fn kind() -> impl Strategy<Value = LeaseKind> {
    prop::sample::select(LeaseKind::ALL.to_vec())
}

fn clock() -> impl Strategy<Value = Clock> {
    prop::sample::select(Clock::ALL.to_vec())
}

/// Any row at all: times from an hour ago to a minute ahead, everything optional.
fn row() -> impl Strategy<Value = LeaseRecord> {
    let time = || option::of((-3_600_000_000..60_000_000i64).prop_map(store_time));
    (
        (
            prop::sample::select(vec!["a", "b", "expected"]),
            option::of("[a-c]?"),
            option::of(0..4u64),
            time(),
            time(),
            time(),
        ),
        (option::of(1..900u64), time(), option::of(0..4u64), option::of(0..3i64), option::of(0..3u64), time()),
    )
        .prop_map(|((lease, holder, epoch, acquired_at, renewed_at, expires_at), more)| {
            let (ttl, progress_at, progress_epoch, cursor, due, oldest_due_at) = more;
            LeaseRecord {
                lease: Some(lease.into()),
                holder: holder.map(Into::into),
                epoch: epoch.map(Epoch),
                acquired_at,
                renewed_at,
                expires_at,
                ttl: ttl.map(Duration::from_secs),
                persistent: false,
                progress_at,
                progress_epoch: progress_epoch.map(Epoch),
                progress_cursor: cursor.map(Cursor::Number),
                due,
                oldest_due_at,
            }
        })
}

fn columns() -> impl Strategy<Value = Columns> {
    prop::sample::subsequence(Column::ALL.to_vec(), 0..=Column::ALL.len())
        .prop_map(|columns| columns.into_iter().collect())
}

/// Readings a while apart, some of which fail.
fn readings() -> impl Strategy<Value = Vec<(u64, Option<Vec<LeaseRecord>>)>> {
    collection::vec((1..600u64, option::weighted(0.8, collection::vec(row(), 0..4))), 1..6)
}

/// A reading whose rows with a `0` for an epoch could not be used.
fn partly_rejected(columns: Columns, rows: Vec<LeaseRecord>) -> Reading {
    let (rejected, rows): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.epoch == Some(Epoch(0)));
    let rejected = rejected.into_iter().map(|row| RejectedRecord {
        lease: row.lease.filter(|_| row.due != Some(0)),
        column: Column::Epoch,
        fault: RecordFault::OutOfRange,
    });
    let records = RecordSet { accepted: rows, rejected: rejected.collect(), ..RecordSet::default() };
    Reading { records, ..reading(columns, Vec::new()) }
}

fn reading(columns: Columns, accepted: Vec<LeaseRecord>) -> Reading {
    Reading {
        interval: instant(Duration::ZERO),
        store_now: store_time(0),
        clock_offset: 0.0,
        columns,
        records: RecordSet { accepted, ..RecordSet::default() },
    }
}

const fn instant(at: Duration) -> ReadInterval {
    ReadInterval { start: at, end: at }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_input_gives_exactly_one_state_that_follows_from_the_two_facts(
        kind in kind(), clock in clock(), policy in policy(), columns in columns(), readings in readings()
    ) {
        let mut evaluator = evaluator(rules(kind, clock), policy);
        let mut now = Duration::ZERO;
        for (gap, rows) in readings {
            now += Duration::from_secs(gap);
            let failed = rows.is_none();
            let snapshot = match rows {
                Some(rows) => evaluator.evaluate(Reading { interval: instant(now), ..partly_rejected(columns, rows) }, Duration::ZERO),
                None => evaluator.fail(ReadFailure::Timeout, Duration::ZERO),
            };
            prop_assert!(snapshot.leases.is_sorted_by(|one, other| one.lease < other.lease));
            prop_assert!(snapshot.leases.iter().any(|status| &*status.lease == "expected"));
            for status in &snapshot.leases {
                let Verdict { authority, progress, state, reason } = status.verdict;
                prop_assert_eq!(state, reason.state());
                if failed {
                    prop_assert_eq!((authority, progress, state), (Authority::Unknown, ProgressState::Unknown, State::Unknown));
                    prop_assert_eq!(reason, Reason::StoreTimeout);
                    prop_assert!(status.evidence().is_none(), "nothing of an earlier reading is shown");
                }
                match state {
                    State::Active => prop_assert_eq!((authority, progress), (Authority::Held, ProgressState::Advancing)),
                    State::Stalled => prop_assert_eq!((authority, progress), (Authority::Held, ProgressState::Stalled)),
                    State::Idle => prop_assert_eq!(progress, ProgressState::Idle),
                    State::NoLeader => prop_assert!(matches!(authority, Authority::Vacant | Authority::Expired)),
                    State::Unknown => prop_assert_eq!(progress, ProgressState::Unknown),
                }
                prop_assert!(!status.sentence().to_string().is_empty());
            }
        }
    }

    /// An event happens at true times; the store's clock is right, and its holder's off by no more than the skew. It is
    /// read at random moments, each reading taking a while. Whatever the evidence, the true age lies within the bounds.
    #[test]
    fn ages_are_sound(
        clock in clock(),
        skew in -2.0..2.0f64,
        with_time in any::<bool>(),
        with_cursor in any::<bool>(),
        steps in collection::vec((prop_oneof![Just(None), (0.0..400.0f64).prop_map(Some)], 0.001..400.0f64, 0.0..0.5f64), 1..12),
    ) {
        prop_assume!(with_time || with_cursor);
        let mut evaluator = evaluator(rules(LeaseKind::Standing, clock), Policy::default());
        let columns: Columns = [Column::Holder, Column::ProgressAt, Column::ProgressCursor].into_iter().collect();
        let mut now = 1_000.0;
        let mut event: f64 = 900.0;
        let mut cursor = 0;
        for (progress, wait, length) in steps {
            now += wait;
            // The event happens somewhere in the wait.
            if let Some(back) = progress && back < wait {
                event = now - back;
                cursor += 1;
            }
            let snapshot_at = now + length / 2.0;
            let interval = ReadInterval { start: micros(now), end: micros(now + length) };
            now += length;
            let written = if clock == Clock::Holder { event + skew } else { event };
            let row = LeaseRecord {
                lease: Some("a".into()),
                holder: Some("h".into()),
                renewed_at: Some(store_time((snapshot_at * 1e6) as i64)),
                progress_at: with_time.then(|| store_time((written * 1e6).round() as i64)),
                progress_cursor: with_cursor.then_some(Cursor::Number(cursor)),
                ..LeaseRecord::default()
            };
            let reading =
                Reading { interval, store_now: store_time((snapshot_at * 1e6) as i64), ..reading(columns, vec![row]) };
            let snapshot = evaluator.evaluate(reading, Duration::ZERO);
            let Progress::Made { age: when, .. } = snapshot.leases[0].evidence().unwrap().progress else {
                return Err(TestCaseError::fail("progress was made"));
            };
            let truth = micros(snapshot_at - event);
            let slack = Duration::from_micros(2);
            prop_assert!(!when.source.is_clock_error(), "no clock is wrong: {when:?}");
            prop_assert!(when.age.lower() <= truth + slack, "{:?} is younger than {:?}", truth, when);
            prop_assert!(when.age.upper().is_none_or(|upper| truth <= upper + slack), "{:?} is older than {:?}", truth, when);
        }
    }

    #[test]
    fn neither_renewing_more_nor_any_other_lease_field_changes_what_is_said_of_progress(
        policy in policy(), clock in clock(),
        steps in collection::vec((1..300u64, 0..3i64, 0..600u64, option::of(0..900i64)), 1..8),
        renewals in collection::vec((0..3_000_000i64, 1..60i64), 8),
    ) {
        let columns: Columns = Column::ALL.into_iter().collect();
        let tell = |renew: bool| {
            let mut evaluator = evaluator(rules(LeaseKind::Standing, clock), policy);
            let mut now = 1_000;
            let mut told = Vec::new();
            for (step, (wait, cursor, progress_ago, due_ago)) in steps.iter().enumerate() {
                now += wait;
                let here = |ago: i64| store_time(now as i64 * 1_000_000 - ago);
                let (renewed_ago, ttl) = if renew { renewals[step] } else { (0, 30) };
                let row = LeaseRecord {
                    lease: Some("a".into()),
                    holder: Some("h".into()),
                    epoch: Some(Epoch(3)),
                    acquired_at: Some(store_time(0)),
                    renewed_at: Some(here(renewed_ago)),
                    expires_at: Some(here(-ttl * 1_000_000)),
                    progress_at: Some(store_time((now - progress_ago) as i64 * 1_000_000)),
                    progress_epoch: Some(Epoch(3)),
                    progress_cursor: Some(Cursor::Number(*cursor)),
                    due: Some(u64::from(due_ago.is_some())),
                    oldest_due_at: due_ago.map(|ago| here(ago * 1_000_000)),
                    ttl: None,
                    persistent: false,
                };
                let interval = instant(Duration::from_secs(now));
                let reading = Reading { interval, store_now: here(0), ..reading(columns, vec![row]) };
                let snapshot = evaluator.evaluate(reading, Duration::ZERO);
                let status = &snapshot.leases[0];
                let held = status.verdict.authority == Authority::Held;
                told.push((held, status.verdict.progress, status.evidence().unwrap().progress));
            }
            told
        };
        for (renewing, steady) in tell(true).into_iter().zip(tell(false)) {
            prop_assert_eq!(renewing.2, steady.2, "the progress age");
            if renewing.0 && steady.0 {
                prop_assert_eq!(renewing.1, steady.1, "the progress verdict");
            }
        }
    }

    #[test]
    fn more_evidence_only_narrows_bounds(
        one in (0..1_000u64, option::of(0..1_000u64)), other in (0..1_000u64, option::of(0..1_000u64))
    ) {
        let age = |(lower, more): (u64, Option<u64>)| match more {
            Some(more) => Age::between(Duration::from_secs(lower), Duration::from_secs(lower + more)),
            None => Age::at_least(Duration::from_secs(lower)),
        };
        let (one, other) = (age(one), age(other));
        if let Some(both) = one.intersection(other, Duration::ZERO) {
            for evidence in [one, other] {
                prop_assert!(both.lower() >= evidence.lower());
                prop_assert!(evidence.upper().is_none_or(|upper| both.upper().is_some_and(|both| both <= upper)));
            }
        } else {
            prop_assert!(one.surely_after(other) || other.surely_after(one));
        }
        prop_assert_eq!(one.intersection(other, Duration::ZERO), other.intersection(one, Duration::ZERO));
    }

    #[test]
    fn a_narrower_age_never_turns_a_settled_answer(
        lower in 0..1_000u64, width in 0..1_000u64, cut in (0..500u64, 0..500u64), limit in 0..1_000u64
    ) {
        let s = Duration::from_secs;
        let wide = Age::between(s(lower), s(lower + width));
        let narrow = Age::between(s(lower + cut.0.min(width)), s((lower + width).saturating_sub(cut.1).max(lower + cut.0.min(width))));
        let answer = wide.exceeds(s(limit));
        prop_assert!(answer == Truth::Unknown || narrow.exceeds(s(limit)) == answer);
    }
}
