//! Limits the memory that responses hold until they are sent.
//!
//! Responses that send the same reading share its memory, which counts once. A slow client keeps an old reading in memory,
//! and many slow clients may keep a different one each. If a response would exceed the budget, it is dropped, and its
//! request waits without holding anything. The request of the peer whose responses hold least is served first. One peer gets
//! at most half of the budget, so a host with many slow clients delays only itself. While a request waits, clients that take
//! nothing are disconnected; slow readers are not.

use std::collections::{BTreeMap, HashMap};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::peer::Peer;
use crate::observer::Retained;

/// Responses up to this size in bytes are not counted: the connection limit already bounds their memory.
const UNCOUNTED_SIZE: u64 = 16 * 1024;

/// The memory budget of all responses.
#[derive(Debug)]
pub(in crate::web) struct ResponseBudget {
    /// Bytes that other responses may hold while a response is sent; the size of that response if it is larger.
    limit: u64,
    state: Mutex<BudgetState>,
    released: Notify,
}

#[derive(Debug, Default)]
struct BudgetState {
    all: Allocations,
    /// The allocations of each peer's responses. Memory shared by several peers counts for each of them.
    peers: HashMap<Peer, Allocations>,
    /// The waiting requests by ticket number, in order of arrival.
    queue: BTreeMap<u64, Peer>,
    /// The ticket that may be admitted now.
    next: Option<u64>,
    last_ticket: u64,
}

/// A place in the queue for memory, left on drop.
#[derive(Debug)]
pub(in crate::web) struct QueueTicket<'a> {
    budget: &'a ResponseBudget,
    number: u64,
}

/// Allocations held by responses, each counted once.
#[derive(Debug, Default)]
struct Allocations {
    /// By address: the size, and the number of responses that hold it.
    by_id: HashMap<usize, (u64, usize)>,
    bytes: u64,
}

impl Allocations {
    fn add(&mut self, retained: &HashMap<usize, u64>) {
        for (id, bytes) in retained {
            let (_, holders) = self.by_id.entry(*id).or_insert((*bytes, 0));
            self.bytes += if *holders == 0 { *bytes } else { 0 };
            *holders += 1;
        }
    }

    fn remove(&mut self, ids: &[usize]) {
        for id in ids {
            if let Some((bytes, holders)) = self.by_id.get_mut(id) {
                *holders -= 1;
                if *holders == 0 {
                    self.bytes -= *bytes;
                    self.by_id.remove(id);
                }
            }
        }
    }
}

/// The bytes that other responses may hold when a response is admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::web) struct AdmissionLimit {
    /// All other responses.
    all: u64,
    /// Other responses of the same peer.
    peer: u64,
}

/// Memory granted to a response, released on drop.
#[derive(Debug)]
pub(in crate::web) struct ResponseGrant {
    budget: Arc<ResponseBudget>,
    peer: Peer,
    ids: Vec<usize>,
}

impl ResponseBudget {
    pub(in crate::web) fn new(limit: u64) -> Arc<Self> {
        Arc::new(Self { limit, state: Mutex::default(), released: Notify::new() })
    }

    /// Admits a response to a peer if the budget has room for what it retains. A response that retains only memory already
    /// counted is always admitted, and a small response needs no grant. Others are not admitted while requests wait, except by the ticket that is next.
    ///
    /// # Errors
    /// There is no room: the limit to wait for.
    pub(in crate::web) fn admit(
        self: &Arc<Self>,
        peer: Peer,
        retained: &[Retained],
        ticket: Option<&QueueTicket<'_>>,
    ) -> Result<Option<ResponseGrant>, AdmissionLimit> {
        let retained: HashMap<usize, u64> = retained.iter().map(|retained| (retained.id, retained.bytes)).collect();
        let size: u64 = retained.values().sum();
        if size <= UNCOUNTED_SIZE {
            return Ok(None);
        }
        let mut state = self.state();
        let is_counted = |id: &usize| state.all.by_id.contains_key(id);
        let added: u64 = retained.iter().filter(|(id, _)| !is_counted(id)).map(|(_, bytes)| bytes).sum();
        let limit = AdmissionLimit { all: self.limit.max(size), peer: (self.limit / 2).max(size) };
        let may_go = ticket.is_some() || state.queue.is_empty();
        let has_room =
            (state.all.bytes + added).saturating_sub(size) <= limit.all && state.bytes_of(peer) <= limit.peer;
        if added > 0 && !(may_go && has_room) {
            return Err(limit);
        }
        state.all.add(&retained);
        state.peers.entry(peer).or_default().add(&retained);
        let ids = retained.into_keys().collect();
        Ok(Some(ResponseGrant { budget: Arc::clone(self), peer, ids }))
    }

    /// Waits in the queue until there is room for a response.
    pub(in crate::web) async fn wait_for_room<'a>(
        &'a self,
        peer: Peer,
        ticket: Option<QueueTicket<'a>>,
        limit: AdmissionLimit,
    ) -> QueueTicket<'a> {
        let ticket = ticket.unwrap_or_else(|| self.queue(peer));
        loop {
            let mut released = pin!(self.released.notified());
            // From here on, no release is missed.
            released.as_mut().enable();
            if self.state().is_next(ticket.number, limit) {
                return ticket;
            }
            released.await;
        }
    }

    /// Whether a request waits for memory.
    pub(super) fn has_waiters(&self) -> bool {
        !self.state().queue.is_empty()
    }

    fn queue(&self, peer: Peer) -> QueueTicket<'_> {
        let mut state = self.state();
        state.last_ticket += 1;
        let number = state.last_ticket;
        state.queue.insert(number, peer);
        QueueTicket { budget: self, number }
    }

    fn state(&self) -> MutexGuard<'_, BudgetState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BudgetState {
    fn bytes_of(&self, peer: Peer) -> u64 {
        self.peers.get(&peer).map_or(0, |allocations| allocations.bytes)
    }

    /// Whether this ticket may be admitted now: there is room, and it is the first ticket of the peer that holds least.
    fn is_next(&mut self, ticket: u64, limit: AdmissionLimit) -> bool {
        if self.next.is_some_and(|next| next != ticket) {
            return false;
        }
        let first = self.queue.iter().map(|(ticket, peer)| (self.bytes_of(*peer), *ticket)).min();
        let is_next =
            first.is_some_and(|(held, first)| first == ticket && held <= limit.peer) && self.all.bytes <= limit.all;
        self.next = is_next.then_some(ticket);
        is_next
    }
}

impl Drop for QueueTicket<'_> {
    fn drop(&mut self) {
        let mut state = self.budget.state();
        state.queue.remove(&self.number);
        state.next = state.next.filter(|next| *next != self.number);
        drop(state);
        self.budget.released.notify_waiters();
    }
}

impl Drop for ResponseGrant {
    fn drop(&mut self) {
        let mut state = self.budget.state();
        state.all.remove(&self.ids);
        if let Some(allocations) = state.peers.get_mut(&self.peer) {
            allocations.remove(&self.ids);
            if allocations.by_id.is_empty() {
                state.peers.remove(&self.peer);
            }
        }
        drop(state);
        self.budget.released.notify_waiters();
    }
}

#[cfg(test)]
mod tests;
