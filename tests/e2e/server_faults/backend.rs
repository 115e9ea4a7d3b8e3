//! What the matrix of faults needs to know of a kind of server.

use std::net::{SocketAddr, TcpStream};
use std::path::Path;

use crate::harness::proxy::Proxy;
use crate::servers::Server;

/// The lease that each backend holds for a day, and has just progressed: its holder's name has its own in it.
pub(super) const LEASE: &str = "planner";

/// Who holds it, as stored. It stands in the middle of an answer, and never in anything that the exporter says.
pub(super) const HOLDER: &str = "holder-of-planner";

/// A server of one kind with the lease on it, and how to hurt it.
pub(super) trait Backend {
    /// The server.
    fn server(&self) -> &Server;

    /// The configuration of a source that reads the lease at this address as the reader.
    fn source(&self, name: &str, address: SocketAddr, timeout: &str) -> String;

    /// The file with the reader's password, and the password.
    fn password(&self) -> (&Path, &str);

    /// Ends the reader's connections at the server.
    fn kick(&self);

    /// How many connections the reader has at the server.
    fn connections(&self) -> usize;

    /// What can befall this kind of server and not every one.
    fn faults<'a>(&'a self, proxy: &'a Proxy) -> Vec<Fault<'a>>;
}

/// Something that befalls a server or the way to it.
pub(super) struct Fault<'a> {
    pub(super) name: &'static str,
    pub(super) hits: Hits,
    /// Why the lease is unknown then.
    pub(super) reason: &'static str,
    pub(super) make: Box<dyn Fn() + 'a>,
    pub(super) repair: Box<dyn Fn() + 'a>,
}

/// Which of the two sources a fault befalls.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Hits {
    Both,
    ProxiedAlone,
}

impl<'a> Fault<'a> {
    /// One of the server.
    pub(super) fn of_server(
        name: &'static str,
        reason: &'static str,
        make: impl Fn() + 'a,
        repair: impl Fn() + 'a,
    ) -> Self {
        Self { name, hits: Hits::Both, reason, make: Box::new(make), repair: Box::new(repair) }
    }

    /// One of the way to it.
    pub(super) fn of_network(
        name: &'static str,
        reason: &'static str,
        make: impl Fn() + 'a,
        repair: impl Fn() + 'a,
    ) -> Self {
        Self { hits: Hits::ProxiedAlone, ..Self::of_server(name, reason, make, repair) }
    }
}

/// Connections that say nothing and take the room of others: more than the servers of these tests have.
pub(super) fn crowd(server: &Server) -> Vec<TcpStream> {
    (0..40).map(|_| TcpStream::connect(server.address()).unwrap()).collect()
}
