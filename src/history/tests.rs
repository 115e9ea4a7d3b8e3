//! Looks, and what they leave: by tables.

use std::fmt::Write as _;
use std::sync::Arc;

use super::*;
use crate::lease::{
    Anomalies, Authority, Health, Kind, Observation, Policy, ProgressState, ReadFailure, Reason, RejectedRecords,
    State, Status, UnknownCause, Verdict,
};

const A: Result<State, ReadFailure> = Ok(State::Active);
const S: Result<State, ReadFailure> = Ok(State::Stalled);
const T: Result<State, ReadFailure> = Err(ReadFailure::Timeout);
const U: Result<State, ReadFailure> = Err(ReadFailure::Unreachable);

fn snapshot(leases: &[&str], seen: Result<State, ReadFailure>) -> SourceSnapshot {
    let status = |lease: &&str| Status {
        lease: (*lease).into(),
        verdict: Verdict {
            authority: Authority::Held,
            progress: ProgressState::Unknown,
            state: seen.unwrap_or(State::Unknown),
            reason: Reason::Progressing,
        },
        observation: Observation::Unknown(UnknownCause::LeftOut),
        policy: Arc::new(Policy::default()),
        anomalies: Anomalies::default(),
    };
    SourceSnapshot {
        source: "s".into(),
        kind: Kind::Standing,
        health: Health {
            outcome: seen.map(|_| ()),
            took: Duration::ZERO,
            leases: None,
            clock_offset: None,
            failures: Default::default(),
            rejected: Default::default(),
            rejected_now: RejectedRecords::default(),
        },
        leases: leases.iter().map(status).collect(),
    }
}

/// What these looks, at these seconds, leave of the lease `l`.
fn after(looks: &[(u64, Result<State, ReadFailure>)]) -> History {
    let mut history = History::default();
    for (at, seen) in looks {
        history.take_in(&snapshot(&["l"], *seen), Duration::from_secs(*at));
    }
    history
}

/// `active 0-30, nobody looked 30-90`
fn line(history: &History, lease: &str) -> String {
    history.of(lease).iter().fold(String::new(), |mut line, Stretch { from, to, seen, .. }| {
        let what = match seen {
            Seen::State(state, _) => state.as_str(),
            Seen::Nothing(Interruption::NotLooked) => "nobody looked",
            Seen::Nothing(Interruption::NotReadable(failure)) => failure.as_str(),
        };
        let comma = if line.is_empty() { "" } else { ", " };
        write!(line, "{comma}{what} {}-{}", from.as_secs(), to.as_secs()).unwrap();
        line
    })
}

fn since(history: &History) -> String {
    let Some(Since { seen, at, before }) = history.since("l") else { return "never seen".to_owned() };
    let seen = match seen {
        Seen::State(state, _) => state.as_str(),
        Seen::Nothing(_) => "nothing",
    };
    let before = match before {
        Before::NeverLooked => "never looked".to_owned(),
        Before::Forgotten => "forgotten".to_owned(),
        Before::Other { state, last } => format!("{state} at {}", last.as_secs()),
        Before::Interrupted { why, from, before } => {
            let why = match why {
                Some(Interruption::NotLooked) => "nobody looked",
                Some(Interruption::NotReadable(_)) => "not readable",
                None => "several reasons",
            };
            format!("{why} from {}, {}", from.as_secs(), before.map_or("first", State::as_str))
        }
    };
    format!("{seen} since {}; before: {before}", at.as_secs())
}

#[test]
fn looks_that_follow_each_other_and_agree_are_one_stretch_and_all_else_is_left_open() {
    for (looks, expected, expected_since) in [
        (&[][..], "", "never seen"),
        (&[(10, A)], "active 10-10", "active since 10; before: never looked"),
        (&[(0, A), (15, A), (30, A)], "active 0-30", "active since 0; before: never looked"),
        // Which state it was in between 15 and 30 is not known.
        (&[(0, A), (15, A), (30, S), (45, S)], "active 0-15, stalled 30-45", "stalled since 30; before: active at 15"),
        (
            &[(0, A), (15, A), (95, A), (110, A)],
            "active 0-15, nobody looked 15-95, active 95-110",
            "active since 95; before: nobody looked from 15, active",
        ),
        (
            &[(0, A), (15, A), (95, S)],
            "active 0-15, nobody looked 15-95, stalled 95-95",
            "stalled since 95; before: nobody looked from 15, active",
        ),
        (
            &[(0, A), (15, A), (30, T), (45, T), (60, A)],
            "active 0-15, store_timeout 15-60, active 60-60",
            "active since 60; before: not readable from 15, active",
        ),
        (
            &[(0, A), (15, A), (30, T), (45, T)],
            "active 0-15, store_timeout 15-45",
            "nothing since 30; before: active at 15",
        ),
        (
            &[(0, A), (15, T), (30, U), (45, S)],
            "active 0-0, store_timeout 0-30, store_unreachable 30-45, stalled 45-45",
            "stalled since 45; before: several reasons from 0, active",
        ),
        // A failed look does not look further back than to the last one.
        (
            &[(0, A), (15, A), (95, T), (110, A)],
            "active 0-15, nobody looked 15-95, store_timeout 95-110, active 110-110",
            "active since 110; before: several reasons from 15, active",
        ),
        (
            &[(0, A), (15, T), (95, A)],
            "active 0-0, store_timeout 0-15, nobody looked 15-95, active 95-95",
            "active since 95; before: several reasons from 0, active",
        ),
        (&[(0, T), (15, T)], "store_timeout 0-15", "nothing since 0; before: never looked"),
        (&[(0, T), (15, A), (30, A)], "active 15-30", "active since 15; before: never looked"),
        // Looks that come out of order, by a clock's resolution, are at the same time.
        (&[(10, A), (9, S)], "active 10-10, stalled 10-10", "stalled since 10; before: active at 10"),
    ] {
        let history = after(looks);
        assert_eq!((line(&history, "l").as_str(), since(&history).as_str()), (expected, expected_since), "{looks:?}");
    }
}

