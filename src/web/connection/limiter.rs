//! How many connections there may be, and which one is closed when there are too many.
//!
//! A connection that asks for nothing costs its client nothing, so a client with many of them must not keep others out.
//! When every slot is taken, the peer with most idle connections loses the one that has been idle longest. Connections
//! whose last request was an honest one do not count for that, up to [`PROTECTED`] of each peer, so a scraper keeps its
//! connection through a flood. Choosing takes logarithmic time: a flood makes the limiter choose for every accept.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, Semaphore};
use tokio::time::{Instant, timeout};

use super::budget::ResponseBudget;
use super::peer::Peer;
use super::slot::{ConnectionHandle, ConnectionSlot};

/// So many idle connections of one peer that carried an honest request are closed last.
const PROTECTED: usize = 16;
/// How long to wait for a slot before another connection is chosen.
const RETRY: Duration = Duration::from_millis(50);

/// The slots of a server's connections.
#[derive(Debug)]
pub(in crate::web) struct ConnectionLimiter {
    permits: Arc<Semaphore>,
    /// How long a client may take nothing of a response while another waits.
    stall_after: Duration,
    budget: Arc<ResponseBudget>,
    table: Mutex<Table>,
    /// Told when a connection becomes idle while every slot is taken.
    idle: Notify,
}

#[derive(Debug, Default)]
struct Table {
    opened: u64,
    connections: HashMap<u64, Entry>,
    idle: HashMap<Peer, IdleConnections>,
    /// The peers with idle connections; the last one loses one first.
    order: BTreeSet<(Rank, Peer)>,
    /// The connections that are sending, by when their progress has to be looked at.
    sending: BTreeSet<(Instant, u64)>,
}

#[derive(Debug)]
struct Entry {
    peer: Peer,
    handle: Arc<ConnectionHandle>,
    state: ConnectionState,
}

/// What goes on over a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionState {
    /// It was just accepted and not read yet, or a request is being answered. It is not closed for another.
    Busy,
    /// It waits for a request, or for the rest of one. `honest` says that its last request was let in.
    Idle { since: Instant, honest: bool },
    /// A response is being written. It may be closed if its client has taken nothing for a while.
    Sending { check_at: Instant },
    /// It was chosen to be closed.
    Closing,
}

/// The idle connections of one peer, by since when they are.
#[derive(Debug, Default)]
struct IdleConnections {
    honest: BTreeSet<(Instant, u64)>,
    others: BTreeSet<(Instant, u64)>,
}

/// How soon a peer loses an idle connection: by how many are unprotected; where none is, by how many are protected; then
/// by how long one has been idle.
type Rank = (usize, usize, Reverse<Instant>);

impl IdleConnections {
    fn of(&mut self, honest: bool) -> &mut BTreeSet<(Instant, u64)> {
        if honest { &mut self.honest } else { &mut self.others }
    }

    fn longest(&self) -> Option<(Instant, u64)> {
        self.others.first().or_else(|| self.honest.first()).copied()
    }

    fn rank(&self) -> Option<Rank> {
        let (since, _) = self.longest()?;
        let unprotected = self.others.len() + self.honest.len().saturating_sub(PROTECTED);
        Some((unprotected, if unprotected == 0 { self.honest.len() } else { 0 }, Reverse(since)))
    }
}

impl Table {
    fn open(&mut self, peer: Peer, handle: Arc<ConnectionHandle>) -> u64 {
        self.opened += 1;
        self.connections.insert(self.opened, Entry { peer, handle, state: ConnectionState::Busy });
        self.opened
    }

    fn set(&mut self, number: u64, next: ConnectionState) {
        let Some(entry) = self.connections.get_mut(&number).filter(|it| it.state != ConnectionState::Closing) else {
            return;
        };
        let (peer, before) = (entry.peer, std::mem::replace(&mut entry.state, next));
        match before {
            ConnectionState::Idle { since, honest } => {
                self.change(peer, |idle| idle.of(honest).remove(&(since, number)));
            }
            ConnectionState::Sending { check_at } => _ = self.sending.remove(&(check_at, number)),
            ConnectionState::Busy | ConnectionState::Closing => {}
        }
        match next {
            ConnectionState::Idle { since, honest } => {
                self.change(peer, |idle| idle.of(honest).insert((since, number)));
            }
            ConnectionState::Sending { check_at } => _ = self.sending.insert((check_at, number)),
            ConnectionState::Busy | ConnectionState::Closing => {}
        }
    }

