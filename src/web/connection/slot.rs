//! The slot that a connection has, and what goes on over it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::budget::{ResponseBudget, ResponseGrant};
use super::limiter::{ConnectionLimiter, Idle};
use super::peer::Peer;

/// The slot of one connection, free again once this is dropped.
#[derive(Debug)]
pub(in crate::web) struct ConnectionSlot {
    limiter: Arc<ConnectionLimiter>,
    number: u64,
    peer: Peer,
    state: Mutex<ConnectionState>,
    close: CancellationToken,
    _permit: OwnedSemaphorePermit,
}

/// What goes on over a connection. Only an idle one is closed for another.
#[derive(Debug)]
enum ConnectionState {
    /// It was accepted and not read yet.
    New,
    /// It waits for a request, or for the rest of one.
    Idle(Idle),
    /// A response is being made or sent.
    Answering,
    /// All of a response is in the hands of hyper, which has yet to write it.
    HandedOver { honest: bool, _grant: ResponseGrant },
}

impl ConnectionSlot {
    pub(super) fn new(limiter: Arc<ConnectionLimiter>, number: u64, peer: Peer, permit: OwnedSemaphorePermit) -> Self {
        let (state, close) = (Mutex::new(ConnectionState::New), CancellationToken::new());
        Self { limiter, number, peer, state, close, _permit: permit }
    }

    pub(in crate::web) const fn peer(&self) -> Peer {
        self.peer
    }

    pub(in crate::web) fn budget(&self) -> &Arc<ResponseBudget> {
        self.limiter.budget()
    }

    /// Whether no request is under way.
    pub(in crate::web) fn is_idle(&self) -> bool {
        matches!(*self.state(), ConnectionState::New | ConnectionState::Idle(_))
    }

    /// Waits until it has to be closed for another connection.
    pub(in crate::web) async fn closed(&self) {
        self.close.cancelled().await;
    }

    /// Whether a client waits for its slot or for memory that it may hold.
    pub(super) fn is_waited_for(&self) -> bool {
        self.limiter.is_waited_for()
    }

    /// Notes that nothing more has come. Once a request was read, that tells nothing.
    pub(super) fn starved(&self) {
        let mut state = self.state();
        if matches!(*state, ConnectionState::New) {
            self.set(&mut state, self.idle(false));
        }
    }

    /// Notes that a request was read, which is answered now.
    pub(super) fn answering(&self) {
        self.set(&mut self.state(), ConnectionState::Answering);
    }

    /// Notes that all that hyper had was written.
    pub(super) fn flushed(&self) {
        let mut state = self.state();
        if let ConnectionState::HandedOver { honest, .. } = *state {
            self.set(&mut state, self.idle(honest));
        }
    }

    fn idle(&self, honest: bool) -> ConnectionState {
        ConnectionState::Idle(Idle { since: Instant::now(), number: self.number, honest })
    }

    fn set(&self, state: &mut ConnectionState, next: ConnectionState) {
        match *state {
            ConnectionState::New => self.limiter.read(),
            ConnectionState::Idle(idle) => self.limiter.leave(self.peer, idle),
            ConnectionState::Answering | ConnectionState::HandedOver { .. } => {}
        }
        *state = next;
        if let ConnectionState::Idle(idle) = *state
            && !self.close.is_cancelled()
        {
            self.limiter.enter(self.peer, idle, self.close.clone());
        }
    }

    fn state(&self) -> MutexGuard<'_, ConnectionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.set(&mut self.state(), ConnectionState::Answering);
    }
}

/// A response that is being sent. Dropped with its body, once the last piece was handed over to hyper.
#[derive(Debug)]
pub(in crate::web) struct Sending {
    pub(in crate::web) slot: Arc<ConnectionSlot>,
    pub(in crate::web) grant: ResponseGrant,
    /// Whether its request was let in.
    pub(in crate::web) honest: bool,
}

impl Drop for Sending {
    fn drop(&mut self) {
        let grant = std::mem::take(&mut self.grant);
        let handed_over = ConnectionState::HandedOver { honest: self.honest, _grant: grant };
        self.slot.set(&mut self.slot.state(), handed_over);
    }
}
