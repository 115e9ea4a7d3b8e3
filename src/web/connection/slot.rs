//! The slot of a connection, and the state of the connection.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::budget::{ResponseBudget, ResponseGrant};
use super::limiter::{ConnectionLimiter, IdleConnection};
use super::peer::Peer;

/// The slot of a connection, released on drop.
#[derive(Debug)]
pub(in crate::web) struct ConnectionSlot {
    limiter: Arc<ConnectionLimiter>,
    id: u64,
    peer: Peer,
    state: Mutex<ConnectionState>,
    close: CancellationToken,
    _permit: OwnedSemaphorePermit,
}

/// The state of a connection. Only idle connections are closed to free a slot.
#[derive(Debug)]
enum ConnectionState {
    /// Accepted, and not read yet.
    New,
    /// Waiting for a request, or for the rest of one.
    Idle(IdleConnection),
    /// A response is being made or sent.
    Responding,
    /// hyper has the whole response and still has to write it.
    Flushing { accepted: bool, _grant: Option<ResponseGrant> },
}

impl ConnectionSlot {
    pub(in crate::web) async fn acquire(limiter: &Arc<ConnectionLimiter>, peer: Peer) -> Arc<Self> {
        let (permit, id) = limiter.acquire().await;
        let (limiter, state, close) = (Arc::clone(limiter), Mutex::new(ConnectionState::New), CancellationToken::new());
        Arc::new(Self { limiter, id, peer, state, close, _permit: permit })
    }

    pub(in crate::web) const fn peer(&self) -> Peer {
        self.peer
    }

    pub(in crate::web) fn budget(&self) -> &Arc<ResponseBudget> {
        self.limiter.budget()
    }

    /// Whether no request is running.
    pub(in crate::web) fn is_idle(&self) -> bool {
        matches!(*self.state(), ConnectionState::New | ConnectionState::Idle(_))
    }

    /// Waits until the connection must close to free its slot.
    pub(in crate::web) async fn evicted(&self) {
        self.close.cancelled().await;
    }

    /// Whether a client waits for a slot or for memory.
    pub(super) fn has_waiters(&self) -> bool {
        self.limiter.has_waiters()
    }

    /// Records that a read found no data. After the first request, this does not mean that the connection is idle.
    pub(super) fn record_empty_read(&self) {
        let mut state = self.state();
        if matches!(*state, ConnectionState::New) {
            self.set(&mut state, self.idle(false));
        }
    }

    pub(in crate::web) fn record_request(&self) {
        self.set(&mut self.state(), ConnectionState::Responding);
    }

    /// Records that hyper has written everything.
    pub(super) fn record_flush(&self) {
        let mut state = self.state();
        if let ConnectionState::Flushing { accepted, .. } = *state {
            self.set(&mut state, self.idle(accepted));
        }
    }

    fn idle(&self, accepted: bool) -> ConnectionState {
        ConnectionState::Idle(IdleConnection { since: Instant::now(), id: self.id, accepted })
    }

    fn set(&self, state: &mut ConnectionState, next: ConnectionState) {
        match *state {
            ConnectionState::New => self.limiter.record_read(),
            ConnectionState::Idle(idle) => self.limiter.remove_idle(self.peer, idle),
            ConnectionState::Responding | ConnectionState::Flushing { .. } => {}
        }
        *state = next;
        if let ConnectionState::Idle(idle) = *state
            && !self.close.is_cancelled()
        {
            self.limiter.add_idle(self.peer, idle, self.close.clone());
        }
    }

    fn state(&self) -> MutexGuard<'_, ConnectionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.set(&mut self.state(), ConnectionState::Responding);
    }
}

/// Exists while a response is sent. It is dropped with the body, after hyper took the last chunk.
#[derive(Debug)]
pub(in crate::web) struct SendGuard {
    pub(in crate::web) slot: Arc<ConnectionSlot>,
    pub(in crate::web) grant: Option<ResponseGrant>,
    pub(in crate::web) accepted: bool,
}

impl Drop for SendGuard {
    fn drop(&mut self) {
        let grant = self.grant.take();
        self.slot.set(&mut self.slot.state(), ConnectionState::Flushing { accepted: self.accepted, _grant: grant });
    }
}
