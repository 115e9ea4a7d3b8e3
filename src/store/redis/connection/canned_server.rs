//! A server whose answers are written beforehand.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Gives what is written beforehand, and then ends the connection.
pub(in crate::store::redis) struct CannedServer {
    answers: VecDeque<u8>,
    piece: usize,
    sent: Arc<Mutex<Vec<u8>>>,
}

impl CannedServer {
    pub(in crate::store::redis) fn new(answers: impl Into<Vec<u8>>) -> Self {
        Self { answers: answers.into().into(), piece: usize::MAX, sent: Arc::default() }
    }

    /// No more than so many bytes are given at once.
    pub(in crate::store::redis) fn in_pieces_of(self, piece: usize) -> Self {
        Self { piece, ..self }
    }

    /// The bytes that are sent to it.
    pub(in crate::store::redis) fn sent(&self) -> Arc<Mutex<Vec<u8>>> {
        Arc::clone(&self.sent)
    }
}

impl AsyncRead for CannedServer {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let count = this.piece.min(buffer.remaining()).min(this.answers.len());
        buffer.put_slice(&this.answers.drain(..count).collect::<Vec<_>>());
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for CannedServer {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.sent.lock().unwrap().extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// The result of a future that has nothing to wait for.
pub(in crate::store::redis) fn at_once<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("it waits"),
    }
}
