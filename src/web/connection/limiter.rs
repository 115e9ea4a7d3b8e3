//! Limits the number of connections, and chooses the connection to close when a new one needs its slot.
//!
//! An idle connection costs its client nothing, so a client with many of them must not keep others out. When every slot is in
//! use, the peer with the most idle connections loses the one that has been idle longest. Up to [`PROTECTED`] connections of
//! each peer whose last request was accepted do not count, so a scraper keeps its connection during a flood. The choice takes
//! logarithmic time, because a flood causes one for every new connection.

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

/// Idle connections of one peer that are closed last, if their last request was accepted.
const PROTECTED: usize = 16;
/// How long to wait for a slot before another connection is chosen.
const RETRY: Duration = Duration::from_millis(50);

/// The connection slots of a server.
#[derive(Debug)]
pub(in crate::web) struct ConnectionLimiter {
    permits: Arc<Semaphore>,
    budget: Arc<ResponseBudget>,
    next_id: AtomicU64,
    /// Connections that were accepted and not read yet. Most of them become idle soon.
    unread: AtomicUsize,
    idle: Mutex<IdleIndex>,
    /// Notified when a connection becomes idle while every slot is in use.
    became_idle: Notify,
    /// Locked while a client waits for a slot and no connection is idle.
    slot_wait: tokio::sync::Mutex<()>,
}

/// An idle connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IdleConnection {
    pub(super) since: Instant,
    pub(super) id: u64,
    /// Whether the last request was accepted.
    pub(super) accepted: bool,
}

/// The idle connections of all peers.
#[derive(Debug, Default)]
struct IdleIndex {
    peers: HashMap<Peer, IdleConnections>,
    /// The last peer in this order loses a connection first.
    order: BTreeSet<(EvictionPriority, Peer)>,
}

/// The idle connections of one peer, longest idle first, each with the token that closes it.
#[derive(Debug, Default)]
struct IdleConnections {
    accepted: BTreeMap<(Instant, u64), CancellationToken>,
    others: BTreeMap<(Instant, u64), CancellationToken>,
}

/// How soon a peer loses a connection: by the number of unprotected ones, or of protected ones if there are no others, then
/// by idle time.
type EvictionPriority = (usize, usize, Reverse<Instant>);

impl IdleConnections {
    fn with(&mut self, accepted: bool) -> &mut BTreeMap<(Instant, u64), CancellationToken> {
        if accepted { &mut self.accepted } else { &mut self.others }
    }

    fn priority(&self) -> Option<EvictionPriority> {
        let ((since, _), _) = self.others.first_key_value().or_else(|| self.accepted.first_key_value())?;
        let unprotected = self.others.len() + self.accepted.len().saturating_sub(PROTECTED);
        Some((unprotected, if unprotected == 0 { self.accepted.len() } else { 0 }, Reverse(*since)))
    }
}

impl IdleIndex {
    /// Changes the idle connections of a peer, and its place in the order accordingly.
    fn change<T>(&mut self, peer: Peer, change: impl FnOnce(&mut IdleConnections) -> T) -> T {
        let idle = self.peers.entry(peer).or_default();
        if let Some(priority) = idle.priority() {
            self.order.remove(&(priority, peer));
        }
        let changed = change(idle);
        match idle.priority() {
            Some(priority) => _ = self.order.insert((priority, peer)),
            None => _ = self.peers.remove(&peer),
        }
        changed
    }

    /// Removes the connection to close first. While others are unread, no protected connection is closed.
    fn pop(&mut self, unread: usize) -> Option<CancellationToken> {
        let ((unprotected, ..), peer) = *self.order.last()?;
        if unprotected == 0 && unread > 0 {
            return None;
        }
        let first = self.change(peer, |idle| idle.others.pop_first().or_else(|| idle.accepted.pop_first()));
        first.map(|(_, close)| close)
    }
}

impl ConnectionLimiter {
    pub(in crate::web) fn new(max_connections: usize, budget: Arc<ResponseBudget>) -> Arc<Self> {
        Arc::new(Self {
            permits: Arc::new(Semaphore::new(max_connections.clamp(1, Semaphore::MAX_PERMITS))),
            budget,
            next_id: AtomicU64::new(0),
            unread: AtomicUsize::new(0),
            idle: Mutex::default(),
            became_idle: Notify::new(),
            slot_wait: tokio::sync::Mutex::default(),
        })
    }

    /// A permit and an id for a new connection. If no slot is free, another connection is closed for it.
    pub(super) async fn acquire(&self) -> (OwnedSemaphorePermit, u64) {
        let permit = match Arc::clone(&self.permits).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => self.evict().await,
        };
        self.unread.fetch_add(1, Ordering::Relaxed);
        (permit, self.next_id.fetch_add(1, Ordering::Relaxed))
    }

    async fn evict(&self) -> OwnedSemaphorePermit {
        let mut slot_wait = None;
        loop {
            let closed = self.close_one();
            if !closed && slot_wait.is_none() {
                slot_wait = self.slot_wait.try_lock().ok();
            }
            tokio::select! {
                Ok(permit) = Arc::clone(&self.permits).acquire_owned() => return permit,
                () = self.became_idle.notified(), if !closed => {}
                () = sleep(RETRY) => {}
            }
        }
    }

    /// Closes the first idle connection in the order. Returns whether there was one.
    pub(in crate::web) fn close_one(&self) -> bool {
        let first = self.idle().pop(self.unread.load(Ordering::Relaxed));
        first.inspect(CancellationToken::cancel).is_some()
    }

    pub(super) const fn budget(&self) -> &Arc<ResponseBudget> {
        &self.budget
    }

    /// Whether a client waits for the slot or the memory of a connection that is not idle.
    pub(super) fn has_waiters(&self) -> bool {
        self.slot_wait.try_lock().is_err() || self.budget.has_waiters()
    }

    /// Records that a connection was read for the first time, or ended before.
    pub(super) fn record_read(&self) {
        self.unread.fetch_sub(1, Ordering::Relaxed);
    }

    /// Records that a connection became idle.
    pub(super) fn add_idle(&self, peer: Peer, connection: IdleConnection, close: CancellationToken) {
        let IdleConnection { since, id, accepted } = connection;
        self.idle().change(peer, |idle| idle.with(accepted).insert((since, id), close));
        if self.permits.available_permits() == 0 {
            self.became_idle.notify_one();
        }
    }

    /// Records that a connection is no longer idle.
    pub(super) fn remove_idle(&self, peer: Peer, IdleConnection { since, id, accepted }: IdleConnection) {
        self.idle().change(peer, |idle| idle.with(accepted).remove(&(since, id)));
    }

    fn idle(&self) -> MutexGuard<'_, IdleIndex> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
