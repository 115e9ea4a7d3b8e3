//! The plain text of several sources, written in pieces as they are sent.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::{Exposition, SourceMetrics};
use crate::expose::Format;

/// A piece ends with the first group of leases that makes it this long.
const PIECE: usize = 64 * 1024;
/// So many leases are written between two looks at a piece's length.
const GROUP: usize = 64;

/// The metrics of several sources, family by family, in one text format, and then a rest. Each piece is written when it
/// is asked for, so that a client that reads slowly holds one piece and not the text.
#[derive(Debug)]
pub struct MetricsChunks {
    exposition: Exposition,
    format: Format,
    sources: Vec<Arc<SourceMetrics>>,
    next: Position,
    rest: std::vec::IntoIter<Bytes>,
}

/// The next lines to be written.
#[derive(Clone, Copy, Debug)]
struct Position {
    /// The family: those of leases come first.
    family: usize,
    source: usize,
    lease: usize,
    /// Whether the header of the family is written.
    headed: bool,
}

impl Exposition {
    /// The text of these sources, with `rest` at its end.
    #[must_use]
    pub fn text(&self, format: Format, sources: Vec<Arc<SourceMetrics>>, rest: Vec<Bytes>) -> MetricsChunks {
        let next = Position { family: 0, source: 0, lease: 0, headed: false };
        MetricsChunks { exposition: self.clone(), format, sources, next, rest: rest.into_iter() }
    }
}

impl MetricsChunks {
    /// Writes the next lines: some leases of one source in one family, or a source's own. `false` after the last.
    fn write_next(&mut self, out: &mut Vec<u8>) -> bool {
        let lease_families = self.exposition.lease_families.len();
        let Position { family, source, lease, headed } = self.next;
        if family >= lease_families + self.exposition.source_families.len() {
            return false;
        }
        let Some(metrics) = self.sources.get(source) else {
            self.next = Position { family: family + 1, source: 0, lease: 0, headed: false };
            return true;
        };
        let before = out.len();
        let leases = &metrics.snapshot.leases;
        let mut written = 0..leases.len();
        if let Some(exposed) = self.exposition.lease_families.get(family) {
            written = lease..leases.len().min(lease + GROUP);
            if !headed {
                out.extend_from_slice(exposed.header(self.format).text());
            }
            let headed_at = out.len();
            let labels = metrics.labels();
            for (at, status) in written.clone().zip(&leases[written.clone()]) {
                exposed.write(out, labels.lease(at), status);
            }
            self.end_group(out, before, headed_at);
        } else if let Some(exposed) = self.exposition.source_families.get(family - lease_families) {
            if !headed {
                out.extend_from_slice(exposed.header(self.format).text());
            }
            let headed_at = out.len();
            exposed.write(out, metrics.labels().source(), &metrics.snapshot);
            self.end_group(out, before, headed_at);
        }
        self.advance(&written);
        true
    }

    /// Takes a header back that no line followed.
    fn end_group(&mut self, out: &mut Vec<u8>, before: usize, headed_at: usize) {
        if out.len() > headed_at {
            self.next.headed = true;
        } else {
            out.truncate(before);
        }
    }

    fn advance(&mut self, written: &Range<usize>) {
        let leases = self.sources.get(self.next.source).map_or(0, |metrics| metrics.snapshot.leases.len());
        if written.end < leases {
            self.next.lease = written.end;
        } else {
            self.next.lease = 0;
            self.next.source += 1;
        }
    }
}

impl Iterator for MetricsChunks {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        let mut piece = Vec::new();
        while piece.len() < PIECE && self.write_next(&mut piece) {
            if piece.capacity() == 0 {
                continue;
            }
            // Once something is written, the rest of the piece gets its room at once.
            if piece.capacity() < PIECE && piece.len() > PIECE / 16 {
                piece.reserve_exact(PIECE + PIECE / 4 - piece.len());
            }
        }
        if piece.is_empty() { self.rest.next() } else { Some(piece.into()) }
    }
}
