//! The stream below hyper, which shows what hyper does not: that an answer is sent, and that it gives one of its own.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::crowd::Place;
use super::unreadable;

/// hyper does not tell when an answer is sent, and its last pieces may wait with it for as long as a client likes. It
/// flushes once it has written everything that it has.
pub(super) struct Wire<S> {
    stream: S,
    place: Arc<Place>,
    /// What is still to be written before it is flushed.
    rest: Bytes,
}

impl<S> Wire<S> {
    pub(super) const fn new(stream: S, place: Arc<Place>) -> Self {
        Self { stream, place, rest: Bytes::new() }
    }

    /// Whether this is an answer of hyper's own, which is written with a reason then.
    fn gives_reason(&mut self, bytes: &[u8]) -> bool {
        // Nothing was asked that could be read, so nothing is being answered.
        if !bytes.starts_with(b"HTTP/1.1 4") || !self.place.is_idle() {
            return false;
        }
        self.rest = unreadable::with_reason(bytes).unwrap_or_default();
        !self.rest.is_empty()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Wire<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Wire<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.gives_reason(bytes) {
            return Poll::Ready(Ok(bytes.len()));
        }
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if let [bytes] = pieces
            && self.gives_reason(bytes)
        {
            return Poll::Ready(Ok(bytes.len()));
        }
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { stream, rest, .. } = &mut *self;
        while !rest.is_empty() {
            let written = ready!(Pin::new(&mut *stream).poll_write(context, rest))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            rest.advance(written);
        }
        ready!(Pin::new(stream).poll_flush(context))?;
        self.place.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
