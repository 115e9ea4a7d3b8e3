//! The socket of a connection, below TLS and hyper, which tells the connection's slot whether anything moves.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_util::either::Either;

use super::slot::ConnectionSlot;

/// A socket whose slot learns of every byte that it takes, and of every flush: hyper does not tell when a response is sent,
/// but it flushes once it has written everything that it has.
pub(super) struct MeteredStream {
    socket: Either<TcpStream, UnixStream>,
    slot: Arc<ConnectionSlot>,
}

impl MeteredStream {
    pub(super) const fn new(socket: Either<TcpStream, UnixStream>, slot: Arc<ConnectionSlot>) -> Self {
        Self { socket, slot }
    }

    /// The first byte that the client sends, which is still to be read then. Unix sockets do not show it: 0.
    pub(super) async fn first(&self) -> io::Result<u8> {
        let Either::Left(socket) = &self.socket else { return Ok(0) };
        let mut first = [0];
        poll_fn(|context| {
            let peeked = socket.poll_peek(context, &mut ReadBuf::new(&mut first));
            self.told(peeked)
        })
        .await?;
        Ok(first[0])
    }

    fn told<T>(&self, read: Poll<T>) -> Poll<T> {
        if read.is_pending() {
            self.slot.starved();
        }
        read
    }

    fn written(&self, written: io::Result<usize>) -> Poll<io::Result<usize>> {
        if matches!(written, Ok(1..)) {
            self.slot.progressed();
        }
        Poll::Ready(written)
    }
}

impl AsyncRead for MeteredStream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.socket).poll_read(context, buf);
        self.told(read)
    }
}

impl AsyncWrite for MeteredStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.socket).poll_write(context, bytes));
        self.written(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.socket).poll_write_vectored(context, pieces));
        self.written(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.socket).poll_flush(context))?;
        self.slot.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}
