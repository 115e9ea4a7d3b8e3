//! State notifications to the service manager, as described in `sd_notify(3)`.
//!
//! The `sd-notify` crate does not support abstract socket names, which some service managers use.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::pin::pin;

use tokio_util::sync::CancellationToken;
use tracing::warn;

/// The socket of the service manager, if there is one.
#[derive(Clone, Debug)]
pub(super) struct ServiceManager(Option<SocketAddr>);

impl ServiceManager {
    /// The service manager whose socket `NOTIFY_SOCKET` names.
    pub(super) fn from_environment() -> Self {
        let Some(name) = env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty()) else { return Self(None) };
        let address = address(&name)
            .inspect_err(|error| warn!(%error, "NOTIFY_SOCKET is no socket; the service manager is told nothing"));
        Self(address.ok())
    }

    /// Runs the server: notifies that it is ready, and that it is stopping once `stop` is cancelled.
    pub(super) async fn run<T>(&self, server: impl Future<Output = T>, stop: &CancellationToken) -> T {
        self.notify("READY=1");
        let mut server = pin!(server);
        tokio::select! {
            // A server without open connections ends as soon as `stop` is cancelled.
            biased;
            () = stop.cancelled() => self.notify("STOPPING=1"),
            done = &mut server => return done,
        }
        server.await
    }

    /// Sends a state such as `READY=1`.
    pub(super) fn notify(&self, state: &str) {
        let Some(address) = &self.0 else { return };
        let sent = UnixDatagram::unbound().and_then(|socket| socket.send_to_addr(state.as_bytes(), address));
        if let Err(error) = sent {
            warn!(%error, state, "the service manager could not be told");
        }
    }
}

/// The address of a path, or of `@` and a name in the abstract namespace.
fn address(name: &OsStr) -> io::Result<SocketAddr> {
    match name.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
        _ => SocketAddr::from_pathname(name),
    }
}
