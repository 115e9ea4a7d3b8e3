//! A snapshot as JSON, for programs: what `/api/v1/leases` answers, and `/api/v1/leases/{source}/{lease}` of one lease.
//!
//! `leases.schema.json` beside this file is the schema of both, as JSON Schema. It is version 1. Within a version, members
//! are only ever added, never renamed, removed or given another meaning; label values (`state`, `reason` and the like) are
//! those of the metrics.
//!
//! - All leases are `{"version": 1, "sources": [{…, "leases": [{…}, …]}, …]}`. One lease is what its source's member of
//!   that list is, with `version` before it and `lease` in the place of `leases`.
//! - What is not known is `null`, never 0. Every member is always there.
//! - An age is `{"at_least": seconds, "at_most": seconds or null}`: bounds, as of the reading and on the store's
//!   clock. An age of which nothing is known is `null`.
//! - An epoch is a string of decimal digits: it is an exact integer, and a number beyond 2^53 would be rounded by
//!   JavaScript and by many JSON readers.
//! - A time is in Unix seconds, as the store has it.
//! - A holder is the token that stands for it everywhere; its name never leaves the exporter.

mod lease;

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;

use crate::lease::{ReadFailure, RecordFault, SourceSnapshot};
use lease::Lease;

/// The version of the schema.
pub const VERSION: u32 = 1;

/// The schema, as JSON Schema 2020-12.
pub const SCHEMA: &str = include_str!("leases.schema.json");

/// What stands before the first source of a document.
pub(crate) const DOCUMENT_START: &[u8] = b"{\"version\":1,\"sources\":[";
/// The separator of two sources, or of two leases.
pub(crate) const SEPARATOR: &[u8] = b",";
/// What stands after the last source.
pub(crate) const DOCUMENT_END: &[u8] = b"]}\n";

/// So many leases are written to one piece: some 64 kB.
const LEASES_PER_CHUNK: usize = 64;

/// One source as it stands in a document, in pieces that are written when they are asked for.
#[derive(Debug)]
pub(crate) struct SourceChunks {
    snapshot: Arc<SourceSnapshot>,
    /// The first lease of the next piece; `None` once all is written.
    next: Option<usize>,
}

impl SourceChunks {
    /// The pieces of this source.
    pub(crate) const fn new(snapshot: Arc<SourceSnapshot>) -> Self {
        Self { snapshot, next: Some(0) }
    }

    fn write(&self, out: &mut Vec<u8>, from: usize, to: usize) -> serde_json::Result<()> {
        if from == 0 {
            serde_json::to_writer(&mut *out, &Health::of(&self.snapshot))?;
            // The leases are the last member of the same object.
            out.pop();
            out.extend_from_slice(b",\"leases\":[");
        }
        for (at, status) in (from..to).zip(&self.snapshot.leases[from..to]) {
            if at > 0 {
                out.extend_from_slice(SEPARATOR);
            }
            serde_json::to_writer(&mut *out, &Lease::of(status))?;
        }
        if to == self.snapshot.leases.len() {
            out.extend_from_slice(b"]}");
        }
        Ok(())
    }
}

impl Iterator for SourceChunks {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        let from = self.next?;
        let to = self.snapshot.leases.len().min(from + LEASES_PER_CHUNK);
        self.next = (to < self.snapshot.leases.len()).then_some(to);
        let mut piece = Vec::new();
        if let Err(error) = self.write(&mut piece, from, to) {
            // No such value is known. The document ends early, so that no reader takes it for whole.
            tracing::error!(%error, "the JSON could not be written");
            self.next = None;
            return None;
        }
        Some(piece.into())
    }
}

/// All sources with all their leases, in pieces that are written when they are asked for.
#[derive(Debug)]
pub(crate) struct DocumentChunks {
    sources: std::vec::IntoIter<Arc<SourceSnapshot>>,
    current: Option<SourceChunks>,
    /// The text before the next source; `None` once the document has ended.
    separator: Option<&'static [u8]>,
}

