//! What a service manager is told of the exporter, as `sd_notify(3)` describes.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::pin::pin;

use tokio_util::sync::CancellationToken;
use tracing::warn;

/// The service manager that waits to be told, if there is one.
#[derive(Clone, Debug)]
pub(super) struct Notify(Option<SocketAddr>);

impl Notify {
    /// The one that `NOTIFY_SOCKET` names.
    pub(super) fn from_environment() -> Self {
        let Some(named) = env::var_os("NOTIFY_SOCKET").filter(|named| !named.is_empty()) else { return Self(None) };
        match address(&named) {
            Ok(address) => Self(Some(address)),
            Err(error) => {
                warn!(%error, "NOTIFY_SOCKET is no socket; the service manager is told nothing");
                Self(None)
            }
        }
    }

    /// The exporter serves, by the newest configuration that can be used.
    pub(super) fn ready(&self) {
        self.tell("READY=1");
    }

    /// It loads its configuration again, until it is ready.
    pub(super) fn reloading(&self) {
        self.tell("RELOADING=1");
    }

    /// Does the work to its end: tells that it begins, and that it was asked to stop.
    pub(super) async fn of<T>(&self, work: impl Future<Output = T>, stop: &CancellationToken) -> T {
        self.ready();
        let mut work = pin!(work);
        tokio::select! {
            // Work that has nothing to finish ends at once when it is asked to.
            biased;
            () = stop.cancelled() => self.tell("STOPPING=1"),
            done = &mut work => return done,
        }
        work.await
    }

    fn tell(&self, state: &str) {
        let Some(manager) = &self.0 else { return };
        if let Err(error) = send(manager, state) {
            warn!(%error, state, "the service manager could not be told");
        }
    }
}

/// A path, or `@` and a name in the abstract namespace.
fn address(named: &OsStr) -> io::Result<SocketAddr> {
    match named.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
        _ => SocketAddr::from_pathname(named),
    }
}

fn send(manager: &SocketAddr, state: &str) -> io::Result<()> {
    UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), manager).map(drop)
}
