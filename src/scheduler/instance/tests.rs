use rusqlite::Connection;

use super::super::sqlite::{SCHEMA, SqliteProtocol};
use super::super::virtual_clock::VirtualClock;
use super::*;

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
struct Bench {
    protocol: SqliteProtocol,
    clock: VirtualClock,
    now: Duration,
    instances: Vec<Instance>,
    paused: Vec<bool>,
}

impl Bench {
    /// Leases live 5 s and are renewed every second; work takes 200 ms.
    fn new(instances: usize, enqueue_every: Duration) -> Self {
        let clock = VirtualClock::at(StoreTime::from_unix_millis(START));
        let connection = Connection::open_in_memory().unwrap();
        clock.install(&connection).unwrap();
        connection.execute_batch(SCHEMA).unwrap();
        let timing = Timing::new(seconds(5), seconds(1)).unwrap();
        let timing = timing.work_takes(Duration::from_millis(200)).enqueue_every(enqueue_every).unwrap();
        let named = |number| InstanceToken::new(format!("instance-{number}")).unwrap();
        let paused = vec![false; instances];
        let instances = (0..instances).map(|number| Instance::new(named(number), LEASE, timing)).collect();
        Self { protocol: SqliteProtocol::new(connection), clock, now: Duration::ZERO, instances, paused }
    }

