use rusqlite::Connection;

use super::*;
use crate::sqlite::{SCHEMA, SqliteProtocol, VirtualClock};

const LEASE: &str = "retention";
const START: i64 = 1_790_000_000_000;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn epoch(number: u64) -> Epoch {
    Epoch::new(number).unwrap()
}

/// The key of the occurrence that became due so many seconds after the start.
fn key(second: i64) -> String {
    format!("{LEASE}/{}", START / 1000 + second)
}

/// A few instances on one store, in virtual time. All clocks agree here; nothing relies on it.
struct TestBed {
    protocol: SqliteProtocol,
    clock: VirtualClock,
    now: Duration,
    instances: Vec<Scheduler>,
    paused: Vec<bool>,
}

impl TestBed {
    /// Leases live 5 s and are renewed every second; work takes 200 ms.
    fn new(instances: usize, enqueue_every: Duration) -> Self {
        let clock = VirtualClock::at(StoreTime::from_unix_millis(START));
        let connection = Connection::open_in_memory().unwrap();
        clock.install(&connection).unwrap();
        connection.execute_batch(SCHEMA).unwrap();
        let timing = Timing::new(seconds(5), seconds(1)).unwrap();
        let timing = timing.work_takes(Duration::from_millis(200)).enqueue_every(enqueue_every).unwrap();
        let named = |number| HolderId::new(format!("instance-{number}")).unwrap();
        let paused = vec![false; instances];
        let instances = (0..instances).map(|number| Scheduler::new(named(number), LEASE, timing)).collect();
        Self { protocol: SqliteProtocol::new(connection), clock, now: Duration::ZERO, instances, paused }
    }

    /// Runs whoever is not paused up to a time, and tells what happened to whom.
    fn run_until(&mut self, end: Duration) -> Vec<(usize, SchedulerEvent)> {
        let mut log = Vec::new();
        loop {
            let running = (0..self.instances.len()).filter(|number| !self.paused[*number]);
            let next = running.map(|number| (self.instances[number].next_step_at().max(self.now), number)).min();
            let Some((at, number)) = next.filter(|(at, _)| *at <= end) else { break };
            self.move_to(at);
            let events = self.instances[number].step(&mut self.protocol, at);
            log.extend(events.into_iter().map(|event| (number, event)));
        }
        self.move_to(end);
        log
    }

    fn move_to(&mut self, time: Duration) {
        self.clock.advance(time.saturating_sub(self.now));
        self.now = time;
    }

    /// Runs on until the first instance works on something, and tells which.
    fn run_until_work_is_in_progress(&mut self) -> String {
        loop {
            if let Role::Leader { work: Work::InProgress { occurrence, .. }, .. } = &self.instances[0].role {
                return occurrence.key.clone();
            }
            self.run_until(self.now + Duration::from_millis(50));
        }
    }

    fn due(&mut self) -> u64 {
        self.protocol.read(LEASE).unwrap().backlog.due
    }
}

fn of(instance: usize, log: &[(usize, SchedulerEvent)]) -> Vec<SchedulerEvent> {
    log.iter().filter(|(number, _)| *number == instance).map(|(_, event)| event.clone()).collect()
}

#[test]
fn a_leader_renews_and_plans_what_becomes_due() {
    let mut bed = TestBed::new(1, seconds(1));
    let log = of(0, &bed.run_until(Duration::from_millis(1_500)));
    let epoch = epoch(1);
    assert_eq!(
        log,
        [
            SchedulerEvent::Acquired { epoch },
            SchedulerEvent::Enqueued { key: key(0) },
            SchedulerEvent::Taken { key: key(0) },
            SchedulerEvent::Planned { key: key(0), epoch },
            SchedulerEvent::Renewed { epoch },
            SchedulerEvent::Enqueued { key: key(1) },
            // Looked for after the write at 0.2 s, and again a retry interval later.
            SchedulerEvent::Taken { key: key(1) },
            SchedulerEvent::Planned { key: key(1), epoch },
        ]
    );
}

