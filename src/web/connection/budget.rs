//! How much memory responses may hold until they are sent.
//!
//! Responses that send the same reading share it, so it counts once. A slow client keeps an old reading alive, perhaps each
//! another one. So a response that would hold too much beside the others waits for its turn, without holding anything. The
//! peer whose responses hold least goes first, and one peer is given no more than half of all, so that a host with many slow
//! clients delays itself. A client that takes nothing while another waits is cut off; one that reads never is.

use std::collections::{BTreeMap, HashMap};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::peer::Peer;
use crate::observer::Retained;

/// Responses that hold no more than this are bounded by how many connections there are.
const SMALL: u64 = 16 * 1024;

/// What all responses together hold.
#[derive(Debug)]
pub(in crate::web) struct ResponseBudget {
    /// How much others may hold while a response is sent; as much as the response itself, if that is more.
    limit: u64,
    held: Mutex<Held>,
    released: Notify,
}

/// The turn of a response that waits for memory: a place in the queue, left once this is dropped.
#[derive(Debug)]
pub(in crate::web) struct Turn<'a> {
    budget: &'a ResponseBudget,
    ticket: u64,
}

#[derive(Debug, Default)]
struct Held {
    all: Holdings,
    /// What the responses of each peer hold. Memory that several peers hold counts for each of them.
    peers: HashMap<Peer, Holdings>,
    /// The responses that wait, in the order in which they came.
    waiting: BTreeMap<u64, Peer>,
    /// The one whose turn it is.
    turn: Option<u64>,
    tickets: u64,
}

/// Allocations that responses hold, each counted once.
#[derive(Debug, Default)]
struct Holdings {
    /// Each by its address: how large it is, and how many responses hold it.
    allocations: HashMap<usize, (u64, usize)>,
    bytes: u64,
}

impl Holdings {
    fn has(&self, id: usize) -> bool {
        self.allocations.contains_key(&id)
    }

    fn add(&mut self, retained: &HashMap<usize, u64>) {
        for (id, bytes) in retained {
            let (_, holders) = self.allocations.entry(*id).or_insert((*bytes, 0));
            self.bytes += if *holders == 0 { *bytes } else { 0 };
            *holders += 1;
        }
    }

    fn remove(&mut self, ids: &[usize]) {
        for id in ids {
            if let Some((bytes, holders)) = self.allocations.get_mut(id) {
                *holders -= 1;
                if *holders == 0 {
                    self.bytes -= *bytes;
                    self.allocations.remove(id);
                }
            }
        }
    }
}

/// There is no room for a response until others hold no more than this, and other responses of its peer no more than
/// that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::web) struct Shortage {
    others: u64,
    peer: u64,
}

/// The room of one response, free again once this is dropped.
#[derive(Debug, Default)]
pub(in crate::web) struct ResponseGrant {
    /// What the response holds, if it is not small.
    entered: Option<Entered>,
}

#[derive(Debug)]
struct Entered {
    budget: Arc<ResponseBudget>,
    peer: Peer,
    ids: Vec<usize>,
}

impl ResponseBudget {
    pub(in crate::web) fn new(limit: u64) -> Arc<Self> {
        Arc::new(Self { limit, held: Mutex::default(), released: Notify::new() })
    }

    /// Admits a response to a peer if there is room for what it retains. One that holds nothing that others do not is always
    /// admitted; others are not while a response waits, unless it is their turn.
    pub(in crate::web) fn admit(
        self: &Arc<Self>,
        peer: Peer,
        retained: &[Retained],
        turn: Option<&Turn<'_>>,
    ) -> Result<ResponseGrant, Shortage> {
        let retained: HashMap<usize, u64> = retained.iter().map(|retained| (retained.id, retained.bytes)).collect();
        let own: u64 = retained.values().sum();
        if own <= SMALL {
            return Ok(ResponseGrant::default());
        }
        let mut held = self.held();
        let added: u64 = retained.iter().filter(|(id, _)| !held.all.has(**id)).map(|(_, bytes)| bytes).sum();
        let shortage = Shortage { others: self.limit.max(own), peer: (self.limit / 2).max(own) };
        let is_turn = turn.is_some() || held.waiting.is_empty();
        let is_room = (held.all.bytes + added).saturating_sub(own) <= shortage.others && held.of(peer) <= shortage.peer;
        if added > 0 && !(is_turn && is_room) {
            return Err(shortage);
        }
        held.all.add(&retained);
        held.peers.entry(peer).or_default().add(&retained);
        let entered = Entered { budget: Arc::clone(self), peer, ids: retained.into_keys().collect() };
        Ok(ResponseGrant { entered: Some(entered) })
    }

    /// Waits until it is its turn and there is room.
    pub(in crate::web) async fn room<'a>(&'a self, peer: Peer, turn: Option<Turn<'a>>, shortage: Shortage) -> Turn<'a> {
        let turn = turn.unwrap_or_else(|| self.queue(peer));
        loop {
            let mut released = pin!(self.released.notified());
            // From here on nothing that is released is missed.
            released.as_mut().enable();
            if self.held().may_go(turn.ticket, shortage) {
                return turn;
            }
            released.await;
        }
    }

    /// Whether a response waits for memory.
    pub(super) fn is_waited_for(&self) -> bool {
        !self.held().waiting.is_empty()
    }

    fn queue(&self, peer: Peer) -> Turn<'_> {
        let mut held = self.held();
        held.tickets += 1;
        let ticket = held.tickets;
        held.waiting.insert(ticket, peer);
        Turn { budget: self, ticket }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn of(&self, peer: Peer) -> u64 {
        self.peers.get(&peer).map_or(0, |holdings| holdings.bytes)
    }

    /// Takes the turn, if it is this ticket's and there is room: of those that wait, the first of the peer that holds least.
    fn may_go(&mut self, ticket: u64, shortage: Shortage) -> bool {
        if self.turn.is_some_and(|turn| turn != ticket) {
            return false;
        }
        let first = self.waiting.iter().map(|(ticket, peer)| (self.of(*peer), *ticket)).min();
        let may_go = first.is_some_and(|(held, first)| first == ticket && held <= shortage.peer)
            && self.all.bytes <= shortage.others;
        self.turn = may_go.then_some(ticket);
        may_go
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut held = self.budget.held();
        held.waiting.remove(&self.ticket);
        held.turn = held.turn.filter(|turn| *turn != self.ticket);
        drop(held);
        self.budget.released.notify_waiters();
    }
}

impl Drop for ResponseGrant {
    fn drop(&mut self) {
        let Some(Entered { budget, peer, ids }) = self.entered.take() else { return };
        {
            let held = &mut *budget.held();
            held.all.remove(&ids);
            if let Some(of_peer) = held.peers.get_mut(&peer) {
                of_peer.remove(&ids);
                if of_peer.allocations.is_empty() {
                    held.peers.remove(&peer);
                }
            }
        }
        budget.released.notify_waiters();
    }
}

#[cfg(test)]
mod tests;