#[test]
fn of_many_changes_the_latest_are_kept_and_the_rest_is_said_to_be_forgotten() {
    let flapping: Vec<_> = (0..100).map(|at| (at * 15, if at % 2 == 0 { A } else { S })).collect();
    let history = after(&flapping);
    assert_eq!(history.of("l").len(), CHANGES);
    assert!(line(&history, "l").ends_with("active 1470-1470, stalled 1485-1485"), "{}", line(&history, "l"));
    assert!(history.is_cut("l") && !after(&flapping[..CHANGES]).is_cut("l"));
    assert_eq!(since(&history), "stalled since 1485; before: active at 1470");
}

#[test]
fn of_many_interruptions_the_latest_are_kept_and_nothing_is_made_up_of_the_time_before() {
    let flapping: Vec<_> = (0..400).map(|at| (at * 15, if at % 2 == 0 { A } else { T })).collect();
    let history = after(&flapping);
    let stretches = history.of("l");
    let kept = stretches.iter().filter(|stretch| matches!(stretch.seen, Seen::Nothing(_))).count();
    assert_eq!(kept, INTERRUPTIONS);
    assert!(history.is_cut("l"));
    let begins = stretches[0].from.as_secs();
    assert!(begins > 3_000 && stretches.iter().all(|stretch| stretch.from.as_secs() >= begins), "{stretches:?}");
    assert!(stretches.is_sorted_by(|one, other| one.to <= other.from));
}

#[test]
fn leases_come_and_go_and_each_keeps_its_own_line() {
    let mut history = History::default();
    for (at, leases, seen) in [
        (0, &["b", "d"][..], A),
        (15, &["a", "b", "c", "d"], A),
        (30, &["a", "c", "d"], S),
        (45, &["a", "b", "c", "d"], S),
    ] {
        history.take_in(&snapshot(leases, seen), Duration::from_secs(at));
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
fn a_copy_stays_as_it_was_and_shares_what_does_not_change() {
    let mut history = after(&[(0, A), (15, A)]);
    let copy = history.clone();
    history.take_in(&snapshot(&["l"], A), Duration::from_secs(30));
    assert!(Arc::ptr_eq(&history.tracks, &copy.tracks), "a look that changed nothing");
    history.take_in(&snapshot(&["l"], S), Duration::from_secs(45));
    assert_eq!(
        (line(&copy, "l").as_str(), line(&history, "l").as_str()),
        ("active 0-15", "active 0-30, stalled 45-45")
    );
}

#[test]
fn a_lease_takes_up_few_bytes_however_long_it_is_watched() {
    let names: Vec<String> = (0..10_000).map(|number| format!("lease-{number:05}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut history = History::default();
    let (active, stalled) = (snapshot(&names, A), snapshot(&names, S));
    for look in 0..10 {
        history.take_in(&active, Duration::from_secs(look * 15));
    }
    let bytes = |history: &History| {
        // An `Arc` of a slice has two counts before it. The name is the snapshot's own.
        let of = |track: &Track| size_of::<Track>() + 16 + size_of_val(track.changes());
        history.tracks.iter().map(of).sum::<usize>() / history.tracks.len()
    };
    assert_eq!(bytes(&history), 60, "as long as nothing changes");
    for look in 10..100 {
        history.take_in(if look % 2 == 0 { &active } else { &stalled }, Duration::from_secs(look * 15));
    }
    assert_eq!(bytes(&history), 48 + CHANGES * 12, "however often something does");
}
