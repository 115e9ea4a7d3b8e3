//! How many connections there may be, and which one is closed when there are too many.
//!
//! A connection that asks for nothing costs its client nothing, so a client with many of them must not keep others out.
//! When every slot is taken, the peer with most idle connections loses the one that has been idle longest. Connections
//! whose last request was let in do not count for that, up to [`PROTECTED`] of each peer, so a scraper keeps its
//! connection through a flood. Choosing takes logarithmic time: a flood makes the limiter choose for every accept.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::budget::ResponseBudget;
use super::peer::Peer;
use super::slot::ConnectionSlot;

/// So many idle connections of one peer whose last request was let in are closed last.
const PROTECTED: usize = 16;
/// How long to wait for a slot before another connection is chosen.
const RETRY: Duration = Duration::from_millis(50);

/// The slots of a server's connections.
#[derive(Debug)]
pub(in crate::web) struct ConnectionLimiter {
    permits: Arc<Semaphore>,
    budget: Arc<ResponseBudget>,
    opened: AtomicU64,
    /// How many connections were accepted and not read yet. Most of them are idle soon.
    unread: AtomicUsize,
    idle: Mutex<IdleIndex>,
    /// Told when a connection becomes idle while every slot is taken.
    became_idle: Notify,
    /// Taken while a client waits for a slot and no connection is idle.
    line: tokio::sync::Mutex<()>,
}

/// Since when a connection has been idle, its number, and whether its last request was let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Idle {
    pub(super) since: Instant,
    pub(super) number: u64,
    pub(super) honest: bool,
}

/// The idle connections, by their peers.
#[derive(Debug, Default)]
struct IdleIndex {
    peers: HashMap<Peer, IdleConnections>,
    /// The peers in the order in which they lose a connection; the last one loses one first.
    order: BTreeSet<(Rank, Peer)>,
}

/// The idle connections of one peer, those first that have been idle longest, and what closes them.
#[derive(Debug, Default)]
struct IdleConnections {
    honest: BTreeMap<(Instant, u64), CancellationToken>,
    others: BTreeMap<(Instant, u64), CancellationToken>,
}

/// How soon a peer loses a connection: by how many are unprotected; where none is, by how many are protected; then by how
/// long one has been idle.
type Rank = (usize, usize, Reverse<Instant>);

impl IdleConnections {
    fn of(&mut self, honest: bool) -> &mut BTreeMap<(Instant, u64), CancellationToken> {
        if honest { &mut self.honest } else { &mut self.others }
    }

    fn rank(&self) -> Option<Rank> {
        let ((since, _), _) = self.others.first_key_value().or_else(|| self.honest.first_key_value())?;
        let unprotected = self.others.len() + self.honest.len().saturating_sub(PROTECTED);
        Some((unprotected, if unprotected == 0 { self.honest.len() } else { 0 }, Reverse(*since)))
    }
}

impl IdleIndex {
    /// Changes the idle connections of a peer, and its place in the order with them.
    fn change<T>(&mut self, peer: Peer, change: impl FnOnce(&mut IdleConnections) -> T) -> T {
        let idle = self.peers.entry(peer).or_default();
        if let Some(rank) = idle.rank() {
            self.order.remove(&(rank, peer));
        }
        let changed = change(idle);
        match idle.rank() {
            Some(rank) => _ = self.order.insert((rank, peer)),
            None => _ = self.peers.remove(&peer),
        }
        changed
    }

    /// Takes out the connection that is to be closed first. None that is protected goes while others are not read yet.
    fn pop(&mut self, unread: usize) -> Option<CancellationToken> {
        let ((unprotected, ..), peer) = *self.order.last()?;
        if unprotected == 0 && unread > 0 {
            return None;
        }
        let first = self.change(peer, |idle| idle.others.pop_first().or_else(|| idle.honest.pop_first()));
        first.map(|(_, close)| close)
    }
}

impl ConnectionLimiter {
    /// A limiter of so many connections, whose responses share a budget.
    pub(in crate::web) fn new(most: usize, budget: Arc<ResponseBudget>) -> Arc<Self> {
        Arc::new(Self {
            permits: Arc::new(Semaphore::new(most.clamp(1, Semaphore::MAX_PERMITS))),
            budget,
            opened: AtomicU64::new(0),
            unread: AtomicUsize::new(0),
            idle: Mutex::default(),
            became_idle: Notify::new(),
            line: tokio::sync::Mutex::default(),
        })
    }

    /// A slot for a connection that was accepted, as soon as one is free; another connection is closed for it.
    pub(in crate::web) async fn admit(self: &Arc<Self>, peer: Peer) -> Arc<ConnectionSlot> {
        let permit = match Arc::clone(&self.permits).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => self.freed().await,
        };
        self.unread.fetch_add(1, Ordering::Relaxed);
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        Arc::new(ConnectionSlot::new(Arc::clone(self), number, peer, permit))
    }

    async fn freed(&self) -> OwnedSemaphorePermit {
        let mut waiting = None;
        loop {
            let chosen = self.close_one();
            if !chosen && waiting.is_none() {
                waiting = self.line.try_lock().ok();
            }
            tokio::select! {
                Ok(permit) = Arc::clone(&self.permits).acquire_owned() => return permit,
                () = self.became_idle.notified(), if !chosen => {}
                () = sleep(RETRY) => {}
            }
        }
    }

    /// Closes the idle connection that is the first to go; says whether there is one.
    pub(in crate::web) fn close_one(&self) -> bool {
        let first = self.idle().pop(self.unread.load(Ordering::Relaxed));
        first.inspect(CancellationToken::cancel).is_some()
    }

    pub(super) const fn budget(&self) -> &Arc<ResponseBudget> {
        &self.budget
    }

    /// Whether a client waits for the slot or the memory of one that is not idle.
    pub(super) fn is_waited_for(&self) -> bool {
        self.line.try_lock().is_err() || self.budget.is_waited_for()
    }

    /// Notes that a connection was read for the first time, or has ended before.
    pub(super) fn read(&self) {
        self.unread.fetch_sub(1, Ordering::Relaxed);
    }

    /// Notes that a connection is idle from now on.
    pub(super) fn enter(&self, peer: Peer, idle: Idle, close: CancellationToken) {
        self.idle().change(peer, |of_peer| of_peer.of(idle.honest).insert((idle.since, idle.number), close));
        if self.permits.available_permits() == 0 {
            self.became_idle.notify_one();
        }
    }

    /// Notes that a connection is not idle any more.
    pub(super) fn leave(&self, peer: Peer, idle: Idle) {
        self.idle().change(peer, |of_peer| of_peer.of(idle.honest).remove(&(idle.since, idle.number)));
    }

    fn idle(&self) -> MutexGuard<'_, IdleIndex> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
