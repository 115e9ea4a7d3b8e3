//! Signals of the operating system.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::Failure;

/// The signals that end a command: SIGTERM, SIGINT and further ones.
pub(super) struct Signals(Vec<Signal>);

impl Signals {
    /// Registers SIGTERM, SIGINT and these signals.
    pub(super) fn with(more: &[SignalKind]) -> Result<Self, Failure> {
        let kinds = [SignalKind::terminate(), SignalKind::interrupt()];
        kinds.iter().chain(more).map(|kind| stream(*kind)).collect::<Result<_, _>>().map(Self)
    }

    async fn next(&mut self) {
        poll_fn(|context| {
            let is_ready = self.0.iter_mut().any(|signal| signal.poll_recv(context).is_ready());
            if is_ready { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// Runs a command. A first signal cancels `stop` and waits for the command to end; a second one abandons the command
    /// and returns `None`.
    pub(super) async fn run<T>(mut self, stop: CancellationToken, command: impl Future<Output = T>) -> Option<T> {
        let mut command = pin!(command);
        tokio::select! {
            done = &mut command => return Some(done),
            () = self.next() => stop.cancel(),
        }
        tokio::select! {
            done = &mut command => Some(done),
            () = self.next() => None,
        }
    }
}

/// Registers a signal.
pub(super) fn stream(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(|error| Failure::System(format!("cannot wait for signals: {error}")))
}
