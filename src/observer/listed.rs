//! What was observed as JSON, compressed once a reading.

use std::io;
use std::sync::Arc;

use bytes::Bytes;

use super::Observed;
use super::exposed::Encoded;
use crate::expose::gzip::{self, Compressor, Part};
use crate::expose::json;
use crate::lease::SourceSnapshot;

/// The JSON of these sources as a gzip stream, of which each source's part is made when somebody first asks for it. Nothing,
/// if one of them could not be made.
///
/// Only what is compressed is kept, a tenth of the text.
pub async fn listed(observed: &[Arc<Observed>]) -> Option<Encoded> {
    let mut parts = Vec::with_capacity(observed.len());
    for observed in observed {
        let snapshot = Arc::clone(&observed.snapshot);
        parts.push(observed.listed.get_or_make(move || compressed(&snapshot)).await?.as_ref().ok()?);
    }
    let [before, between, after] =
        [json::BEFORE, json::BETWEEN, json::AFTER].map(|text| Part::stored(Bytes::from_static(text)));
    let mut document = vec![&before];
    for (at, part) in parts.into_iter().enumerate() {
        if at > 0 {
            document.push(&between);
        }
        document.push(part);
    }
    document.push(&after);
    gzip::stream(document, &[]).ok().map(Encoded::Gzip)
}

fn compressed(snapshot: &SourceSnapshot) -> io::Result<Part> {
    Ok(Compressor::new().part(&[json::source_to_vec(snapshot)?.into()])?)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;
    use crate::expose::metrics::Rendered;
    use crate::expose::sample;
    use crate::history::History;

    fn observed(snapshot: SourceSnapshot) -> Arc<Observed> {
        let (history, at) = (History::default(), std::time::Duration::ZERO);
        Arc::new(Observed::new(Arc::new(snapshot), history, at, Rendered::default()))
    }

    /// The stream, and where its longest piece is.
    async fn stream(observed: &[Arc<Observed>]) -> (Vec<u8>, *const u8) {
        let Some(Encoded::Gzip(pieces)) = listed(observed).await else { panic!("not compressed") };
        let mut text = Vec::new();
        flate2::read::GzDecoder::new(&pieces.concat()[..]).read_to_end(&mut text).unwrap();
        (text, pieces.iter().max_by_key(|piece| piece.len()).unwrap().as_ptr())
    }

    #[tokio::test]
    async fn sources_that_were_compressed_once_make_any_document_that_is_asked_for() {
        let all: Vec<_> = sample::snapshots().into_iter().chain([sample::many(500)]).map(observed).collect();
        let first = stream(&all).await.1;
        for chosen in [&all[..], &all[2..], &all[5..], &[]] {
            let (text, longest) = stream(chosen).await;
            let snapshots: Vec<_> = chosen.iter().map(|observed| &*observed.snapshot).collect();
            assert!(text == json::to_vec(&snapshots).unwrap(), "{}", String::from_utf8_lossy(&text));
            assert!(chosen.is_empty() || longest == first, "compressed more than once");
        }
    }
}
