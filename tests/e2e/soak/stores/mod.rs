//! Stores with leases: their content, the configuration that reads them, and their faults.

mod redis;
mod sql;
mod sqlite;

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::fault::Fault;
use crate::servers::{Kind, wanted};

/// The lease whose holder and epoch change all the time and whose work progresses: never stalled.
pub(super) const LEADER: &str = "leader";
/// The lease that is renewed without progress although work is due: never active.
pub(super) const STUCK: &str = "stuck";
/// The acquisition, last progress and oldest due time of that lease, in Unix seconds. They never change, because a changed
/// time of progress would be progress.
pub(super) const LONG_AGO: [u64; 3] = [1_600_000_000, 1_600_001_000, 1_600_002_000];
/// The registry source and its only lease.
pub(super) const REGISTRY: &str = "schedulers";
/// The lease limit of a source: more leases than there are at once, fewer than there are in a run.
pub(super) const MAX_LEASES: usize = 50;
/// The number of short-lived leases at a time.
const PASSING: u64 = 30;

/// A store in the soak test.
pub(super) trait Store: Send + Sync {
    /// The name of the store.
    fn name(&self) -> &'static str;

    /// The sources that read the store.
    fn sources(&self) -> &'static [&'static str];

    /// The configuration of these sources.
    fn yaml(&self) -> String;

    /// Replaces all leases. Creates the tables if they do not exist.
    fn write(&self, leases: &Leases);

    /// The faults of the store.
    fn faults(&self) -> Vec<Fault<'_>>;

    /// The number of connections of the exporter, or `None` for a store without a server.
    fn connections(&self) -> Option<usize>;
}

/// One generation of the leases of a store.
pub(super) struct Leases {
    /// Increases with each generation.
    pub(super) epoch: u64,
    /// The seed of the run, which makes names unique.
    seed: u64,
}

impl Leases {
    /// The holder of the lease.
    pub(super) fn holder(&self) -> String {
        format!("scheduler-{}", self.epoch)
    }

    /// Names of short-lived leases, which no other generation has.
    pub(super) fn passing(&self) -> impl Iterator<Item = String> {
        let Self { epoch, seed } = *self;
        (0..PASSING).map(move |number| format!("passing-{seed}-{epoch:09}-{number:02}-of-a-name-that-is-not-short"))
    }
}

/// A store with a lock, which is held to write leases or to apply a fault.
pub(super) struct SharedStore {
    pub(super) store: Box<dyn Store>,
    turn: Mutex<Leases>,
}

/// The lock on a store.
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

    /// Locks the store.
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
