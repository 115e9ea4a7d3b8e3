use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};

use tempfile::TempDir;

use super::super::authority::{Epoch, InstanceToken};
use super::super::protocol::ProtocolError;
use super::super::sqlite::SqliteProtocol;
use super::super::timing::Timing;
use super::*;

const PATIENCE: Duration = Duration::from_secs(30);

/// Runs in real time, so it waits for events and never for a time.
struct Bench {
    directory: TempDir,
}

impl Bench {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("store.db")
    }

    fn start(&self, ttl: Duration) -> (Running, Receiver<Event>) {
        let timing = Timing::new(ttl, Duration::from_millis(20)).unwrap();
        let timing = timing.work_takes(Duration::from_millis(1)).enqueue_every(Duration::from_millis(5)).unwrap();
        let instance = Instance::new(InstanceToken::random().unwrap(), "retention", timing);
        let (events, received) = channel();
        let path = self.path();
        let report = move |event| events.send(event).unwrap_or_default();
        (start(instance, move || SqliteProtocol::open(&path), report).unwrap(), received)
    }
}

fn wait_for(events: &Receiver<Event>, wanted: impl Fn(&Event) -> bool) -> Event {
    loop {
        let event = events.recv_timeout(PATIENCE).unwrap();
        if wanted(&event) {
            return event;
        }
    }
}

fn acquired(events: &Receiver<Event>) -> Event {
    wait_for(events, |event| matches!(event, Event::Acquired { .. }))
}

fn epoch(number: u64) -> Epoch {
    Epoch::new(number).unwrap()
}

#[test]
fn a_stopped_scheduler_gives_its_lease_back() {
    let bench = Bench::new();
    SqliteProtocol::create(&bench.path()).unwrap();
    let (running, events) = bench.start(PATIENCE);
    wait_for(&events, |event| matches!(event, Event::Planned { .. }));
    running.stop().unwrap();
    assert_eq!(events.iter().last(), Some(Event::Released { epoch: epoch(1) }));
    let (running, events) = bench.start(PATIENCE);
    assert_eq!(acquired(&events), Event::Acquired { epoch: epoch(2) });
    running.stop().unwrap();
}

#[test]
fn a_crashed_scheduler_keeps_its_lease_until_it_expires() {
    let bench = Bench::new();
    let mut store = SqliteProtocol::create(&bench.path()).unwrap();
    let (running, events) = bench.start(PATIENCE);
    acquired(&events);
    running.crash().unwrap();
    assert!(!events.iter().any(|event| matches!(event, Event::Released { .. })));
    assert!(store.read("retention").unwrap().lease.unwrap().holder.is_some());
}

#[test]
fn a_paused_leader_is_superseded_and_steps_down_when_it_resumes() {
    let bench = Bench::new();
    SqliteProtocol::create(&bench.path()).unwrap();
    let (first, of_first) = bench.start(Duration::from_millis(250));
    acquired(&of_first);
    first.pause();
    let (second, of_second) = bench.start(Duration::from_millis(250));
    acquired(&of_second);
    first.resume();
    let stepped_down = wait_for(&of_first, |event| matches!(event, Event::Fenced { .. } | Event::Lost { .. }));
    assert!(matches!(stepped_down, Event::Fenced { .. } | Event::Lost { .. }));
    first.stop().unwrap();
    second.stop().unwrap();
}

#[test]
fn a_frozen_leader_renews_and_plans_nothing_until_it_thaws() {
    let bench = Bench::new();
    SqliteProtocol::create(&bench.path()).unwrap();
    let (running, events) = bench.start(PATIENCE);
    acquired(&events);
    running.freeze();
    wait_for(&events, |event| *event == Event::Frozen);
    for _ in 0..10 {
        let event = wait_for(&events, |event| !matches!(event, Event::Enqueued { .. }));
        assert_eq!(event, Event::Renewed { epoch: epoch(1) });
    }
    running.thaw();
    wait_for(&events, |event| *event == Event::Thawed);
    wait_for(&events, |event| matches!(event, Event::Planned { .. }));
    running.stop().unwrap();
}

#[test]
fn a_store_that_is_not_there_yet_is_waited_for() {
    let bench = Bench::new();
    let (running, events) = bench.start(PATIENCE);
    let failed = Event::StoreFailed(ProtocolError::Unreachable);
    for _ in 0..2 {
        assert_eq!(events.recv_timeout(PATIENCE).unwrap(), failed);
    }
    SqliteProtocol::create(&bench.path()).unwrap();
    acquired(&events);
    running.stop().unwrap();
}
