//! The body of a response.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

use super::connection::{ConnectionSlot, ResponseGrant, SendGuard};
use crate::observer::{LazyText, Retained};

/// A body that sends chunks one after the other, without joining them.
#[derive(Debug)]
pub struct ResponseBody {
    chunks: Chunks,
    grant: Option<ResponseGrant>,
    _send_guard: Option<SendGuard>,
}

#[derive(Debug)]
enum Chunks {
    /// All chunks, and the number of bytes left.
    Ready(VecDeque<Bytes>, u64),
    /// Each chunk is made when it is sent, so the total length is not known.
    Lazy(LazyText),
}

impl ResponseBody {
    /// The memory that the body keeps alive until it is sent.
    pub(super) fn retained(&self) -> Vec<Retained> {
        match &self.chunks {
            Chunks::Ready(chunks, _) => {
                let retained = |chunk: &Bytes| Retained { id: chunk.as_ptr().addr(), bytes: chunk.len() as u64 };
                chunks.iter().map(retained).collect()
            }
            Chunks::Lazy(text) => text.retained.clone(),
        }
    }

    /// Adds the grant for the memory that the body retains.
    pub(super) fn with_grant(self, grant: Option<ResponseGrant>) -> Self {
        Self { grant, ..self }
    }

    /// Binds the body to the connection that sends it.
    pub(super) fn with_slot(mut self, slot: &Arc<ConnectionSlot>, accepted: bool) -> Self {
        let grant = self.grant.take();
        Self { _send_guard: Some(SendGuard { slot: Arc::clone(slot), grant, accepted }), ..self }
    }

    /// The number of bytes left to send, if known.
    pub(super) const fn len(&self) -> Option<u64> {
        match &self.chunks {
            Chunks::Ready(_, left) => Some(*left),
            Chunks::Lazy(_) => None,
        }
    }
}

impl From<Chunks> for ResponseBody {
    fn from(chunks: Chunks) -> Self {
        Self { chunks, grant: None, _send_guard: None }
    }
}

impl From<Vec<Bytes>> for ResponseBody {
    fn from(chunks: Vec<Bytes>) -> Self {
        let left = chunks.iter().map(|chunk| chunk.len() as u64).sum();
        // Empty frames would be useless.
        let chunks = chunks.into_iter().filter(|chunk| !chunk.is_empty()).collect();
        Chunks::Ready(chunks, left).into()
    }
}

impl From<LazyText> for ResponseBody {
    fn from(text: LazyText) -> Self {
        Chunks::Lazy(text).into()
    }
}

impl From<&'static str> for ResponseBody {
    fn from(text: &'static str) -> Self {
        vec![Bytes::from_static(text.as_bytes())].into()
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let chunk = match &mut self.chunks {
            Chunks::Ready(chunks, left) => {
                let chunk = chunks.pop_front();
                *left -= chunk.as_ref().map_or(0, |chunk| chunk.len() as u64);
                chunk
            }
            // In chunked encoding, an empty chunk ends the body.
            Chunks::Lazy(text) => text.pieces.find(|chunk| !chunk.is_empty()),
        };
        Poll::Ready(chunk.map(|chunk| Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.len() == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.len().map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn pieces(mut body: ResponseBody) -> Vec<Bytes> {
        let mut pieces = Vec::new();
        while let Some(Ok(frame)) = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            pieces.extend(frame.into_data());
        }
        pieces
    }

    #[tokio::test]
    async fn a_lazy_body_makes_each_chunk_when_it_is_polled_and_reports_what_it_retains() {
        let reading = Arc::new(["first\n", "", "second\n"]);
        let retained = Retained { id: Arc::as_ptr(&reading).addr(), bytes: 14 };
        let of_body = Arc::clone(&reading);
        let made = (0..3).map(move |at| Bytes::from_static(of_body[at].as_bytes()));
        let body = ResponseBody::from(LazyText { pieces: Box::new(made), retained: vec![retained] });
        assert_eq!((body.len(), body.is_end_stream(), body.size_hint().exact()), (None, false, None));
        assert_eq!(body.retained(), [retained]);
        assert_eq!(pieces(body).await.concat(), b"first\nsecond\n");
        assert_eq!(Arc::strong_count(&reading), 1, "it is let go");
    }

    #[tokio::test]
    async fn a_ready_body_retains_its_chunks_and_knows_its_length() {
        let piece = Bytes::from(vec![b'x'; 100]);
        let body = ResponseBody::from(vec![piece.clone(), Bytes::new(), piece.clone()]);
        let retained = Retained { id: piece.as_ptr().addr(), bytes: 100 };
        assert_eq!(body.retained(), [retained; 2]);
        assert_eq!((body.len(), body.size_hint().exact()), (Some(200), Some(200)));
        assert_eq!(pieces(body).await, [&piece, &piece]);
    }
}
