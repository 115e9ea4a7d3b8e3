//! What was observed as the body of a scrape.

use std::io;
use std::sync::Arc;

use bytes::Bytes;

use super::once::Once;
use crate::expose::metrics::{Compressed, Exposition, Rendered, gzip};
use crate::expose::{Encoding, Format};
use crate::lease::SourceSnapshot;

/// One source's latest look, and its metrics, rendered once and compressed at most once.
#[derive(Debug)]
pub struct Observed {
    /// What the look showed.
    pub snapshot: Arc<SourceSnapshot>,
    pub(super) text: Rendered,
    compressed: Arc<Once<io::Result<Compressed>>>,
}

/// A body as it is sent, in pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Encoded {
    /// The text.
    Plain(Vec<Bytes>),
    /// The text as a gzip stream.
    Gzip(Vec<Bytes>),
}

/// A text up to this long is compressed for each scrape: as a whole it becomes shorter than in parts, and sharing would
/// win a fraction of a millisecond.
const COMPRESSED_WHOLE: u64 = 64 * 1024;

impl Observed {
    /// A look and its metrics.
    #[must_use]
    pub fn new(snapshot: Arc<SourceSnapshot>, text: Rendered) -> Self {
        Self { snapshot, text, compressed: Arc::default() }
    }

    /// Its metrics compressed, for whoever asks first and everybody after.
    async fn compressed(&self) -> Option<&Compressed> {
        let text = self.text.clone();
        self.compressed.get_or_make(move || text.compressed()).await?.as_ref().ok()
    }
}

/// The metrics of these sources, and then `rest`.
pub(super) async fn exposed(
    exposition: &Exposition,
    observed: &[Arc<Observed>],
    format: Format,
    encoding: Encoding,
    rest: &[Bytes],
) -> Encoded {
    let texts: Vec<_> = observed.iter().map(|observed| &observed.text).collect();
    let mut plain = exposition.joined(format, &texts);
    plain.extend_from_slice(rest);
    let bytes = plain.iter().map(|piece| piece.len() as u64).sum();
    if !encoding.compresses(bytes) {
        return Encoded::Plain(plain);
    }
    let stream = if bytes <= COMPRESSED_WHOLE {
        gzip(&plain).ok()
    } else {
        let parts = compressed(observed).await;
        parts.and_then(|parts| exposition.joined_gzip(format, &parts, rest).ok())
    };
    if let Some(stream) = stream {
        Encoded::Gzip(stream)
    } else {
        tracing::error!("the metrics could not be compressed, and are sent as they are");
        Encoded::Plain(plain)
    }
}

/// All of them compressed, side by side.
async fn compressed(observed: &[Arc<Observed>]) -> Option<Vec<&Compressed>> {
    let begun: Vec<_> = observed
        .iter()
        .map(Arc::clone)
        .map(|observed| tokio::spawn(async move { observed.compressed().await.is_some() }))
        .collect();
    let mut parts = Vec::with_capacity(observed.len());
    for (observed, begun) in observed.iter().zip(begun) {
        if !begun.await.is_ok_and(|compressed| compressed) {
            return None;
        }
        parts.push(observed.compressed().await?);
    }
    Some(parts)
}
