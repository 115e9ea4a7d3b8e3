//! Places with leases: what is written there, what the exporter is told of them, and what can befall them.

mod redis;
mod sql;
mod sqlite;

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::fault::Fault;
use crate::servers::{Kind, wanted};

/// The lease whose holder changes all the time, whose epoch grows, and whose work moves: never stalled.
pub(super) const LEADER: &str = "leader";
/// The lease that is renewed while its work has been due for long: never active.
pub(super) const STUCK: &str = "stuck";
/// When the holder of that lease got it, when its work moved last, and since when it has waited, in Unix seconds. They stay
/// what they are: a time of progress that changes is progress.
pub(super) const LONG_AGO: [u64; 3] = [1_600_000_000, 1_600_001_000, 1_600_002_000];
/// The source, and its one lease, whose holders beat side by side.
pub(super) const REGISTRY: &str = "schedulers";
/// How many leases a source is to know at the most. More than there ever are at once, fewer than come by.
pub(super) const MAX_LEASES: usize = 50;
/// How many leases are there at once that never come again.
const PASSING: u64 = 30;

/// A store, as the soak sees it.
pub(super) trait Store: Send + Sync {
    /// What it is called.
    fn name(&self) -> &'static str;

    /// The sources that read it.
    fn sources(&self) -> &'static [&'static str];

    /// Their configuration.
    fn yaml(&self) -> String;

    /// Makes these its leases, and its tables too if they are not there.
    fn write(&self, leases: &Leases);

    /// What can befall it.
    fn faults(&self) -> Vec<Fault<'_>>;

    /// How many connections the exporter has at the server; nothing if it is no server.
    fn connections(&self) -> Option<usize>;
}

/// The leases of a store at a time.
pub(super) struct Leases {
    /// Grows each time.
    pub(super) epoch: u64,
    /// Which run of the tests: no name is the same as in another.
    seed: u64,
}

impl Leases {
    /// Who leads.
    pub(super) fn holder(&self) -> String {
        format!("scheduler-{}", self.epoch)
    }

    /// Names that were never there before and will never come again.
    pub(super) fn passing(&self) -> impl Iterator<Item = String> {
        let Self { epoch, seed } = *self;
        (0..PASSING).map(move |number| format!("passing-{seed}-{epoch:09}-{number:02}-of-a-name-that-is-not-short"))
    }
}

/// A store, and whose turn it is: whoever writes there or has a fault befall it.
pub(super) struct SharedStore {
    pub(super) store: Box<dyn Store>,
    turn: Mutex<Leases>,
}

/// Somebody's turn.
pub(super) struct Turn<'a> {
    store: &'a dyn Store,
    leases: MutexGuard<'a, Leases>,
}

impl SharedStore {
    fn new(store: Box<dyn Store>, seed: u64) -> Self {
        let shared = Self { store, turn: Mutex::new(Leases { epoch: 0, seed }) };
        shared.turn().write();
        shared
    }

    /// Waits for one's turn.
    pub(super) fn turn(&self) -> Turn<'_> {
        Turn { store: &*self.store, leases: self.turn.lock().unwrap_or_else(PoisonError::into_inner) }
    }
}

impl Turn<'_> {
    /// Lets the leases go on: another holder, a higher epoch, and others in store of those that were passing.
    pub(super) fn write(&mut self) {
        self.leases.epoch += 1;
        self.store.write(&self.leases);
    }

    /// How many connections the exporter has there; nothing if it is no server.
    pub(super) fn connections(&self) -> Option<usize> {
        self.store.connections()
    }
}

/// One store of each kind that the tests are not to do without.
pub(super) fn all(folder: &Path, seed: u64) -> Vec<SharedStore> {
    let mut stores: Vec<Box<dyn Store>> =
        vec![Box::new(sqlite::Sqlite::reference(folder)), Box::new(sqlite::Sqlite::own(folder))];
    for kind in wanted(&[Kind::Postgres, Kind::MariaDb, Kind::Redis]) {
        stores.push(match kind {
            Kind::Redis => Box::new(redis::Redis::start()),
            _ => Box::new(sql::Sql::start(kind)),
        });
    }
    stores.into_iter().map(|store| SharedStore::new(store, seed)).collect()
}
