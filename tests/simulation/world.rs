//! The schedulers, their store, and the faults that happen to them.

use std::fmt::Write;
use std::time::Duration;

use lease_protocol::sqlite::Statements;
use lease_protocol::{
    AcquireOutcome, EnqueueOutcome, Epoch, HolderId, LeaseProtocol, LeaseSnapshot, Occurrence, PlanOutcome,
    ProtocolError, ReleaseOutcome, RenewOutcome, Scheduler, SqliteProtocol, StoreTime, Timing, Ttl, VirtualClock,
};
use rusqlite::Connection;

use crate::exporter::{Exporter, Mutation, VIEWS};
use crate::oracle::{Action, Oracle};
use crate::random::Random;

pub const LEASE: &str = "retention";
pub const TTL: Duration = Duration::from_secs(3);
pub const STALL_AFTER: Duration = Duration::from_secs(20);
const LENGTH: Duration = Duration::from_secs(240);
/// The start of a run, in Unix milliseconds on the store's clock.
const START: i64 = 1_800_000_000_000;
/// The start of a run on all monotonic clocks.
const START_MONOTONIC: Duration = Duration::from_secs(1_000);

/// The protocol and the exporter of a run, with or without a mutation.
#[derive(Clone, Debug, Default)]
pub struct Script {
    pub statements: Statements,
    pub mutation: Mutation,
}

pub struct World {
    random: Random,
    clock: VirtualClock,
    now: Duration,
    protocol: SqliteProtocol,
    /// The end of the current outage.
    outage_until: Duration,
    schedulers: Vec<Process>,
    exporters: Vec<Exporter>,
    pub oracle: Oracle,
    log: String,
    started: u64,
}

/// One scheduler process.
struct Process {
    instance: Scheduler,
    token: HolderId,
    /// How far the process's clock is ahead.
    clock_ahead: Duration,
    /// When a paused process continues.
    paused_until: Duration,
    /// When another process replaces one that has ended.
    dead_until: Option<Duration>,
}

impl World {
    pub fn new(seed: u64, script: Script) -> Self {
        let mut random = Random::new(seed);
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(lease_protocol::sqlite::SCHEMA).unwrap();
        let clock = VirtualClock::at(StoreTime::from_unix_millis(START));
        clock.install(&connection).unwrap();
        let protocol = SqliteProtocol::with_statements(connection, script.statements);
        let mut world = Self {
            clock,
            now: START_MONOTONIC,
            protocol,
            outage_until: Duration::ZERO,
            schedulers: Vec::new(),
            exporters: VIEWS.iter().map(|view| Exporter::new(view, script.mutation, &mut random)).collect(),
            oracle: Oracle::default(),
            log: String::new(),
            started: 0,
            random,
        };
        for _ in 0..2 + world.random.below(2) {
            let scheduler = world.scheduler();
            // The exporters may start before the schedulers.
            let paused_until = START_MONOTONIC + world.random.millis(0, 5_000);
            world.schedulers.push(Process { paused_until, ..scheduler });
        }
        world
    }

    pub fn log(&self) -> &str {
        &self.log
    }

    /// Runs the simulation until the first error.
    pub fn run(&mut self) -> Result<(), String> {
        let end = self.now + LENGTH;
        while self.now < end {
            let step = self.random.millis(1, 250);
            self.now += step;
            self.clock.advance(step);
            self.inject_faults();
            for at in 0..self.schedulers.len() {
                self.step(at)?;
            }
            let unreachable = self.now < self.outage_until;
            for exporter in &mut self.exporters {
                if let Some(line) = exporter.scrape(
                    self.now,
                    self.protocol.connection(),
                    unreachable,
                    &mut self.random,
                    &mut self.oracle,
                )? {
                    let _ = writeln!(self.log, "{:>9.3} {line}", self.now.as_secs_f64());
                }
            }
        }
        Ok(())
    }

