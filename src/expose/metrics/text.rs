//! The plain text of several sources, written in chunks while it is sent.

use std::sync::Arc;

use bytes::Bytes;

use super::{Exposition, SourceMetrics, write_with_header};
use crate::expose::Format;

/// A chunk ends with the first group of leases that makes it at least this long, in bytes.
const CHUNK: usize = 64 * 1024;
/// The number of leases that are written before the length of the chunk is checked again.
const GROUP: usize = 64;

/// The metrics of several sources in one text format, family by family, followed by other text.
///
/// Each chunk is written when it is asked for. A client that reads slowly therefore holds the memory of one chunk, not of
/// the whole text.
#[derive(Debug)]
pub struct MetricsChunks {
    exposition: Exposition,
    format: Format,
    sources: Vec<Arc<SourceMetrics>>,
    next: Position,
    rest: std::vec::IntoIter<Bytes>,
}

#[derive(Debug, Default)]
struct Position {
    /// The index of the family. The families of leases come first.
    family: usize,
    source: usize,
    lease: usize,
    /// Whether the header of the family is written.
    has_header: bool,
}

impl Exposition {
    /// The text of these sources, followed by `rest`.
    #[must_use]
    pub fn text(&self, format: Format, sources: Vec<Arc<SourceMetrics>>, rest: Vec<Bytes>) -> MetricsChunks {
        MetricsChunks { exposition: self.clone(), format, sources, next: Position::default(), rest: rest.into_iter() }
    }
}

impl MetricsChunks {
    /// Writes one family of one source, or of a group of its leases. Returns `false` after the last family.
    fn write_next(&mut self, out: &mut Vec<u8>) -> bool {
        let Exposition { lease_families, source_families } = &self.exposition;
        let next = &mut self.next;
        if next.family == lease_families.len() + source_families.len() {
            return false;
        }
        let Some(metrics) = self.sources.get(next.source) else {
            *next = Position { family: next.family + 1, ..Position::default() };
            return true;
        };
        let leases = metrics.snapshot.leases.len();
        let mut end = leases;
        if let Some(family) = lease_families.get(next.family) {
            end = leases.min(next.lease + GROUP);
            write_with_header(out, family.header(self.format).text(), &mut next.has_header, |out| {
                family.write_leases(out, metrics, next.lease..end);
            });
        } else if let Some(family) = source_families.get(next.family - lease_families.len()) {
            write_with_header(out, family.header(self.format).text(), &mut next.has_header, |out| {
                family.write_source(out, metrics);
            });
        }
        if end < leases {
            next.lease = end;
        } else {
            next.lease = 0;
            next.source += 1;
        }
        true
    }
}

impl Iterator for MetricsChunks {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        let mut chunk = Vec::new();
        while chunk.len() < CHUNK && self.write_next(&mut chunk) {
            // The full size is reserved once the chunk is known not to be tiny.
            if chunk.capacity() < CHUNK && chunk.len() > CHUNK / 16 {
                chunk.reserve_exact(CHUNK + CHUNK / 4 - chunk.len());
            }
        }
        if chunk.is_empty() { self.rest.next() } else { Some(chunk.into()) }
    }
}
