//! The body of an answer.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::mpsc::Receiver;

use super::crowd::Busy;
use crate::observer::LazyText;

/// Pieces that are sent one after the other without being joined. Their length is announced where it is known: of all but
/// a stream.
#[derive(Debug, Default)]
pub struct Chunks {
    chunks: VecDeque<Bytes>,
    left: u64,
    /// Pieces that are made as they are sent.
    lazy: Option<LazyText>,
    /// Of a stream: what comes once it happens.
    yet_to_come: Option<Receiver<Bytes>>,
    /// What its connection is busy with until all is handed over.
    _busy: Option<Busy>,
}

impl Chunks {
    /// A stream of what comes from here, until that is closed.
    #[must_use]
    pub(super) fn yet_to_come(pieces: Receiver<Bytes>) -> Self {
        Self { yet_to_come: Some(pieces), ..Self::default() }
    }

    /// The same, whose connection is busy until all is handed over, and with a stream for as long as that goes on.
    pub(super) fn keeping(self, busy: Busy) -> Self {
        if self.yet_to_come.is_none() {
            busy.sending(self.chunks.iter().map(|chunk| &**chunk));
        }
        Self { _busy: Some(busy), ..self }
    }

    /// How many bytes are still to be sent.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.left
    }

    /// Whether all is sent.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.left == 0
    }
}

impl From<Vec<Bytes>> for Chunks {
    fn from(chunks: Vec<Bytes>) -> Self {
        let left = chunks.iter().map(|chunk| chunk.len() as u64).sum();
        // An empty frame would be written as nothing at best.
        let chunks = chunks.into_iter().filter(|chunk| !chunk.is_empty()).collect();
        Self { chunks, left, ..Self::default() }
    }
}

impl From<LazyText> for Chunks {
    fn from(text: LazyText) -> Self {
        Self { lazy: Some(text), ..Self::default() }
    }
}

impl From<Bytes> for Chunks {
    fn from(chunk: Bytes) -> Self {
        vec![chunk].into()
    }
}

impl From<&'static str> for Chunks {
    fn from(text: &'static str) -> Self {
        Bytes::from_static(text.as_bytes()).into()
    }
}

impl Body for Chunks {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(pieces) = &mut self.yet_to_come {
            return pieces.poll_recv(context).map(|piece| piece.map(|piece| Ok(Frame::data(piece))));
        }
        if let Some(lazy) = &mut self.lazy {
            return Poll::Ready(lazy.pieces.next().map(|piece| Ok(Frame::data(piece))));
        }
        let chunk = self.chunks.pop_front();
        self.left -= chunk.as_ref().map_or(0, |chunk| chunk.len() as u64);
        Poll::Ready(chunk.map(|chunk| Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.chunks.is_empty() && self.yet_to_come.is_none() && self.lazy.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        if self.yet_to_come.is_some() || self.lazy.is_some() {
            return SizeHint::default();
        }
        SizeHint::with_exact(self.left)
    }
}
