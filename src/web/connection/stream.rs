//! The socket of a connection, below TLS and hyper, which knows whether anything moves.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};
use tokio_util::either::Either;
use tokio_util::sync::CancellationToken;

use super::slot::ConnectionSlot;
use crate::web::Limits;
use crate::web::listener::Socket;

/// How often to look whether another client waits, while a client takes nothing. After the first time it counts as slow.
const LOOK: Duration = Duration::from_millis(250);

/// How much is given to a slow socket at once: little, so that it soon shows whether its client takes any of it.
const SLICE: usize = 16 * 1024;

/// A socket that tells its slot when nothing more has come and when all is written, and fails if its client takes nothing
/// for too long. hyper does neither, but it flushes once it has written everything that it has.
pub(super) struct MeteredStream {
    socket: Socket,
    slot: Arc<ConnectionSlot>,
    limits: Limits,
    shutdown: CancellationToken,
    /// Whether the client takes the present response more slowly than it is written.
    slow: bool,
    /// Since when the client has taken nothing of what waits for it, and when to look again.
    stalled: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl MeteredStream {
    pub(super) const fn new(
        socket: Socket,
        slot: Arc<ConnectionSlot>,
        limits: Limits,
        shutdown: CancellationToken,
    ) -> Self {
        Self { socket, slot, limits, shutdown, slow: false, stalled: None }
    }

    /// The first byte that the client sends, which is still to be read then. Unix sockets do not show it: 0.
    pub(super) async fn first(&self) -> io::Result<u8> {
        let Either::Left(socket) = &self.socket else { return Ok(0) };
        let mut first = [0];
        poll_fn(|context| {
            let peeked = socket.poll_peek(context, &mut ReadBuf::new(&mut first));
            self.noted(peeked)
        })
        .await?;
        Ok(first[0])
    }

    fn noted<T>(&self, read: Poll<T>) -> Poll<T> {
        if read.is_pending() {
            self.slot.starved();
        }
        read
    }

    /// Ready with an error once the client has taken nothing for too long.
    fn poll_stalled(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let Limits { stall, write, .. } = self.limits;
        let (since, look) = self.stalled.get_or_insert_with(|| (Instant::now(), Box::pin(sleep(LOOK.min(stall)))));
        loop {
            ready!(look.as_mut().poll(context));
            // A client that reads as fast as it can be written to has long taken some.
            self.slow = true;
            let stalled = since.elapsed();
            let is_waited_for = || self.slot.is_waited_for() || self.shutdown.is_cancelled();
            if stalled >= write || (stalled >= stall && is_waited_for()) {
                tracing::info!(peer = %self.slot.peer(), ?stalled, "a client was cut off: it took nothing of its response");
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            look.as_mut().reset(Instant::now() + LOOK);
        }
    }
}

impl AsyncRead for MeteredStream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.socket).poll_read(context, buf);
        self.noted(read)
    }
}

impl AsyncWrite for MeteredStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let bytes = if self.slow { &bytes[..bytes.len().min(SLICE)] } else { bytes };
        let Poll::Ready(written) = Pin::new(&mut self.socket).poll_write(context, bytes) else {
            return self.poll_stalled(context);
        };
        self.stalled = None;
        Poll::Ready(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.slow {
            let piece = pieces.iter().find(|piece| !piece.is_empty());
            return self.poll_write(context, piece.map_or(&[], |piece| &**piece));
        }
        let Poll::Ready(written) = Pin::new(&mut self.socket).poll_write_vectored(context, pieces) else {
            return self.poll_stalled(context);
        };
        self.stalled = None;
        Poll::Ready(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.socket).poll_flush(context))?;
        self.slow = false;
        self.slot.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests;
