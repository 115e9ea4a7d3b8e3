use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

const MINUTE: Duration = Duration::from_secs(60);

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn of(source: &str) -> Subject {
    Subject { module: "observer", source: source.to_owned() }
}

fn take(repeats: &mut RepeatFilter<&'static str>, seconds: u64, line: &'static str) -> Vec<(&'static str, u64)> {
    shown(repeats.filter(at(seconds), of("jobs"), Repetition::OncePerPeriod, line))
}

fn shown<L>(said: Vec<FilteredLine<L>>) -> Vec<(L, u64)> {
    said.into_iter().map(|said| (said.line, said.suppressed)).collect()
}

#[test]
fn each_kind_of_line_is_written_at_once_and_then_the_latest_once_per_period() {
    let mut repeats = RepeatFilter::new(MINUTE);
    assert_eq!(take(&mut repeats, 0, "bad"), [("bad", 0)]);
    assert_eq!(repeats.next_due(), None, "nothing is held back");
    assert_eq!(take(&mut repeats, 1, "good"), [("good", 0)]);
    assert_eq!(take(&mut repeats, 2, "bad"), []);
    assert_eq!(take(&mut repeats, 3, "good"), []);
    assert_eq!(take(&mut repeats, 4, "bad"), []);
    assert_eq!(repeats.next_due(), Some(at(60)));
    assert_eq!(shown(repeats.take_due(at(59))), []);
    assert_eq!(shown(repeats.take_due(at(60))), [("bad", 2)], "the present state, and what was left out before it");
    assert_eq!(take(&mut repeats, 61, "bad"), [], "it has just been said");
    assert_eq!(take(&mut repeats, 62, "good"), [("good", 1)], "and counts what it comes after");
    assert_eq!(shown(repeats.take_due(at(120))), []);
    assert_eq!(take(&mut repeats, 121, "bad"), [("bad", 0)], "after a quiet time all is as at first");
}

#[test]
fn a_different_line_is_written_at_once_and_no_older_line_after_it() {
    let mut repeats = RepeatFilter::new(MINUTE);
    take(&mut repeats, 0, "refused");
    assert_eq!(take(&mut repeats, 1, "refused"), []);
    assert_eq!(take(&mut repeats, 2, "timeout"), [("timeout", 1)]);
    assert_eq!(shown(repeats.take_all()), []);
}

#[test]
fn one_source_does_not_hold_back_another() {
    let mut repeats = RepeatFilter::new(MINUTE);
    for source in ["a", "b"] {
        assert_eq!(shown(repeats.filter(at(0), of(source), Repetition::OncePerPeriod, "bad")), [("bad", 0)]);
    }
    for source in ["b", "a"] {
        assert_eq!(shown(repeats.filter(at(1), of(source), Repetition::OncePerPeriod, source)), [(source, 0)]);
        assert_eq!(shown(repeats.filter(at(1), of(source), Repetition::OncePerPeriod, source)), []);
    }
    assert_eq!(shown(repeats.take_due(at(60))), [("b", 0), ("a", 0)], "in the order in which it happened");
}

#[test]
fn repeatable_lines_are_written_each_time_up_to_a_limit() {
    let mut repeats = RepeatFilter::new(MINUTE);
    let mut said = 0;
    for _ in 0..150 {
        said += repeats.filter(at(0), of(""), Repetition::Unlimited, "loaded").len();
    }
    assert_eq!(said, MAX_REPEATABLE);
    assert_eq!(shown(repeats.take_all()), [("loaded", 49)]);
}

#[test]
fn memory_and_output_are_bounded_for_any_number_of_sources_and_lines() {
    let mut repeats = RepeatFilter::new(MINUTE);
    let mut said = 0;
    for number in 0..20_000_u64 {
        let subject = of(&number.to_string());
        said += repeats.filter(at(0), subject, Repetition::OncePerPeriod, number).len();
        said += repeats.filter(at(0), of("one"), Repetition::OncePerPeriod, number).len();
    }
    assert!(repeats.subjects.len() <= MAX_SUBJECTS + 1, "{}", repeats.subjects.len());
    assert!(repeats.subjects.values().all(|period| period.written.len() <= MAX_KINDS));
    assert!(said <= MAX_SUBJECTS + 3 * MAX_KINDS, "{said}");
    repeats.take_due(at(60));
    repeats.take_due(at(120));
    assert!(repeats.subjects.is_empty(), "what is over is forgotten");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_line_is_written_or_counted_the_last_in_time_and_none_too_often(
        events in proptest::collection::vec((0_u64..20_000, 0_usize..3, 0_usize..4), 1..200)
    ) {
        let mut repeats = RepeatFilter::new(MINUTE);
        let mut now = Duration::ZERO;
        let mut said: Vec<(Duration, (usize, usize, usize), u64)> = Vec::new();
        let mut last = HashMap::new();
        for (number, (gap, source, kind)) in events.iter().copied().enumerate() {
            let next = now + Duration::from_millis(gap);
            // Held lines are written when they are due, as by the layer.
            while let Some(due) = repeats.next_due().filter(|due| *due <= next) {
                said.extend(repeats.take_due(due).into_iter().map(|one| (due, one.line, one.suppressed)).map(unhashed));
            }
            now = next;
            let line = Event { source, kind, number };
            last.insert(source, (now, number));
            said.extend(repeats.filter(now, of(&source.to_string()), Repetition::OncePerPeriod, line).into_iter()
                .map(|one| (now, one.line, one.suppressed)).map(unhashed));
        }
        while let Some(due) = repeats.next_due() {
            prop_assert!(due <= now + MINUTE, "within the period");
            said.extend(repeats.take_due(due).into_iter().map(|one| (due, one.line, one.suppressed)).map(unhashed));
        }
        let total: u64 = said.iter().map(|(_, _, suppressed)| 1 + suppressed).sum();
        prop_assert_eq!(total, events.len() as u64);
        for (source, (happened, number)) in last {
            let (at, line, _) = said.iter().rfind(|(_, line, _)| line.0 == source).unwrap();
            prop_assert_eq!(line.2, number, "the last that is said is the last that happened");
            prop_assert!(*at <= happened + MINUTE);
        }
        for (source, kind) in (0..3).flat_map(|source| (0..4).map(move |kind| (source, kind))) {
            let times: Vec<_> = said.iter().filter(|(_, line, _)| (line.0, line.1) == (source, kind)).map(|(at, ..)| *at).collect();
            // Once in each period.
            for three in times.windows(3) {
                prop_assert!(three[2] - three[0] >= MINUTE, "{:?}", times);
            }
        }
    }
}

/// An event; two events of the same kind are equal.
#[derive(Clone, Copy, Debug)]
struct Event {
    source: usize,
    kind: usize,
    number: usize,
}

impl Hash for Event {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.kind.hash(state);
    }
}

fn unhashed((at, line, suppressed): (Duration, Event, u64)) -> (Duration, (usize, usize, usize), u64) {
    (at, (line.source, line.kind, line.number), suppressed)
}
