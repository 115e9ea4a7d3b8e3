//! Tables of readings and the histories that they lead to.

use std::fmt::Write as _;
use std::sync::Arc;

use super::*;
use crate::lease::{
    AnomalyCounts, Authority, Health, LeaseKind, ObservationFailure, Policy, ProgressState, ReadFailure, Reason,
    RejectedRecords, State, Status, Verdict,
};

const A: Result<State, ReadFailure> = Ok(State::Active);
const S: Result<State, ReadFailure> = Ok(State::Stalled);
const T: Result<State, ReadFailure> = Err(ReadFailure::Timeout);
const U: Result<State, ReadFailure> = Err(ReadFailure::Unreachable);

fn snapshot(leases: &[&str], outcome: Result<State, ReadFailure>) -> SourceSnapshot {
    let status = |lease: &&str| Status {
        lease: (*lease).into(),
        verdict: Verdict {
            authority: Authority::Held,
            progress: ProgressState::Unknown,
            state: outcome.unwrap_or(State::Unknown),
            reason: Reason::Progressing,
        },
        observation: Err(ObservationFailure::LeaseOverLimit),
        policy: Arc::new(Policy::default()),
        anomalies: AnomalyCounts::default(),
    };
    SourceSnapshot {
        source: "s".into(),
        kind: LeaseKind::Standing,
        health: Health {
            outcome: outcome.map(|_| ()),
            duration: Duration::ZERO,
            leases: None,
            clock_offset: None,
            failures: Default::default(),
            rejected: Default::default(),
            rejected_now: RejectedRecords::default(),
        },
        leases: leases.iter().map(status).collect(),
    }
}

/// The history of the lease `l` after readings at these times, in seconds.
fn after(readings: &[(u64, Result<State, ReadFailure>)]) -> History {
    let mut history = History::default();
    for (at, outcome) in readings {
        history.record(&snapshot(&["l"], *outcome), Duration::from_secs(*at));
    }
    history
}

/// `active 0-30, not observed 30-90`
fn line(history: &History, lease: &str) -> String {
    history.periods(lease).iter().fold(String::new(), |mut line, Period { start, end, kind, .. }| {
        let content = match kind {
            PeriodKind::State(state, _) => state.as_str(),
            PeriodKind::Gap(GapCause::NotObserved) => "not observed",
            PeriodKind::Gap(GapCause::ReadFailed(failure)) => failure.as_str(),
        };
        let comma = if line.is_empty() { "" } else { ", " };
        write!(line, "{comma}{content} {}-{}", start.as_secs(), end.as_secs()).unwrap();
        line
    })
}

fn since(history: &History) -> String {
    let Some(StateSince { kind, at, prior }) = history.state_since("l") else { return "never observed".to_owned() };
    let current = match kind {
        PeriodKind::State(state, _) => state.as_str(),
        PeriodKind::Gap(_) => "nothing",
    };
    let prior = match prior {
        PriorState::NotObserved => "never observed".to_owned(),
        PriorState::Discarded => "discarded".to_owned(),
        PriorState::Known { state, last } => format!("{state} at {}", last.as_secs()),
        PriorState::Gap { cause, start, state } => {
            let cause = match cause {
                Some(GapCause::NotObserved) => "not observed",
                Some(GapCause::ReadFailed(_)) => "not read",
                None => "several causes",
            };
            format!("{cause} from {}, {}", start.as_secs(), state.map_or("first", State::as_str))
        }
    };
    format!("{current} since {}; before: {prior}", at.as_secs())
}

#[test]
fn consecutive_readings_of_one_state_are_one_period_and_everything_else_is_a_gap() {
    for (readings, expected, expected_since) in [
        (&[][..], "", "never observed"),
        (&[(10, A)], "active 10-10", "active since 10; before: never observed"),
        (&[(0, A), (15, A), (30, A)], "active 0-30", "active since 0; before: never observed"),
        // The state between 15 and 30 is not known.
        (&[(0, A), (15, A), (30, S), (45, S)], "active 0-15, stalled 30-45", "stalled since 30; before: active at 15"),
        (
            &[(0, A), (15, A), (95, A), (110, A)],
            "active 0-15, not observed 15-95, active 95-110",
            "active since 95; before: not observed from 15, active",
        ),
        (
            &[(0, A), (15, A), (95, S)],
            "active 0-15, not observed 15-95, stalled 95-95",
            "stalled since 95; before: not observed from 15, active",
        ),
        (
            &[(0, A), (15, A), (30, T), (45, T), (60, A)],
            "active 0-15, store_timeout 15-60, active 60-60",
            "active since 60; before: not read from 15, active",
        ),
        (
            &[(0, A), (15, A), (30, T), (45, T)],
            "active 0-15, store_timeout 15-45",
            "nothing since 30; before: active at 15",
        ),
        (
            &[(0, A), (15, T), (30, U), (45, S)],
            "active 0-0, store_timeout 0-30, store_unreachable 30-45, stalled 45-45",
            "stalled since 45; before: several causes from 0, active",
        ),
        // A failed reading describes the time since the last reading only.
        (
            &[(0, A), (15, A), (95, T), (110, A)],
            "active 0-15, not observed 15-95, store_timeout 95-110, active 110-110",
            "active since 110; before: several causes from 15, active",
        ),
        (
            &[(0, A), (15, T), (95, A)],
            "active 0-0, store_timeout 0-15, not observed 15-95, active 95-95",
            "active since 95; before: several causes from 0, active",
        ),
        (&[(0, T), (15, T)], "store_timeout 0-15", "nothing since 0; before: never observed"),
        (&[(0, T), (15, A), (30, A)], "active 15-30", "active since 15; before: never observed"),
        // Readings out of order count as simultaneous.
        (&[(10, A), (9, S)], "active 10-10, stalled 10-10", "stalled since 10; before: active at 10"),
    ] {
        let history = after(readings);
        assert_eq!(
            (line(&history, "l").as_str(), since(&history).as_str()),
            (expected, expected_since),
            "{readings:?}"
        );
    }
}

