//! What was observed as the body of a scrape.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::once::Once;
use crate::expose::gzip::Part;
use crate::expose::metrics::{Compressed, Exposition, Rendered, gzip};
use crate::expose::{Encoding, Format};
use crate::history::History;
use crate::lease::SourceSnapshot;

/// One source's latest look, what the looks until then showed, and its metrics, rendered once and compressed at most once;
/// its JSON as well.
#[derive(Debug)]
pub struct Observed {
    /// What the look showed.
    pub snapshot: Arc<SourceSnapshot>,
    /// What the looks until then showed.
    pub history: History,
    /// When the look was, on the clock of looks.
    pub at: Duration,
    pub(super) text: Rendered,
    compressed: Arc<Once<io::Result<Compressed>>>,
    /// What stands for it in a JSON document.
    pub(super) listed: Arc<Once<io::Result<Part>>>,
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
    /// A look, the looks until then, when it was, and its metrics.
    #[must_use]
    pub fn new(snapshot: Arc<SourceSnapshot>, history: History, at: Duration, text: Rendered) -> Self {
        Self { snapshot, history, at, text, compressed: Arc::default(), listed: Arc::default() }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expose::metrics::Renderer;
    use crate::expose::sample;

    fn observed(exposition: &Exposition, leases: usize) -> Arc<Observed> {
        let snapshot = sample::many(leases);
        let text = Renderer::new(exposition.clone()).render(&snapshot);
        Arc::new(Observed::new(Arc::new(snapshot), History::default(), Duration::ZERO, text))
    }

    fn unpacked(body: &Encoded) -> Vec<u8> {
        let Encoded::Gzip(pieces) = body else { panic!("not compressed") };
        let mut text = Vec::new();
        std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&pieces.concat()[..]), &mut text).unwrap();
        text
    }

    /// Where the pieces of a body are that are longer than any header.
    fn places(body: &Encoded) -> Vec<*const u8> {
        let Encoded::Gzip(pieces) = body else { panic!("not compressed") };
        pieces.iter().filter(|piece| piece.len() > 300).map(|piece| piece.as_ptr()).collect()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn sixteen_scrapes_of_one_reading_in_either_format_send_what_was_compressed_once() {
        let exposition = Exposition::without(|_| false);
        let observed = [observed(&exposition, 1_000), observed(&exposition, 700)];
        let rest = [Bytes::from_static(b"own 1\n")];
        let scrapes: Vec<_> = (0..16)
            .map(|number| {
                let (exposition, observed, rest) = (exposition.clone(), observed.clone(), rest.clone());
                let format = Format::ALL[number % 2];
                tokio::spawn(async move { exposed(&exposition, &observed, format, Encoding::Gzip, &rest).await })
            })
            .collect();
        let mut bodies = Vec::new();
        for scrape in scrapes {
            bodies.push(scrape.await.unwrap());
        }
        assert!(places(&bodies[0]).len() > 20);
        for (body, format) in bodies.iter().zip(Format::ALL.into_iter().cycle()) {
            assert_eq!(places(body), places(&bodies[0]), "compressed more than once");
            let texts: Vec<_> = observed.iter().map(|observed| &observed.text).collect();
            assert!(unpacked(body) == [exposition.joined(format, &texts).concat(), rest.concat()].concat());
        }
    }

    #[tokio::test]
    async fn a_short_text_is_compressed_as_a_whole_and_a_very_short_one_not_at_all() {
        let exposition = Exposition::without(|name| name != "lease_epoch");
        for (leases, of_parts) in [(1, None), (100, Some(false)), (3_000, Some(true))] {
            let observed = [observed(&exposition, leases)];
            let body = exposed(&exposition, &observed, Format::Text, Encoding::Gzip, &[]).await;
            match of_parts {
                None => assert!(matches!(body, Encoded::Plain(_)), "{leases}"),
                Some(of_parts) => {
                    assert_eq!(observed[0].compressed.is_made(), of_parts, "{leases}");
                    assert!(unpacked(&body) == exposition.joined(Format::Text, &[&observed[0].text]).concat());
                }
            }
        }
    }
}
