//! How much memory responses may hold until they are sent.
//!
//! Responses that send the same reading share it, so it counts once. A slow client keeps an old reading alive, perhaps each
//! another one: a client that asks once a second and reads slowly would make the exporter hold as many as there may be
//! connections. So a response that would hold more beside the others waits for its turn, without holding anything, and a
//! client that takes nothing while another waits is cut off. One that reads never is.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::slot::ConnectionHandle;

/// Memory that a response keeps alive until it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retained {
    /// Which allocation it is: its address.
    pub id: usize,
    /// How large it is.
    pub bytes: u64,
}

/// Responses that hold no more than this are bounded by how many connections there are.
const SMALL: u64 = 16 * 1024;
/// How often to look whether a client takes nothing, while another waits for its memory.
const LOOK: Duration = Duration::from_millis(50);

/// What all responses together hold.
#[derive(Debug)]
pub(in crate::web) struct ResponseBudget {
    /// How much others may hold while a response is sent; as much as the response itself, if that is more.
    limit: u64,
    /// How long a client may take nothing while another waits.
    stall_after: Duration,
    held: Mutex<Held>,
    /// Taken by whose turn it is. It is fair.
    line: tokio::sync::Mutex<()>,
    released: Notify,
}

/// The turn of a response that waits for memory.
pub(in crate::web) type Turn<'a> = tokio::sync::MutexGuard<'a, ()>;

#[derive(Debug, Default)]
struct Held {
    admitted: u64,
    /// In the order in which they were admitted.
    responses: BTreeMap<u64, Response>,
    /// Each allocation, and how many responses hold it.
    allocations: HashMap<usize, (u64, usize)>,
    bytes: u64,
}

#[derive(Debug)]
struct Response {
    ids: HashSet<usize>,
    connection: Arc<ConnectionHandle>,
}

/// There is no room for a response until others hold no more than this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::web) struct Shortage {
    others: u64,
}

/// The room of one response, free again once this is dropped.
#[derive(Debug, Default)]
pub(in crate::web) struct ResponseGrant {
    /// The budget and the number in it of a response that is not small.
    entered: Option<(Arc<ResponseBudget>, u64)>,
}

impl ResponseBudget {
    pub(in crate::web) fn new(limit: u64, stall_after: Duration) -> Self {
        Self {
            limit,
            stall_after,
            held: Mutex::default(),
            line: tokio::sync::Mutex::default(),
            released: Notify::new(),
        }
    }

    /// Admits a response if there is room for what it retains. One that holds nothing that others do not is always
    /// admitted; others are not while a response waits, unless it is their turn.
    pub(in crate::web) fn admit(
        self: &Arc<Self>,
        retained: &[Retained],
        connection: &Arc<ConnectionHandle>,
        turn: Option<&Turn<'_>>,
    ) -> Result<ResponseGrant, Shortage> {
        if retained.iter().map(|retained| retained.bytes).sum::<u64>() <= SMALL {
            return Ok(ResponseGrant::default());
        }
        let retained: HashMap<usize, u64> = retained.iter().map(|retained| (retained.id, retained.bytes)).collect();
        let mut held = self.held();
        let own: u64 = retained.values().sum();
        let added: u64 = retained.iter().filter(|(id, _)| !held.allocations.contains_key(id)).map(|(_, it)| it).sum();
        let shortage = Shortage { others: self.limit.max(own) };
        let is_turn = turn.is_some() || self.line.try_lock().is_ok();
        if added > 0 && !(is_turn && (held.bytes + added).saturating_sub(own) <= shortage.others) {
            return Err(shortage);
        }
        let number = held.add(&retained, Arc::clone(connection));
        drop(held);
        Ok(ResponseGrant { entered: Some((Arc::clone(self), number)) })
    }

    /// Waits until it is its turn and there is room. Clients that take nothing are cut off for it, one after the other.
    pub(in crate::web) async fn room<'a>(&'a self, turn: Option<Turn<'a>>, shortage: Shortage) -> Turn<'a> {
        let turn = match turn {
            Some(turn) => turn,
            None => self.line.lock().await,
        };
        while self.held().bytes > shortage.others {
            self.cut_off_stalled();
            let _ = timeout(LOOK, self.released.notified()).await;
        }
        turn
    }

    /// Cuts off the client that has waited longest of those that have taken nothing for a while, if there is one.
    fn cut_off_stalled(&self) {
        let now = Instant::now();
        let held = self.held();
        let mut connections = held.responses.values().map(|response| &response.connection);
        let is_stalled = |it: &&Arc<ConnectionHandle>| !it.is_closed() && it.progressed() + self.stall_after <= now;
        if let Some(connection) = connections.find(is_stalled) {
            tracing::info!("a client was cut off: it took nothing of its response, and another waits for the memory");
            connection.close();
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn add(&mut self, retained: &HashMap<usize, u64>, connection: Arc<ConnectionHandle>) -> u64 {
        for (id, bytes) in retained {
            let (_, holders) = self.allocations.entry(*id).or_insert_with(|| {
                self.bytes += bytes;
                (*bytes, 0)
            });
            *holders += 1;
        }
        self.admitted += 1;
        let ids = retained.keys().copied().collect();
        self.responses.insert(self.admitted, Response { ids, connection });
        self.admitted
    }

    fn remove(&mut self, number: u64) {
        for id in self.responses.remove(&number).map(|response| response.ids).into_iter().flatten() {
            if let Some((bytes, holders)) = self.allocations.get_mut(&id) {
                *holders -= 1;
                if *holders == 0 {
                    self.bytes -= *bytes;
                    self.allocations.remove(&id);
                }
            }
        }
    }
}

impl Drop for ResponseGrant {
    fn drop(&mut self) {
        if let Some((budget, number)) = self.entered.take() {
            budget.held().remove(number);
            budget.released.notify_one();
        }
    }
}

#[cfg(test)]
mod tests;