#[test]
fn the_latest_state_changes_are_kept_and_a_truncated_history_says_so() {
    let flapping: Vec<_> = (0..100).map(|at| (at * 15, if at % 2 == 0 { A } else { S })).collect();
    let history = after(&flapping);
    assert_eq!(history.periods("l").len(), MAX_CHANGES);
    assert!(line(&history, "l").ends_with("active 1470-1470, stalled 1485-1485"), "{}", line(&history, "l"));
    assert!(history.is_truncated("l") && !after(&flapping[..MAX_CHANGES]).is_truncated("l"));
    assert_eq!(since(&history), "stalled since 1485; before: active at 1470");
}

#[test]
fn the_latest_gaps_are_kept_and_no_period_begins_before_them() {
    let flapping: Vec<_> = (0..400).map(|at| (at * 15, if at % 2 == 0 { A } else { T })).collect();
    let history = after(&flapping);
    let periods = history.periods("l");
    let kept = periods.iter().filter(|period| matches!(period.kind, PeriodKind::Gap(_))).count();
    assert_eq!(kept, MAX_GAPS);
    assert!(history.is_truncated("l"));
    let begins = periods[0].start.as_secs();
    assert!(begins > 3_000 && periods.iter().all(|period| period.start.as_secs() >= begins), "{periods:?}");
    assert!(periods.is_sorted_by(|one, other| one.end <= other.start));
}

#[test]
fn leases_appear_and_disappear_and_each_has_its_own_periods() {
    let mut history = History::default();
    for (at, leases, seen) in [
        (0, &["b", "d"][..], A),
        (15, &["a", "b", "c", "d"], A),
        (30, &["a", "c", "d"], S),
        (45, &["a", "b", "c", "d"], S),
    ] {
        history.record(&snapshot(leases, seen), Duration::from_secs(at));
    }
    for (lease, expected) in [
        ("a", "active 15-15, stalled 30-45"),
        ("b", "stalled 45-45"),
        ("c", "active 15-15, stalled 30-45"),
        ("d", "active 0-15, stalled 30-45"),
        ("e", ""),
    ] {
        assert_eq!(line(&history, lease), expected, "{lease}");
    }
}

#[test]
fn a_copy_does_not_change_and_shares_what_it_has_in_common() {
    let mut history = after(&[(0, A), (15, A)]);
    let copy = history.clone();
    history.record(&snapshot(&["l"], A), Duration::from_secs(30));
    assert!(Arc::ptr_eq(&history.states, &copy.states), "a reading that changed nothing");
    history.record(&snapshot(&["l"], S), Duration::from_secs(45));
    assert_eq!(
        (line(&copy, "l").as_str(), line(&history, "l").as_str()),
        ("active 0-15", "active 0-30, stalled 45-45")
    );
}

#[test]
fn the_memory_of_a_lease_is_bounded() {
    let names: Vec<String> = (0..10_000).map(|number| format!("lease-{number:05}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut history = History::default();
    let (active, stalled) = (snapshot(&names, A), snapshot(&names, S));
    for step in 0..10 {
        history.record(&active, Duration::from_secs(step * 15));
    }
    let bytes = |history: &History| {
        // An `Arc` of a slice has two counters of 8 bytes. The name is shared with the snapshot.
        let of = |log: &StateLog| size_of::<StateLog>() + 16 + size_of_val(&*log.changes);
        history.states.iter().map(of).sum::<usize>() / history.states.len()
    };
    assert_eq!(bytes(&history), 60, "without a state change");
    for step in 10..100 {
        history.record(if step % 2 == 0 { &active } else { &stalled }, Duration::from_secs(step * 15));
    }
    assert_eq!(bytes(&history), 48 + MAX_CHANGES * 12, "with many state changes");
}