#[test]
fn a_standby_takes_over_within_a_retry_of_the_expiry() {
    let mut bed = TestBed::new(2, Duration::ZERO);
    assert_eq!(bed.run_until(seconds(3)).first(), Some(&(0, SchedulerEvent::Acquired { epoch: epoch(1) })));
    bed.paused[0] = true;
    assert_eq!(bed.run_until(Duration::from_millis(7_999)), []);
    let log = bed.run_until(seconds(9));
    assert_eq!(
        log,
        [(1, SchedulerEvent::Acquired { epoch: epoch(2) }), (1, SchedulerEvent::Renewed { epoch: epoch(2) })]
    );
}

#[test]
fn a_leader_paused_past_its_expiry_is_fenced_when_it_goes_on() {
    let mut bed = TestBed::new(2, seconds(1));
    bed.run_until(seconds(3));
    let key_in_progress = bed.run_until_work_is_in_progress();
    bed.paused[0] = true;

    let log = bed.run_until(seconds(20));
    assert_eq!(of(0, &log), []);
    assert!(log.contains(&(1, SchedulerEvent::Acquired { epoch: epoch(2) })));
    assert!(log.contains(&(1, SchedulerEvent::Planned { key: key_in_progress.clone(), epoch: epoch(2) })));

    let before = bed.protocol.read(LEASE).unwrap();
    let events = bed.instances[0].step(&mut bed.protocol, bed.now);
    assert_eq!(events.first(), Some(&SchedulerEvent::Fenced { key: key_in_progress, epoch: epoch(1) }));
    assert_eq!(bed.instances[0].epoch(), None, "it has stepped down");
    assert_eq!(bed.protocol.read(LEASE).unwrap(), before, "its late write changed nothing");

    bed.paused[0] = false;
    let log = of(0, &bed.run_until(seconds(30)));
    assert!(
        !log.iter().any(|event| matches!(event, SchedulerEvent::Acquired { .. } | SchedulerEvent::Planned { .. })),
        "{log:?}"
    );
}

#[test]
fn a_leader_that_lost_its_lease_with_nothing_key_in_progress_steps_down() {
    let mut bed = TestBed::new(2, Duration::ZERO);
    bed.run_until(seconds(1));
    bed.paused[0] = true;
    bed.run_until(seconds(10));
    bed.paused[0] = false;
    assert_eq!(of(0, &bed.run_until(seconds(12))), [SchedulerEvent::Lost { epoch: epoch(1) }]);
}

#[test]
fn a_late_write_that_nobody_superseded_is_done_and_then_the_lease_is_lost() {
    let mut bed = TestBed::new(1, seconds(60));
    bed.run_until(Duration::from_millis(100));
    bed.paused[0] = true;
    bed.run_until(seconds(10));
    bed.paused[0] = false;
    assert_eq!(
        of(0, &bed.run_until(seconds(11))),
        [
            SchedulerEvent::Planned { key: format!("{LEASE}/{}", START / 60_000), epoch: epoch(1) },
            SchedulerEvent::Lost { epoch: epoch(1) },
            SchedulerEvent::Acquired { epoch: epoch(2) },
        ]
    );
}

#[test]
fn a_frozen_leader_renews_while_due_work_grows_and_nobody_takes_over() {
    let mut bed = TestBed::new(2, seconds(1));
    bed.run_until(seconds(10));
    let key_in_progress = bed.run_until_work_is_in_progress();
    bed.instances[0].freeze();
    let (progress, due) = (bed.protocol.read(LEASE).unwrap().progress, bed.due());

    let log = bed.run_until(bed.now + seconds(600));
    let renewed = log.iter().filter(|(_, event)| *event == SchedulerEvent::Renewed { epoch: epoch(1) }).count();
    assert_eq!(renewed, 600);
    assert!(
        log.iter().all(|(_, event)| matches!(event, SchedulerEvent::Renewed { .. } | SchedulerEvent::Enqueued { .. })),
        "{log:?}"
    );
    assert_eq!(bed.protocol.read(LEASE).unwrap().progress, progress);
    assert_eq!(bed.due(), due + 600);

    bed.instances[0].thaw();
    let log = bed.run_until(bed.now);
    assert_eq!(log.first(), Some(&(0, SchedulerEvent::Planned { key: key_in_progress, epoch: epoch(1) })));
    bed.run_until(seconds(800));
    assert!(bed.due() <= 2, "it catches up");
}

