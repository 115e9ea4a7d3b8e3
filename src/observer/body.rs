//! The bodies of responses with readings: metrics and JSON, plain or compressed.

use std::fmt;
use std::mem::size_of;
use std::sync::Arc;

use bytes::Bytes;

use super::Observer;
use super::cached_reading::CachedReading;
use crate::expose::gzip::{self, GzipPart};
use crate::expose::metrics::{CompressedMetrics, Exposition, SourceMetrics};
use crate::expose::{Encoding, Format, json};
use crate::lease::Status;

/// The body of a response.
#[derive(Debug)]
pub enum EncodedText {
    /// Plain text in pieces.
    Plain(Vec<Bytes>),
    /// Plain text whose pieces are made while it is sent.
    Lazy(LazyText),
    /// A gzip stream in pieces.
    Gzip(Vec<Bytes>),
}

/// Plain text whose pieces are made while it is sent. Until then it keeps its readings in memory.
pub struct LazyText {
    /// The pieces.
    pub pieces: Box<dyn Iterator<Item = Bytes> + Send>,
    /// The memory of these readings.
    pub retained: Vec<Retained>,
}

/// Memory that a response holds until it is sent. Several responses may hold the same memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retained {
    /// The address, which identifies the memory.
    pub id: usize,
    /// The size in bytes.
    pub bytes: u64,
}

impl fmt::Debug for LazyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyText").field("retained", &self.retained).finish_non_exhaustive()
    }
}

/// The text of up to this many leases is about 64 kB. It is compressed as a whole for each response, which makes it
/// shorter. Longer text is written lazily, or sent in blocks that are compressed once and shared.
const MAX_LEASES_COMPRESSED_WHOLE: usize = 24;

impl Observer {
    /// The metrics of these readings, followed by `trailer`.
    pub async fn metrics(
        &self,
        readings: &[Arc<CachedReading>],
        format: Format,
        encoding: Encoding,
        trailer: Vec<Bytes>,
    ) -> EncodedText {
        let exposition = &self.exposition;
        let sources: Vec<_> = readings.iter().map(|reading| Arc::clone(&reading.metrics)).collect();
        if leases(readings) <= MAX_LEASES_COMPRESSED_WHOLE {
            return encoded(exposition.text(format, sources, trailer).collect(), encoding);
        }
        if encoding != Encoding::Identity
            && let Some(stream) = compressed(exposition, readings, &sources, format, &trailer).await
        {
            return EncodedText::Gzip(stream);
        }
        let retained = readings.iter().map(retained).collect();
        EncodedText::Lazy(LazyText { pieces: Box::new(exposition.text(format, sources, trailer)), retained })
    }
}

/// The metrics of these readings as a gzip stream; `None` after a failure, which is logged.
async fn compressed(
    exposition: &Exposition,
    readings: &[Arc<CachedReading>],
    sources: &[Arc<SourceMetrics>],
    format: Format,
    trailer: &[Bytes],
) -> Option<Vec<Bytes>> {
    // The sources are compressed in parallel.
    let tasks: Vec<_> = readings
        .iter()
        .map(|reading| (exposition.clone(), Arc::clone(reading)))
        .map(|(exposition, reading)| tokio::spawn(async move { reading.compressed_metrics(&exposition).await }))
        .collect();
    let mut compressed: Vec<Arc<CompressedMetrics>> = Vec::with_capacity(readings.len());
    for task in tasks {
        compressed.push(task.await.ok()??);
    }
    let joined: Vec<_> =
        sources.iter().zip(&compressed).map(|(source, compressed)| (&**source, &**compressed)).collect();
    let stream = exposition.joined_gzip(format, &joined, trailer);
    stream.inspect_err(|error| tracing::error!(%error, "the compressed metrics could not be joined")).ok()
}

/// The JSON document of these readings; `None` if it could not be compressed.
pub async fn json(readings: &[Arc<CachedReading>], encoding: Encoding) -> Option<EncodedText> {
    let snapshots = readings.iter().map(|reading| Arc::clone(&reading.snapshot)).collect();
    let pieces = json::document_chunks(snapshots);
    if leases(readings) <= MAX_LEASES_COMPRESSED_WHOLE {
        return Some(encoded(pieces.collect(), encoding));
    }
    if encoding == Encoding::Identity {
        let retained = readings.iter().map(retained).collect();
        return Some(EncodedText::Lazy(LazyText { pieces: Box::new(pieces), retained }));
    }
    let mut parts = Vec::with_capacity(readings.len());
    for reading in readings {
        parts.push(reading.compressed_json().await?);
    }
    let [before, between, after] = [json::DOCUMENT_START, json::SEPARATOR, json::DOCUMENT_END]
        .map(|text| GzipPart::stored(Bytes::from_static(text)));
    let mut document = vec![&before];
    for (at, part) in parts.into_iter().enumerate() {
        if at > 0 {
            document.push(&between);
        }
        document.push(part);
    }
    document.push(&after);
    gzip::stream(document, std::iter::empty::<Bytes>()).ok().map(EncodedText::Gzip)
}

/// Encodes a text for a client that accepts this encoding.
#[must_use]
pub fn encoded(text: Vec<Bytes>, encoding: Encoding) -> EncodedText {
    if !encoding.compresses(text.iter().map(|piece| piece.len() as u64).sum()) {
        return EncodedText::Plain(text);
    }
    match gzip::stream([], &text) {
        Ok(stream) => EncodedText::Gzip(stream),
        Err(error) => {
            tracing::error!(%error, "a response could not be compressed and is sent as plain text");
            EncodedText::Plain(text)
        }
    }
}

fn leases(readings: &[Arc<CachedReading>]) -> usize {
    readings.iter().map(|reading| reading.snapshot.leases.len()).sum()
}

/// The memory of a reading: its statuses, and 128 bytes per lease for the name and the labels.
fn retained(reading: &Arc<CachedReading>) -> Retained {
    let lease = (size_of::<Status>() + 128) as u64;
    Retained { id: Arc::as_ptr(reading).addr(), bytes: lease * reading.snapshot.leases.len() as u64 }
}

#[cfg(test)]
mod tests;
