//! The slot that a connection has, and what goes on over it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::budget::{ResponseBudget, ResponseGrant};
use super::limiter::{ConnectionLimiter, ConnectionState};
use super::peer::Peer;

/// How others see a connection: whether its client takes what is written, and a way to close it.
#[derive(Debug)]
pub(in crate::web) struct ConnectionHandle {
    opened: Instant,
    /// When its socket last took a byte, in milliseconds since it was opened.
    progressed: AtomicU64,
    closed: CancellationToken,
}

impl ConnectionHandle {
    pub(super) fn new() -> Self {
        Self { opened: Instant::now(), progressed: AtomicU64::new(0), closed: CancellationToken::new() }
    }

    /// When its socket last took a byte, or a response began.
    pub(super) fn progressed(&self) -> Instant {
        self.opened + Duration::from_millis(self.progressed.load(Ordering::Relaxed))
    }

    pub(super) fn progress(&self) {
        let millis = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.progressed.store(millis, Ordering::Relaxed);
    }

    pub(super) fn close(&self) {
        self.closed.cancel();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.is_cancelled()
    }
}

/// The slot of one connection, free again once this is dropped.
#[derive(Debug)]
pub(in crate::web) struct ConnectionSlot {
    limiter: Arc<ConnectionLimiter>,
    number: u64,
    peer: Peer,
    handle: Arc<ConnectionHandle>,
    /// Whether its client was seen to have sent nothing more, or a request was read.
    begun: AtomicBool,
    /// Whether all of a response is in the hands of hyper, which has yet to write it.
    is_handed_over: AtomicBool,
    handed_over: Mutex<Option<(ResponseGrant, bool)>>,
    _permit: OwnedSemaphorePermit,
}

impl ConnectionSlot {
    pub(super) fn new(
        limiter: Arc<ConnectionLimiter>,
        number: u64,
        peer: Peer,
        handle: Arc<ConnectionHandle>,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        let (begun, is_handed_over) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { limiter, number, peer, handle, begun, is_handed_over, handed_over: Mutex::default(), _permit: permit }
    }

    pub(in crate::web) const fn peer(&self) -> Peer {
        self.peer
    }

    pub(in crate::web) const fn handle(&self) -> &Arc<ConnectionHandle> {
        &self.handle
    }

    pub(in crate::web) fn budget(&self) -> &Arc<ResponseBudget> {
        self.limiter.budget()
    }

    /// Whether it waits for a request, or for the rest of one.
    pub(in crate::web) fn is_idle(&self) -> bool {
        self.limiter.is_idle(self.number)
    }

    /// Waits until it has to be closed for another connection.
    pub(in crate::web) async fn closed(&self) {
        self.handle.closed.cancelled().await;
    }

    /// Notes that nothing more has come. Only the first time tells something: later, a response may be under way.
    pub(super) fn starved(&self) {
        if !self.begun.swap(true, Ordering::Relaxed) {
            self.set(ConnectionState::Idle { since: Instant::now(), honest: false });
        }
    }

    /// Notes that a request was read, which is answered now.
    pub(super) fn answering(&self) {
        self.begun.store(true, Ordering::Relaxed);
        self.set(ConnectionState::Busy);
    }

    /// Notes that its socket took bytes.
    pub(super) fn progressed(&self) {
        self.handle.progress();
    }

    /// Notes that all that hyper had was written.
    pub(super) fn flushed(&self) {
        if self.is_handed_over.swap(false, Ordering::Relaxed)
            && let Some((_, honest)) = self.handed_over.lock().unwrap_or_else(PoisonError::into_inner).take()
        {
            self.set(ConnectionState::Idle { since: Instant::now(), honest });
        }
    }

    fn set(&self, state: ConnectionState) {
        self.limiter.set(self.number, state);
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.limiter.forget(self.number);
    }
}

/// A response that is being written, or thrown away with its connection.
#[derive(Debug)]
pub(in crate::web) struct Sending {
    slot: Arc<ConnectionSlot>,
    grant: Option<ResponseGrant>,
    honest: bool,
}

impl Sending {
    /// The response is made: from now on its client may take too long. `honest` says that its request was let in.
    pub(in crate::web) fn begin(slot: Arc<ConnectionSlot>, grant: ResponseGrant, honest: bool) -> Self {
        slot.handle.progress();
        slot.limiter.set_sending(slot.number);
        Self { slot, grant: Some(grant), honest }
    }
}

impl Drop for Sending {
    /// The last piece was handed over to hyper, which flushes once it has written it.
    fn drop(&mut self) {
        let handed_over = self.grant.take().map(|grant| (grant, self.honest));
        *self.slot.handed_over.lock().unwrap_or_else(PoisonError::into_inner) = handed_over;
        self.slot.is_handed_over.store(true, Ordering::Relaxed);
    }
}
