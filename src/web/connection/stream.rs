//! The socket of a connection, below TLS and hyper. It detects slow clients.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::{Instant, Sleep, sleep};
use tokio_util::either::Either;
use tokio_util::sync::CancellationToken;

use super::slot::ConnectionSlot;
use crate::web::limits::Limits;

/// An accepted socket.
pub(in crate::web) type Socket = Either<TcpStream, UnixStream>;

/// How often a blocked write checks whether other clients wait. A client is slow once a write was blocked for this long.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// The size of writes to a slow client, in bytes. It is small so that progress is soon visible.
const SLOW_WRITE_SIZE: usize = 16 * 1024;

/// A socket that reports to its slot when a read finds no data and when everything is written, neither of which hyper
/// reports. A write fails if the client takes nothing for too long. hyper flushes after it has written all that it has.
pub(in crate::web) struct MeteredStream {
    socket: Socket,
    slot: Arc<ConnectionSlot>,
    limits: Limits,
    shutdown: CancellationToken,
    /// Whether the client takes the current response more slowly than it is written.
    is_slow: bool,
    /// Since when writes are blocked, and the timer of the next check.
    blocked: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl MeteredStream {
    pub(in crate::web) const fn new(
        socket: Socket,
        slot: Arc<ConnectionSlot>,
        limits: Limits,
        shutdown: CancellationToken,
    ) -> Self {
        Self { socket, slot, limits, shutdown, is_slow: false, blocked: None }
    }

    /// Waits for the first byte of the client without consuming it. Returns 0 for Unix sockets, which do not support this.
    pub(in crate::web) async fn peek_byte(&self) -> io::Result<u8> {
        let Either::Left(socket) = &self.socket else { return Ok(0) };
        let mut first = [0];
        poll_fn(|context| {
            let peeked = socket.poll_peek(context, &mut ReadBuf::new(&mut first));
            self.record_read(peeked)
        })
        .await?;
        Ok(first[0])
    }

    fn record_read<T>(&self, read: Poll<T>) -> Poll<T> {
        if read.is_pending() {
            self.slot.record_empty_read();
        }
        read
    }

    fn record_write(&mut self, written: Poll<io::Result<usize>>, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if written.is_pending() {
            return self.poll_blocked(context);
        }
        self.blocked = None;
        written
    }

    /// Returns an error after writes were blocked for too long.
    fn poll_blocked(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let Limits { stall, write, .. } = self.limits;
        let start = || (Instant::now(), Box::pin(sleep(CHECK_INTERVAL.min(stall))));
        let (since, timer) = self.blocked.get_or_insert_with(start);
        loop {
            ready!(timer.as_mut().poll(context));
            self.is_slow = true;
            let stalled = since.elapsed();
            let is_waited_for = || self.slot.has_waiters() || self.shutdown.is_cancelled();
            if stalled >= write || (stalled >= stall && is_waited_for()) {
                tracing::info!(peer = %self.slot.peer(), ?stalled, "a client was cut off: it took nothing of its response");
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            timer.as_mut().reset(Instant::now() + CHECK_INTERVAL);
        }
    }
}

impl AsyncRead for MeteredStream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.socket).poll_read(context, buf);
        self.record_read(read)
    }
}

impl AsyncWrite for MeteredStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let bytes = if self.is_slow { &bytes[..bytes.len().min(SLOW_WRITE_SIZE)] } else { bytes };
        let written = Pin::new(&mut self.socket).poll_write(context, bytes);
        self.record_write(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        chunks: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.is_slow {
            let chunk = chunks.iter().find(|chunk| !chunk.is_empty());
            return self.poll_write(context, chunk.map_or(&[], |chunk| &**chunk));
        }
        let written = Pin::new(&mut self.socket).poll_write_vectored(context, chunks);
        self.record_write(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.socket).poll_flush(context))?;
        self.is_slow = false;
        self.slot.record_flush();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests;
