//! The signals that end a command, and the one that has the configuration loaded again.

use std::pin::pin;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::Failure;

/// The signals that end a command: those of service managers (SIGTERM) and of Ctrl-C (SIGINT), and of whatever else it
/// is told.
pub(super) struct Signals(Vec<Signal>);

impl Signals {
    /// Waits for them from now on.
    pub(super) fn also(more: &[SignalKind]) -> Result<Self, Failure> {
        let kinds = [SignalKind::terminate(), SignalKind::interrupt()];
        let signals: std::io::Result<_> = kinds.iter().chain(more).map(|kind| signal(*kind)).collect();
        signals.map(Self).map_err(unheard)
    }

    async fn next(&mut self) {
        std::future::poll_fn(|context| {
            let any = self.0.iter_mut().any(|signal| signal.poll_recv(context).is_ready());
            if any { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        })
        .await;
    }

    /// Does the work to its end. A first signal asks it to stop, through `stop`; a second one abandons it: `None`.
    pub(super) async fn end<T>(mut self, stop: CancellationToken, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        tokio::select! {
            done = &mut work => return Some(done),
            () = self.next() => stop.cancel(),
        }
        tokio::select! {
            done = &mut work => Some(done),
            () = self.next() => None,
        }
    }
}

/// The signal that asks to load the configuration again (SIGHUP), from now on.
pub(super) fn hangups() -> Result<Signal, Failure> {
    heard(SignalKind::hangup())
}

/// A signal, from now on.
pub(super) fn heard(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(unheard)
}

fn unheard(error: std::io::Error) -> Failure {
    Failure::System(format!("cannot wait for signals: {error}"))
}