impl DocumentChunks {
    /// The document of these sources.
    pub(crate) fn new(sources: Vec<Arc<SourceSnapshot>>) -> Self {
        Self { sources: sources.into_iter(), current: None, separator: Some(DOCUMENT_START) }
    }
}

impl Iterator for DocumentChunks {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        if let Some(piece) = self.current.as_mut().and_then(SourceChunks::next) {
            return Some(piece);
        }
        let separator = self.separator?;
        self.current = self.sources.next().map(SourceChunks::new);
        if self.current.is_some() {
            self.separator = Some(SEPARATOR);
            return Some(Bytes::from_static(separator));
        }
        self.separator = None;
        Some(match separator {
            DOCUMENT_START => [DOCUMENT_START, DOCUMENT_END].concat().into(),
            _ => Bytes::from_static(DOCUMENT_END),
        })
    }
}

/// Writes all sources with all their leases.
#[must_use]
pub fn to_vec(snapshots: &[Arc<SourceSnapshot>]) -> Vec<u8> {
    DocumentChunks::new(snapshots.to_vec()).collect::<Vec<_>>().concat()
}

/// Writes one lease of a source. Nothing, if the source has none of that name.
///
/// # Errors
/// None that is known: every value that is written here can be.
pub fn lease_to_vec(snapshot: &SourceSnapshot, lease: &str) -> Option<serde_json::Result<Vec<u8>>> {
    let document = LeaseDocument::of(snapshot, lease)?;
    Some(serde_json::to_vec(&document).map(|mut json| {
        json.push(b'\n');
        json
    }))
}

#[derive(Serialize)]
struct LeaseDocument<'a> {
    version: u32,
    #[serde(flatten)]
    source: Health<'a>,
    lease: Lease<'a>,
}

impl<'a> LeaseDocument<'a> {
    fn of(snapshot: &'a SourceSnapshot, lease: &str) -> Option<Self> {
        let status = snapshot.leases.iter().find(|status| *status.lease == *lease)?;
        Some(Self { version: VERSION, source: Health::of(snapshot), lease: Lease::of(status) })
    }
}

/// One source, as the last reading showed it.
#[derive(Serialize)]
struct Health<'a> {
    source: &'a str,
    /// What holding one of its leases means: `standing`, `registry` or `claim`.
    kind: &'static str,
    /// Whether it could be read.
    up: bool,
    /// If not, why not.
    failure: Option<&'static str>,
    /// How long the read took.
    read_seconds: f64,
    /// The store's clock less the exporter's.
    clock_offset_seconds: Option<f64>,
    /// How many leases the reading showed. There may be more below: known ones that it did not show.
    leases_read: Option<u64>,
    /// Rows not used in this reading, and since the exporter started by why.
    rows_rejected: u64,
    rows_rejected_total: RowsRejected,
    /// Failed reads since the exporter started, by why.
    read_failures_total: ReadFailures,
}

impl<'a> Health<'a> {
    fn of(snapshot: &'a SourceSnapshot) -> Self {
        let health = &snapshot.health;
        Self {
            source: &snapshot.source,
            kind: snapshot.kind.as_str(),
            up: health.outcome.is_ok(),
            failure: health.outcome.err().map(ReadFailure::as_str),
            read_seconds: health.duration.as_secs_f64(),
            clock_offset_seconds: health.clock_offset,
            leases_read: health.leases,
            rows_rejected: health.rejected_now.total(),
            rows_rejected_total: RowsRejected(health.rejected),
            read_failures_total: ReadFailures(health.failures),
        }
    }
}

struct RowsRejected([u64; RecordFault::ALL.len()]);

impl Serialize for RowsRejected {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(RecordFault::ALL.iter().zip(&self.0).map(|(fault, count)| (fault.as_str(), count)))
    }
}

struct ReadFailures([u64; ReadFailure::ALL.len()]);

impl Serialize for ReadFailures {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(ReadFailure::ALL.iter().zip(&self.0).map(|(failure, count)| (failure.as_str(), count)))
    }
}

#[cfg(test)]
mod tests;
