//! The interface between the fault matrix and a kind of server.

use std::net::{SocketAddr, TcpStream};
use std::path::Path;

use crate::harness::proxy::Proxy;
use crate::servers::Server;

/// The lease of each backend. It is held for a day and has just progressed; the name of its holder contains its name.
pub(super) const LEASE: &str = "planner";

/// The stored holder. Responses are cut in the middle of it, and the exporter never shows it.
pub(super) const HOLDER: &str = "holder-of-planner";

/// A server with the lease, and its faults.
pub(super) trait Backend {
    /// The server.
    fn server(&self) -> &Server;

    /// The configuration of a source that reads the lease at an address.
    fn source(&self, name: &str, address: SocketAddr, timeout: &str) -> String;

    /// The password file of the reader, and the password.
    fn password(&self) -> (&Path, &str);

    /// Closes the connections of the reader at the server.
    fn kick(&self);

    /// The number of connections of the reader.
    fn connections(&self) -> usize;

    /// The faults of this kind of server only.
    fn faults<'a>(&'a self, proxy: &'a Proxy) -> Vec<Fault<'a>>;
}

/// A fault of a server or of the connection to it.
pub(super) struct Fault<'a> {
    pub(super) name: &'static str,
    pub(super) hits: Hits,
    /// The reason of the lease during the fault.
    pub(super) reason: &'static str,
    pub(super) make: Box<dyn Fn() + 'a>,
    pub(super) repair: Box<dyn Fn() + 'a>,
}

/// The sources that a fault affects.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Hits {
    Both,
    ProxiedAlone,
}

impl<'a> Fault<'a> {
    /// A fault of the server.
    pub(super) fn of_server(
        name: &'static str,
        reason: &'static str,
        make: impl Fn() + 'a,
        repair: impl Fn() + 'a,
    ) -> Self {
        Self { name, hits: Hits::Both, reason, make: Box::new(make), repair: Box::new(repair) }
    }

    /// A fault of the connection.
    pub(super) fn of_network(
        name: &'static str,
        reason: &'static str,
        make: impl Fn() + 'a,
        repair: impl Fn() + 'a,
    ) -> Self {
        Self { hits: Hits::ProxiedAlone, ..Self::of_server(name, reason, make, repair) }
    }
}

/// Idle connections, more than the servers of these tests accept.
pub(super) fn idle_clients(server: &Server) -> Vec<TcpStream> {
    (0..40).map(|_| TcpStream::connect(server.address()).unwrap()).collect()
}
