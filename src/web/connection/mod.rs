//! Limits of connections: their number, the memory of their responses, and slow clients.

mod budget;
mod limiter;
mod peer;
mod slot;
mod stream;

pub(super) use budget::{ResponseBudget, ResponseGrant};
pub(super) use limiter::ConnectionLimiter;
pub(super) use peer::Peer;
pub(super) use slot::{ConnectionSlot, SendGuard};
pub(super) use stream::{MeteredStream, Socket};