#[test]
fn a_released_lease_passes_on_at_once() {
    let mut bed = TestBed::new(2, seconds(1));
    bed.run_until(Duration::from_millis(3_250));
    let released = bed.instances[0].release(&mut bed.protocol, bed.now);
    assert_eq!(released, Some(SchedulerEvent::Released { epoch: epoch(1) }));
    bed.paused[0] = true;
    assert!(bed.run_until(seconds(4)).contains(&(1, SchedulerEvent::Acquired { epoch: epoch(2) })));
    assert_eq!(bed.instances[0].release(&mut bed.protocol, bed.now), None, "a standby has nothing to release");
}

#[test]
fn any_number_of_instances_enqueue_each_slot_once() {
    let mut bed = TestBed::new(5, seconds(1));
    let log = bed.run_until(Duration::from_millis(60_900));
    let enqueued: Vec<_> = log.iter().filter(|(_, event)| matches!(event, SchedulerEvent::Enqueued { .. })).collect();
    assert_eq!(enqueued.len(), 61);
    let planned = log.iter().filter(|(_, event)| matches!(event, SchedulerEvent::Planned { .. })).count();
    assert_eq!(planned, 61);
}

#[test]
fn an_action_without_side_effect_is_done_outside_the_fenced_write() {
    let mut bed = TestBed::new(1, Duration::ZERO);
    let (key, lease, action) = (String::from("count"), LEASE.into(), MaintenanceAction::CountBacklog);
    let due_at = bed.clock.now();
    let _ = bed.protocol.enqueue(&Occurrence { key: key.clone(), lease, action, due_at }).unwrap();
    let log = of(0, &bed.run_until(Duration::from_millis(900)));
    let epoch = epoch(1);
    let planned = SchedulerEvent::Planned { key: key.clone(), epoch };
    assert_eq!(
        log,
        [
            SchedulerEvent::Acquired { epoch },
            SchedulerEvent::Taken { key },
            SchedulerEvent::Counted { due: 1 },
            planned
        ]
    );
}

#[test]
fn a_store_that_fails_is_tried_again_after_the_retry_interval() {
    let mut bed = TestBed::new(1, seconds(1));
    let mut broken = SqliteProtocol::new(Connection::open_in_memory().unwrap());
    let failed = SchedulerEvent::StoreFailed(ProtocolError::SchemaMismatch);
    let events = bed.instances[0].step(&mut broken, Duration::ZERO);
    assert_eq!(events, [failed.clone(), failed], "acquiring and enqueueing");
    assert_eq!(bed.instances[0].next_step_at(), seconds(1));
    assert_eq!(bed.run_until(Duration::from_millis(999)), []);
    assert_eq!(bed.run_until(seconds(1)).first(), Some(&(0, SchedulerEvent::Acquired { epoch: epoch(1) })));
}

#[test]
fn work_that_left_the_queue_is_forgotten() {
    let mut bed = TestBed::new(1, seconds(60));
    bed.run_until(Duration::from_millis(100));
    bed.protocol.connection().execute("DELETE FROM occurrence", []).unwrap();
    let log = of(0, &bed.run_until(seconds(2)));
    let (failed, renewed) =
        (SchedulerEvent::StoreFailed(ProtocolError::NoSuchOccurrence), SchedulerEvent::Renewed { epoch: epoch(1) });
    assert_eq!(log, [failed, renewed.clone(), renewed]);
}
