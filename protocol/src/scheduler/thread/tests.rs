use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};

use tempfile::TempDir;

use super::*;
use crate::{Epoch, HolderId, ProtocolError, SqliteProtocol, Timing};

const PATIENCE: Duration = Duration::from_secs(30);

/// Runs in real time, so it waits for events and never for a time.
struct TestBed {
    directory: TempDir,
}

impl TestBed {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("store.db")
    }

    fn start(&self, ttl: Duration) -> (SchedulerHandle, Receiver<SchedulerEvent>) {
        let timing = Timing::new(ttl, Duration::from_millis(20)).unwrap();
        let timing = timing.work_takes(Duration::from_millis(1)).enqueue_every(Duration::from_millis(5)).unwrap();
        let scheduler = Scheduler::new(HolderId::random().unwrap(), "retention", timing);
        let (events, received) = channel();
        let path = self.path();
        let report = move |event| events.send(event).unwrap_or_default();
        (spawn(scheduler, move || SqliteProtocol::open(&path), report).unwrap(), received)
    }
}

fn wait_for(events: &Receiver<SchedulerEvent>, wanted: impl Fn(&SchedulerEvent) -> bool) -> SchedulerEvent {
    loop {
        let event = events.recv_timeout(PATIENCE).unwrap();
        if wanted(&event) {
            return event;
        }
    }
}

fn acquired(events: &Receiver<SchedulerEvent>) -> SchedulerEvent {
    wait_for(events, |event| matches!(event, SchedulerEvent::Acquired { .. }))
}

fn epoch(number: u64) -> Epoch {
    Epoch::new(number).unwrap()
}

#[test]
fn a_stopped_scheduler_gives_its_lease_back() {
    let bed = TestBed::new();
    SqliteProtocol::create(&bed.path()).unwrap();
    let (running, events) = bed.start(PATIENCE);
    wait_for(&events, |event| matches!(event, SchedulerEvent::Planned { .. }));
    running.stop().unwrap();
    assert_eq!(events.iter().last(), Some(SchedulerEvent::Released { epoch: epoch(1) }));
    let (running, events) = bed.start(PATIENCE);
    assert_eq!(acquired(&events), SchedulerEvent::Acquired { epoch: epoch(2) });
    running.stop().unwrap();
}

#[test]
fn a_crashed_scheduler_keeps_its_lease_until_it_expires() {
    let bed = TestBed::new();
    let mut store = SqliteProtocol::create(&bed.path()).unwrap();
    let (running, events) = bed.start(PATIENCE);
    acquired(&events);
    running.crash().unwrap();
    assert!(!events.iter().any(|event| matches!(event, SchedulerEvent::Released { .. })));
    assert!(store.read("retention").unwrap().lease.unwrap().holder.is_some());
}

#[test]
fn a_paused_leader_is_superseded_and_steps_down_when_it_resumes() {
    let bed = TestBed::new();
    SqliteProtocol::create(&bed.path()).unwrap();
    let (first, of_first) = bed.start(Duration::from_millis(250));
    acquired(&of_first);
    first.pause();
    let (second, of_second) = bed.start(Duration::from_millis(250));
    acquired(&of_second);
    first.resume();
    let stepped_down =
        wait_for(&of_first, |event| matches!(event, SchedulerEvent::Fenced { .. } | SchedulerEvent::Lost { .. }));
    assert!(matches!(stepped_down, SchedulerEvent::Fenced { .. } | SchedulerEvent::Lost { .. }));
    first.stop().unwrap();
    second.stop().unwrap();
}

#[test]
fn a_frozen_leader_renews_and_plans_nothing_until_it_thaws() {
    let bed = TestBed::new();
    SqliteProtocol::create(&bed.path()).unwrap();
    let (running, events) = bed.start(PATIENCE);
    acquired(&events);
    running.freeze();
    wait_for(&events, |event| *event == SchedulerEvent::Frozen);
    for _ in 0..10 {
        let event = wait_for(&events, |event| !matches!(event, SchedulerEvent::Enqueued { .. }));
        assert_eq!(event, SchedulerEvent::Renewed { epoch: epoch(1) });
    }
    running.thaw();
    wait_for(&events, |event| *event == SchedulerEvent::Thawed);
    wait_for(&events, |event| matches!(event, SchedulerEvent::Planned { .. }));
    running.stop().unwrap();
}

#[test]
fn a_store_that_is_not_there_yet_is_waited_for() {
    let bed = TestBed::new();
    let (running, events) = bed.start(PATIENCE);
    let failed = SchedulerEvent::StoreFailed(ProtocolError::Unreachable);
    for _ in 0..2 {
        assert_eq!(events.recv_timeout(PATIENCE).unwrap(), failed);
    }
    SqliteProtocol::create(&bed.path()).unwrap();
    acquired(&events);
    running.stop().unwrap();
}
