//! The body of a response.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

use super::connection::{ConnectionSlot, ResponseGrant, Sending};
use crate::observer::{LazyText, Retained};

/// Pieces that are sent one after the other without being joined.
#[derive(Debug)]
pub struct ResponseBody {
    pieces: Pieces,
    /// What a lazy body keeps alive until it is sent.
    retained: Vec<Retained>,
    /// The room that it was given for what it retains.
    grant: ResponseGrant,
    /// Dropped with the body, once all is handed over.
    _sending: Option<Sending>,
}

enum Pieces {
    /// All of them, which together have so many bytes.
    Made(VecDeque<Bytes>, u64),
    /// Each made when it is sent, so their length is not known before.
    Lazy(Box<dyn Iterator<Item = Bytes> + Send>),
}

impl fmt::Debug for Pieces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Made(pieces, left) => f.debug_tuple("Made").field(&pieces.len()).field(left).finish(),
            Self::Lazy(_) => f.debug_tuple("Lazy").finish_non_exhaustive(),
        }
    }
}

impl ResponseBody {
    fn of(pieces: Pieces) -> Self {
        Self { pieces, retained: Vec::new(), grant: ResponseGrant::default(), _sending: None }
    }

    /// The memory that it keeps alive until it is sent.
    pub(super) fn retained(&self) -> Vec<Retained> {
        match &self.pieces {
            Pieces::Made(pieces, _) => {
                let of = |piece: &Bytes| Retained { id: piece.as_ptr().addr(), bytes: piece.len() as u64 };
                pieces.iter().map(of).collect()
            }
            Pieces::Lazy(_) => self.retained.clone(),
        }
    }

    /// The same with the room for what it retains.
    pub(super) fn granted(self, grant: ResponseGrant) -> Self {
        Self { grant, ..self }
    }

    /// The same, about to be sent over a connection. `honest` says that its request was let in.
    pub(super) fn sent_over(mut self, slot: &Arc<ConnectionSlot>, honest: bool) -> Self {
        let grant = std::mem::take(&mut self.grant);
        Self { _sending: Some(Sending { slot: Arc::clone(slot), grant, honest }), ..self }
    }

    /// How many bytes are still to be sent, where that is known.
    #[must_use]
    pub const fn len(&self) -> Option<u64> {
        match &self.pieces {
            Pieces::Made(_, left) => Some(*left),
            Pieces::Lazy(_) => None,
        }
    }

    /// Whether it is known that all is sent.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        matches!(self.len(), Some(0))
    }
}

impl From<Vec<Bytes>> for ResponseBody {
    fn from(pieces: Vec<Bytes>) -> Self {
        let left = pieces.iter().map(|piece| piece.len() as u64).sum();
        // An empty frame would be written as nothing at best.
        Self::of(Pieces::Made(pieces.into_iter().filter(|piece| !piece.is_empty()).collect(), left))
    }
}

impl From<LazyText> for ResponseBody {
    fn from(LazyText { pieces, retained }: LazyText) -> Self {
        Self { retained, ..Self::of(Pieces::Lazy(pieces)) }
    }
}

impl From<Bytes> for ResponseBody {
    fn from(piece: Bytes) -> Self {
        vec![piece].into()
    }
}

impl From<&'static str> for ResponseBody {
    fn from(text: &'static str) -> Self {
        Bytes::from_static(text.as_bytes()).into()
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = match &mut self.pieces {
            Pieces::Made(pieces, left) => {
                let piece = pieces.pop_front();
                *left -= piece.as_ref().map_or(0, |piece| piece.len() as u64);
                piece
            }
            // An empty chunk would be the end.
            Pieces::Lazy(pieces) => pieces.find(|piece| !piece.is_empty()),
        };
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.is_empty()
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
    async fn a_lazy_body_makes_each_piece_when_it_is_asked_for_and_says_what_it_keeps_alive() {
        let reading = Arc::new(["first\n", "", "second\n"]);
        let retained = Retained { id: Arc::as_ptr(&reading).addr(), bytes: 14 };
        let of_body = Arc::clone(&reading);
        let made = (0..3).map(move |at| Bytes::from_static(of_body[at].as_bytes()));
        let body = ResponseBody::from(LazyText { pieces: Box::new(made), retained: vec![retained] });
        assert_eq!((body.len(), body.is_empty(), body.size_hint().exact()), (None, false, None));
        assert_eq!(body.retained(), [retained]);
        assert_eq!(pieces(body).await.concat(), b"first\nsecond\n");
        assert_eq!(Arc::strong_count(&reading), 1, "it is let go");
    }

    #[tokio::test]
    async fn a_body_that_is_made_retains_its_pieces_and_knows_its_length() {
        let piece = Bytes::from(vec![b'x'; 100]);
        let body = ResponseBody::from(vec![piece.clone(), Bytes::new(), piece.clone()]);
        let retained = Retained { id: piece.as_ptr().addr(), bytes: 100 };
        assert_eq!(body.retained(), [retained; 2]);
        assert_eq!((body.len(), body.size_hint().exact()), (Some(200), Some(200)));
        assert_eq!(pieces(body).await, [&piece, &piece]);
    }
}