    /// Injects random faults into the schedulers and the store.
    fn inject_faults(&mut self) {
        if self.random.once_in(400) {
            self.outage_until = self.now + self.random.millis(100, 8_000);
            self.note(format!("the store cannot be reached until {:?}", self.outage_until));
        }
        for at in 0..self.schedulers.len() {
            match self.random.below(1_600) {
                0..4 => {
                    let until = self.now + self.random.millis(100, 12_000);
                    self.schedulers[at].paused_until = until;
                    self.note(format!("scheduler {at} is paused until {until:?}"));
                }
                4..8 => {
                    self.schedulers[at].instance.freeze();
                    self.note(format!("scheduler {at} freezes"));
                }
                8..14 => {
                    self.schedulers[at].instance.thaw();
                    self.note(format!("scheduler {at} thaws"));
                }
                14 => {
                    self.schedulers[at].dead_until = Some(self.now + self.random.millis(10, 30_000));
                    self.note(format!("scheduler {at} crashes"));
                }
                15 => {
                    let ahead = self.random.millis(0, 3_600_000);
                    self.schedulers[at].clock_ahead = ahead;
                    self.note(format!("the clock of scheduler {at} is now {ahead:?} ahead"));
                }
                16 => {
                    let until = self.now + self.random.millis(10, 10_000);
                    self.release(at, until);
                }
                _ => {}
            }
        }
    }

    /// Stops a scheduler, which releases the lease, and replaces it at `until`.
    fn release(&mut self, at: usize, until: Duration) {
        let scheduler = &mut self.schedulers[at];
        if self.now < self.outage_until || self.now < scheduler.paused_until || scheduler.dead_until.is_some() {
            return;
        }
        let mut connection = FaultyConnection {
            store: &mut self.protocol,
            oracle: &mut self.oracle,
            token: scheduler.token.clone(),
            now: self.now,
            fault: None,
            violation: None,
        };
        let event = scheduler.instance.release(&mut connection, self.now + scheduler.clock_ahead);
        scheduler.dead_until = Some(until);
        if let Some(event) = event {
            self.note(format!("scheduler {at} stops: {event}"));
        }
    }

    fn step(&mut self, at: usize) -> Result<(), String> {
        if self.schedulers[at].dead_until.is_some_and(|until| until <= self.now) {
            self.schedulers[at] = self.scheduler();
            self.note(format!("scheduler {at} starts anew"));
        }
        let scheduler = &mut self.schedulers[at];
        let local_now = self.now + scheduler.clock_ahead;
        if scheduler.dead_until.is_some()
            || self.now < scheduler.paused_until
            || local_now < scheduler.instance.next_step_at()
        {
            return Ok(());
        }
        let fault = if self.now < self.outage_until {
            Some(Fault::Unreachable)
        } else {
            self.random.once_in(60).then_some(Fault::ResponseLost)
        };
        let mut connection = FaultyConnection {
            store: &mut self.protocol,
            oracle: &mut self.oracle,
            token: scheduler.token.clone(),
            now: self.now,
            fault,
            violation: None,
        };
        let events = scheduler.instance.step(&mut connection, local_now);
        let violation = connection.violation;
        for event in events {
            self.note(format!("scheduler {at}: {event}"));
        }
        violation.map_or(Ok(()), Err)
    }

    fn scheduler(&mut self) -> Process {
        self.started += 1;
        let token = HolderId::new(format!("instance-{}", self.started)).unwrap();
        let timing = Timing::new(TTL, Duration::from_secs(1)).unwrap();
        // In one of three processes, occurrences fall due further apart than `stall_after`.
        let enqueue_every = Duration::from_secs(if self.random.once_in(3) { 45 } else { 3 });
        let timing = timing.work_takes(self.random.millis(50, 2_500)).enqueue_every(enqueue_every).unwrap();
        Process {
            instance: Scheduler::new(token.clone(), LEASE, timing),
            token,
            clock_ahead: self.random.millis(0, 3_600_000),
            paused_until: Duration::ZERO,
            dead_until: None,
        }
    }

