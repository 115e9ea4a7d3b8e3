//! What can befall a store with leases.

use crate::harness::proxy::{Behaviour, End, Place as Cut, Proxy};
use crate::servers::Server;

/// Something after which sources cannot be read until it is repaired.
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

/// What can befall any server.
pub(super) fn of_server(server: &Server) -> Vec<Fault<'_>> {
    vec![
        Fault::new("killed and started again", || server.kill(), || server.restart()),
        Fault::new("shut down and started again", || server.shut_down(), || server.restart()),
        Fault::new("frozen", || server.freeze(), || server.thaw()),
    ]
}

/// What can befall the way to any server.
pub(super) fn of_network(proxy: &Proxy) -> Vec<Fault<'_>> {
    let befalls = |name, behaviour| {
        let make = move || {
            proxy.choose(behaviour);
            proxy.end_all(End::Reset);
        };
        Fault::new(name, make, || proxy.choose(Behaviour::Pass))
    };
    vec![
        befalls("connections refused", Behaviour::Refuse),
        befalls("connections never answered", Behaviour::BlackHole),
        befalls("connections reset in the midst of an answer", Behaviour::Cut(Cut::After(20), End::Reset)),
        befalls("connections ended in the midst of an answer", Behaviour::Cut(Cut::After(20), End::Finished)),
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