    /// Runs whoever is not paused up to a time, and tells what happened to whom.
    fn run_until(&mut self, end: Duration) -> Vec<(usize, Event)> {
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
    fn run_until_in_hand(&mut self) -> String {
        loop {
            if let Role::Leader { work: Work::InHand { occurrence, .. }, .. } = &self.instances[0].role {
                return occurrence.key.clone();
            }
            self.run_until(self.now + Duration::from_millis(50));
        }
    }

    fn due(&mut self) -> u64 {
        self.protocol.read(LEASE).unwrap().backlog.due
    }
}

fn of(instance: usize, log: &[(usize, Event)]) -> Vec<Event> {
    log.iter().filter(|(number, _)| *number == instance).map(|(_, event)| event.clone()).collect()
}

#[test]
fn a_leader_renews_and_plans_what_becomes_due() {
    let mut bench = Bench::new(1, seconds(1));
    let log = of(0, &bench.run_until(Duration::from_millis(1_500)));
    let epoch = epoch(1);
    assert_eq!(
        log,
        [
            Event::Acquired { epoch },
            Event::Enqueued { key: key(0) },
            Event::Taken { key: key(0) },
            Event::Planned { key: key(0), epoch },
            Event::Renewed { epoch },
            Event::Enqueued { key: key(1) },
            // Looked for after the write at 0.2 s, and again a retry interval later.
            Event::Taken { key: key(1) },
            Event::Planned { key: key(1), epoch },
        ]
    );
}

#[test]
fn a_standby_takes_over_within_a_retry_of_the_expiry() {
    let mut bench = Bench::new(2, Duration::ZERO);
    assert_eq!(bench.run_until(seconds(3)).first(), Some(&(0, Event::Acquired { epoch: epoch(1) })));
    bench.paused[0] = true;
    assert_eq!(bench.run_until(Duration::from_millis(7_999)), []);
    let log = bench.run_until(seconds(9));
    assert_eq!(log, [(1, Event::Acquired { epoch: epoch(2) }), (1, Event::Renewed { epoch: epoch(2) })]);
}

#[test]
fn a_leader_paused_past_its_expiry_is_fenced_when_it_goes_on() {
    let mut bench = Bench::new(2, seconds(1));
    bench.run_until(seconds(3));
    let in_hand = bench.run_until_in_hand();
    bench.paused[0] = true;

    let log = bench.run_until(seconds(20));
    assert_eq!(of(0, &log), []);
    assert!(log.contains(&(1, Event::Acquired { epoch: epoch(2) })));
    assert!(log.contains(&(1, Event::Planned { key: in_hand.clone(), epoch: epoch(2) })));

    let before = bench.protocol.read(LEASE).unwrap();
    let events = bench.instances[0].step(&mut bench.protocol, bench.now);
    assert_eq!(events.first(), Some(&Event::Fenced { key: in_hand, epoch: epoch(1) }));
    assert_eq!(bench.instances[0].epoch(), None, "it has stepped down");
    assert_eq!(bench.protocol.read(LEASE).unwrap(), before, "its late write changed nothing");

    bench.paused[0] = false;
    let log = of(0, &bench.run_until(seconds(30)));
    assert!(!log.iter().any(|event| matches!(event, Event::Acquired { .. } | Event::Planned { .. })), "{log:?}");
}

#[test]
fn a_leader_that_lost_its_lease_with_nothing_in_hand_steps_down() {
    let mut bench = Bench::new(2, Duration::ZERO);
    bench.run_until(seconds(1));
    bench.paused[0] = true;
    bench.run_until(seconds(10));
    bench.paused[0] = false;
    assert_eq!(of(0, &bench.run_until(seconds(12))), [Event::Lost { epoch: epoch(1) }]);
}

#[test]
fn a_late_write_that_nobody_superseded_is_done_and_then_the_lease_is_lost() {
    let mut bench = Bench::new(1, seconds(60));
    bench.run_until(Duration::from_millis(100));
    bench.paused[0] = true;
    bench.run_until(seconds(10));
    bench.paused[0] = false;
    assert_eq!(
        of(0, &bench.run_until(seconds(11))),
        [
            Event::Planned { key: format!("{LEASE}/{}", START / 60_000), epoch: epoch(1) },
            Event::Lost { epoch: epoch(1) },
            Event::Acquired { epoch: epoch(2) },
        ]
    );
}

#[test]
fn a_frozen_leader_renews_while_due_work_grows_and_nobody_takes_over() {
    let mut bench = Bench::new(2, seconds(1));
    bench.run_until(seconds(10));
    let in_hand = bench.run_until_in_hand();
    bench.instances[0].freeze();
    let (progress, due) = (bench.protocol.read(LEASE).unwrap().progress, bench.due());

    let log = bench.run_until(bench.now + seconds(600));
    let renewed = log.iter().filter(|(_, event)| *event == Event::Renewed { epoch: epoch(1) }).count();
    assert_eq!(renewed, 600);
    assert!(log.iter().all(|(_, event)| matches!(event, Event::Renewed { .. } | Event::Enqueued { .. })), "{log:?}");
    assert_eq!(bench.protocol.read(LEASE).unwrap().progress, progress);
    assert_eq!(bench.due(), due + 600);

    bench.instances[0].thaw();
    let log = bench.run_until(bench.now);
    assert_eq!(log.first(), Some(&(0, Event::Planned { key: in_hand, epoch: epoch(1) })));
    bench.run_until(seconds(800));
    assert!(bench.due() <= 2, "it catches up");
}

#[test]
fn a_released_lease_passes_on_at_once() {
    let mut bench = Bench::new(2, seconds(1));
    bench.run_until(Duration::from_millis(3_250));
    let released = bench.instances[0].release(&mut bench.protocol, bench.now);
    assert_eq!(released, Some(Event::Released { epoch: epoch(1) }));
    bench.paused[0] = true;
    assert!(bench.run_until(seconds(4)).contains(&(1, Event::Acquired { epoch: epoch(2) })));
    assert_eq!(bench.instances[0].release(&mut bench.protocol, bench.now), None, "a standby has nothing to release");
}

#[test]
fn any_number_of_instances_enqueue_each_slot_once() {
    let mut bench = Bench::new(5, seconds(1));
    let log = bench.run_until(Duration::from_millis(60_900));
    let enqueued: Vec<_> = log.iter().filter(|(_, event)| matches!(event, Event::Enqueued { .. })).collect();
    assert_eq!(enqueued.len(), 61);
    let planned = log.iter().filter(|(_, event)| matches!(event, Event::Planned { .. })).count();
    assert_eq!(planned, 61);
}

#[test]
fn an_action_without_side_effect_is_done_outside_the_fenced_write() {
    let mut bench = Bench::new(1, Duration::ZERO);
    let (key, lease, action) = (String::from("count"), LEASE.into(), MaintenanceAction::CountBacklog);
    let due_at = bench.clock.now();
    let _ = bench.protocol.enqueue(&Occurrence { key: key.clone(), lease, action, due_at }).unwrap();
    let log = of(0, &bench.run_until(Duration::from_millis(900)));
    let epoch = epoch(1);
    let planned = Event::Planned { key: key.clone(), epoch };
    assert_eq!(log, [Event::Acquired { epoch }, Event::Taken { key }, Event::Counted { due: 1 }, planned]);
}

#[test]
fn a_store_that_fails_is_tried_again_after_the_retry_interval() {
    let mut bench = Bench::new(1, seconds(1));
    let mut broken = SqliteProtocol::new(Connection::open_in_memory().unwrap());
    let failed = Event::StoreFailed(ProtocolError::SchemaMismatch);
    let events = bench.instances[0].step(&mut broken, Duration::ZERO);
    assert_eq!(events, [failed.clone(), failed], "acquiring and enqueueing");
    assert_eq!(bench.instances[0].next_step_at(), seconds(1));
    assert_eq!(bench.run_until(Duration::from_millis(999)), []);
    assert_eq!(bench.run_until(seconds(1)).first(), Some(&(0, Event::Acquired { epoch: epoch(1) })));
}

#[test]
fn work_that_left_the_queue_is_forgotten() {
    let mut bench = Bench::new(1, seconds(60));
    bench.run_until(Duration::from_millis(100));
    bench.protocol.connection().execute("DELETE FROM occurrence", []).unwrap();
    let log = of(0, &bench.run_until(seconds(2)));
    let (failed, renewed) = (Event::StoreFailed(ProtocolError::NoSuchOccurrence), Event::Renewed { epoch: epoch(1) });
    assert_eq!(log, [failed, renewed.clone(), renewed]);
}