    fn note(&mut self, what: String) {
        let _ = writeln!(self.log, "{:>9.3} {what}", self.now.as_secs_f64());
    }
}

/// The connection of one scheduler to the store during one step. It reports every action to the oracle, even if the
/// response is lost.
struct FaultyConnection<'a> {
    store: &'a mut SqliteProtocol,
    oracle: &'a mut Oracle,
    token: HolderId,
    now: Duration,
    fault: Option<Fault>,
    /// The first violation of the protocol.
    violation: Option<String>,
}

#[derive(Clone, Copy, Debug)]
enum Fault {
    /// No request reaches the store.
    Unreachable,
    /// The request is executed, but the response is lost.
    ResponseLost,
}

impl FaultyConnection<'_> {
    fn request<T>(
        &mut self,
        send: impl FnOnce(&mut SqliteProtocol) -> Result<T, ProtocolError>,
        action: impl FnOnce(&T) -> Option<Action>,
    ) -> Result<T, ProtocolError> {
        if matches!(self.fault, Some(Fault::Unreachable)) {
            return Err(ProtocolError::Unreachable);
        }
        let response = send(self.store)?;
        if let Some(action) = action(&response) {
            let result = self.oracle.record(&self.token, &action, self.now);
            self.violation = self.violation.take().or(result.err());
        }
        match self.fault {
            Some(_) => Err(ProtocolError::Unreachable),
            None => Ok(response),
        }
    }
}

impl LeaseProtocol for FaultyConnection<'_> {
    fn store_now(&mut self) -> Result<StoreTime, ProtocolError> {
        self.request(LeaseProtocol::store_now, |_| None)
    }

    fn acquire(&mut self, lease: &str, holder: &HolderId, ttl: Ttl) -> Result<AcquireOutcome, ProtocolError> {
        self.request(
            |store| store.acquire(lease, holder, ttl),
            |response| match response {
                AcquireOutcome::Acquired { epoch } => Some(Action::Acquired(epoch.get())),
                AcquireOutcome::HeldByAnother => None,
            },
        )
    }

    fn renew(&mut self, lease: &str, holder: &HolderId, epoch: Epoch, ttl: Ttl) -> Result<RenewOutcome, ProtocolError> {
        self.request(
            |store| store.renew(lease, holder, epoch, ttl),
            |response| (*response == RenewOutcome::Renewed).then_some(Action::Renewed(epoch.get())),
        )
    }

    fn release(&mut self, lease: &str, holder: &HolderId, epoch: Epoch) -> Result<ReleaseOutcome, ProtocolError> {
        self.request(
            |store| store.release(lease, holder, epoch),
            |response| (*response == ReleaseOutcome::Released).then_some(Action::Released(epoch.get())),
        )
    }

    fn enqueue(&mut self, occurrence: &Occurrence) -> Result<EnqueueOutcome, ProtocolError> {
        // The store's clock starts with the run.
        let due = Duration::from_millis((occurrence.due_at.unix_millis() - START).unsigned_abs()) + START_MONOTONIC;
        self.request(
            |store| store.enqueue(occurrence),
            |response| (*response == EnqueueOutcome::Enqueued).then_some(Action::Enqueued(occurrence.key.clone(), due)),
        )
    }

    fn next_due(&mut self, lease: &str) -> Result<Option<Occurrence>, ProtocolError> {
        self.request(|store| store.next_due(lease), |_| None)
    }

    fn plan(&mut self, key: &str, lease: &str, holder: &HolderId, epoch: Epoch) -> Result<PlanOutcome, ProtocolError> {
        self.request(
            |store| store.plan(key, lease, holder, epoch),
            |response| (*response == PlanOutcome::Planned).then(|| Action::Planned(key.to_owned(), epoch.get())),
        )
    }

    fn read(&mut self, lease: &str) -> Result<LeaseSnapshot, ProtocolError> {
        self.request(|store| store.read(lease), |_| None)
    }
}
