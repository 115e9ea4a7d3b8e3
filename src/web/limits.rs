//! The limits of connections and responses.

use std::time::Duration;

use rustix::process::{Resource, getrlimit};

/// The limits of the use that clients make of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Open connections of all listeners together. At the limit, an idle connection is closed for each new one. If none is
    /// idle, new clients wait in the accept queue of the system.
    pub connections: usize,
    /// Time for the TLS handshake.
    pub handshake: Duration,
    /// Time for the head of a request, and so the time that a connection may be idle between two requests. It is longer
    /// than a usual scrape interval, so that Prometheus keeps its connection.
    pub head: Duration,
    /// Time without write progress after which a connection is closed if another client waits for its slot or its memory.
    pub stall: Duration,
    /// Bytes that other responses may hold while a response is sent; the size of that response if it is larger.
    pub response_bytes: u64,
    /// Time without write progress after which a connection is closed in any case.
    pub write: Duration,
    /// Time that running requests have after the shutdown began.
    pub drain: Duration,
}

impl Limits {
    /// Lowers the number of connections to half of the file descriptors of the process. Stores and files use the others.
    pub(super) fn within_process_limits(self) -> Self {
        let Some(descriptors) = getrlimit(Resource::Nofile).current else { return self };
        let most = usize::try_from(descriptors / 2).unwrap_or(usize::MAX).max(1);
        if most < self.connections {
            tracing::warn!(
                connections = most,
                wanted = self.connections,
                descriptors,
                "there can be fewer connections at once than usual, because the process may open so few files"
            );
        }
        Self { connections: self.connections.min(most), ..self }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 512,
            handshake: Duration::from_secs(10),
            head: Duration::from_secs(65),
            stall: Duration::from_secs(3),
            response_bytes: 32 << 20,
            write: Duration::from_secs(30),
            drain: Duration::from_secs(15),
        }
    }
}