    /// Changes the idle connections of a peer, and its place in the order with them.
    fn change(&mut self, peer: Peer, change: impl FnOnce(&mut IdleConnections) -> bool) {
        let idle = self.idle.entry(peer).or_default();
        if let Some(rank) = idle.rank() {
            self.order.remove(&(rank, peer));
        }
        change(idle);
        match idle.rank() {
            Some(rank) => _ = self.order.insert((rank, peer)),
            None => _ = self.idle.remove(&peer),
        }
    }

    /// The connection to close for another: an idle one of a peer that has several unprotected ones, else one whose client
    /// takes nothing, else any idle one.
    fn victim(&mut self, now: Instant, stall_after: Duration) -> Option<Arc<ConnectionHandle>> {
        let first = self.order.last().copied();
        let crowded = first.is_some_and(|((unprotected, ..), _)| unprotected > 1);
        let stalled = if crowded { None } else { self.stalled(now, stall_after) };
        let number = stalled.or_else(|| Some(self.idle.get(&first?.1)?.longest()?.1))?;
        self.set(number, ConnectionState::Closing);
        self.connections.get(&number).map(|entry| Arc::clone(&entry.handle))
    }

    /// The first connection whose client has taken nothing for so long. Each of those that did is looked at again later, so
    /// this looks at any of them once in that time.
    fn stalled(&mut self, now: Instant, stall_after: Duration) -> Option<u64> {
        while let Some(&(_, number)) = self.sending.first().filter(|(check_at, _)| *check_at <= now) {
            let check_at = self.connections.get(&number)?.handle.progressed() + stall_after;
            if check_at <= now {
                return Some(number);
            }
            self.set(number, ConnectionState::Sending { check_at });
        }
        None
    }
}

impl ConnectionLimiter {
    /// A limiter of so many connections, whose responses share a budget.
    pub(in crate::web) fn new(most: usize, stall_after: Duration, budget: ResponseBudget) -> Arc<Self> {
        Arc::new(Self {
            permits: Arc::new(Semaphore::new(most.clamp(1, Semaphore::MAX_PERMITS))),
            stall_after,
            budget: Arc::new(budget),
            table: Mutex::default(),
            idle: Notify::new(),
        })
    }

    /// A slot for a connection that was accepted, as soon as one is free; another connection is closed for it.
    pub(in crate::web) async fn admit(self: &Arc<Self>, peer: Peer) -> Arc<ConnectionSlot> {
        let permit = loop {
            if let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() {
                break permit;
            }
            // Where no connection is idle yet, the next one that becomes so is chosen.
            let chosen = self.close_one();
            let permit = async {
                tokio::select! {
                    permit = Arc::clone(&self.permits).acquire_owned() => permit.ok(),
                    () = self.idle.notified(), if !chosen => None,
                }
            };
            if let Ok(Some(permit)) = timeout(RETRY, permit).await {
                break permit;
            }
        };
        let handle = Arc::new(ConnectionHandle::new());
        let number = self.table().open(peer, Arc::clone(&handle));
        Arc::new(ConnectionSlot::new(Arc::clone(self), number, peer, handle, permit))
    }

    /// Chooses a connection and closes it; says whether there is one that may be.
    pub(in crate::web) fn close_one(&self) -> bool {
        let victim = self.table().victim(Instant::now(), self.stall_after);
        victim.inspect(|victim| victim.close()).is_some()
    }

    pub(super) const fn budget(&self) -> &Arc<ResponseBudget> {
        &self.budget
    }

    pub(super) fn set(&self, number: u64, state: ConnectionState) {
        self.table().set(number, state);
        if matches!(state, ConnectionState::Idle { .. }) && self.permits.available_permits() == 0 {
            self.idle.notify_one();
        }
    }

    /// Notes that a response begins to be written.
    pub(super) fn set_sending(&self, number: u64) {
        self.set(number, ConnectionState::Sending { check_at: Instant::now() + self.stall_after });
    }

    pub(super) fn is_idle(&self, number: u64) -> bool {
        let table = self.table();
        let state = table.connections.get(&number).map(|entry| entry.state);
        matches!(state, Some(ConnectionState::Idle { .. }))
    }

    /// Forgets a connection that has ended.
    pub(super) fn forget(&self, number: u64) {
        let mut table = self.table();
        table.set(number, ConnectionState::Busy);
        table.connections.remove(&number);
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
