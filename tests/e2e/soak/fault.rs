//! The faults of a store.

use crate::harness::proxy::{Behaviour, End, Place as Cut, Proxy};
use crate::servers::Server;

/// A fault that makes sources unreadable until it is repaired.
pub(super) struct Fault<'a> {
    pub(super) name: &'static str,
    pub(super) make: Box<dyn Fn() + Send + Sync + 'a>,
    pub(super) repair: Box<dyn Fn() + Send + Sync + 'a>,
}

impl<'a> Fault<'a> {
    pub(super) fn new(
        name: &'static str,
        make: impl Fn() + Send + Sync + 'a,
        repair: impl Fn() + Send + Sync + 'a,
    ) -> Self {
        Self { name, make: Box::new(make), repair: Box::new(repair) }
    }
}

/// The faults of any server.
pub(super) fn of_server(server: &Server) -> Vec<Fault<'_>> {
    vec![
        Fault::new("killed and started again", || server.kill(), || server.restart()),
        Fault::new("shut down and started again", || server.shut_down(), || server.restart()),
        Fault::new("frozen", || server.freeze(), || server.thaw()),
    ]
}

/// The faults of any connection to a server.
pub(super) fn of_network(proxy: &Proxy) -> Vec<Fault<'_>> {
    let connection_fault = |name, behaviour| {
        let make = move || {
            proxy.choose(behaviour);
            proxy.end_all(End::Reset);
        };
        Fault::new(name, make, || proxy.choose(Behaviour::Pass))
    };
    vec![
        connection_fault("connections refused", Behaviour::Refuse),
        connection_fault("connections never answered", Behaviour::BlackHole),
        connection_fault("connections reset in the middle of a response", Behaviour::Cut(Cut::After(20), End::Reset)),
        connection_fault(
            "connections ended in the middle of a response",
            Behaviour::Cut(Cut::After(20), End::Finished),
        ),
        Fault::new("answers held back", || proxy.choose(Behaviour::Mute), || proxy.choose(Behaviour::Pass)),
        Fault::new(
            "answers byte by byte",
            || proxy.choose(Behaviour::Trickle),
            || {
                proxy.choose(Behaviour::Pass);
                proxy.end_all(End::Reset);
            },
        ),
    ]
}
