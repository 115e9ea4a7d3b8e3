//! How much memory responses may hold until they are sent.
//!
//! Responses that send the same reading share it, so it counts once. A slow client keeps an old reading alive, perhaps each
//! another one. So a response that would hold too much beside the others waits for its turn, without holding anything. A
//! client that takes nothing while another waits is cut off; one that reads never is.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::observer::Retained;

/// Responses that hold no more than this are bounded by how many connections there are.
const SMALL: u64 = 16 * 1024;

/// What all responses together hold.
#[derive(Debug)]
pub(in crate::web) struct ResponseBudget {
    /// How much others may hold while a response is sent; as much as the response itself, if that is more.
    limit: u64,
    held: Mutex<Held>,
    /// Taken by the response whose turn it is. It is fair.
    line: tokio::sync::Mutex<()>,
    released: Notify,
}

/// The turn of a response that waits for memory.
pub(in crate::web) type Turn<'a> = tokio::sync::MutexGuard<'a, ()>;

#[derive(Debug, Default)]
struct Held {
    /// Each allocation by its address: how large it is, and how many responses hold it.
    allocations: HashMap<usize, (u64, usize)>,
    bytes: u64,
}

/// There is no room for a response until others hold no more than this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::web) struct Shortage {
    others: u64,
}

/// The room of one response, free again once this is dropped.
#[derive(Debug, Default)]
pub(in crate::web) struct ResponseGrant {
    /// The budget, and the allocations in it that the response holds, if it is not small.
    entered: Option<(Arc<ResponseBudget>, Vec<usize>)>,
}

impl ResponseBudget {
    pub(in crate::web) fn new(limit: u64) -> Arc<Self> {
        let (held, line, released) = (Mutex::default(), tokio::sync::Mutex::default(), Notify::new());
        Arc::new(Self { limit, held, line, released })
    }

    /// Admits a response if there is room for what it retains. One that holds nothing that others do not is always
    /// admitted; others are not while a response waits, unless it is their turn.
    pub(in crate::web) fn admit(
        self: &Arc<Self>,
        retained: &[Retained],
        turn: Option<&Turn<'_>>,
    ) -> Result<ResponseGrant, Shortage> {
        let retained: HashMap<usize, u64> = retained.iter().map(|retained| (retained.id, retained.bytes)).collect();
        let own: u64 = retained.values().sum();
        if own <= SMALL {
            return Ok(ResponseGrant::default());
        }
        let mut held = self.held();
        let added: u64 = retained.iter().filter(|(id, _)| !held.allocations.contains_key(id)).map(|(_, it)| it).sum();
        let shortage = Shortage { others: self.limit.max(own) };
        let is_turn = turn.is_some() || !self.is_waited_for();
        if added > 0 && !(is_turn && (held.bytes + added).saturating_sub(own) <= shortage.others) {
            return Err(shortage);
        }
        held.bytes += added;
        for (id, bytes) in &retained {
            held.allocations.entry(*id).or_insert((*bytes, 0)).1 += 1;
        }
        Ok(ResponseGrant { entered: Some((Arc::clone(self), retained.into_keys().collect())) })
    }

    /// Waits until it is its turn and there is room.
    pub(in crate::web) async fn room<'a>(&'a self, turn: Option<Turn<'a>>, shortage: Shortage) -> Turn<'a> {
        let turn = match turn {
            Some(turn) => turn,
            None => self.line.lock().await,
        };
        while self.held().bytes > shortage.others {
            self.released.notified().await;
        }
        turn
    }

    /// Whether a response waits for memory.
    pub(super) fn is_waited_for(&self) -> bool {
        self.line.try_lock().is_err()
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ResponseGrant {
    fn drop(&mut self) {
        let Some((budget, ids)) = self.entered.take() else { return };
        let held = &mut *budget.held();
        for id in ids {
            if let Some((bytes, holders)) = held.allocations.get_mut(&id) {
                *holders -= 1;
                if *holders == 0 {
                    held.bytes -= *bytes;
                    held.allocations.remove(&id);
                }
            }
        }
        budget.released.notify_one();
    }
}

#[cfg(test)]
mod tests;
