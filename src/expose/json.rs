//! A snapshot as JSON, for programs: the responses of `/api/v1/leases` and `/api/v1/leases/{source}/{lease}`.
//!
//! `leases.schema.json` beside this file is the JSON Schema of both. Its version is 1. Within a version, members are only
//! added, never renamed, removed or given another meaning. Label values (`state`, `reason` and so on) are those of the
//! metrics.
//!
//! - The document of all leases is `{"version": 1, "sources": [{…, "leases": [{…}, …]}, …]}`. The document of one lease is
//!   the object of its source, with `version` added and `lease` instead of `leases`.
//! - A value that is not known is `null`, never 0. Every member is always present.
//! - An age is `{"at_least": seconds, "at_most": seconds or null}`: bounds as of the reading, on the store's clock. An age
//!   of which nothing is known is `null`.
//! - An epoch is a string of decimal digits, because JavaScript and many JSON parsers round integers beyond 2^53.
//! - A time is in Unix seconds, as stored.
//! - A holder is shown as its token. Its name never leaves the exporter.

mod lease;

use std::fmt::Display;
use std::iter::once;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Serialize, Serializer};

use crate::lease::{LeaseKind, ReadFailure, RecordFault, SourceSnapshot};
use lease::Lease;

/// The version of the schema.
pub const VERSION: u32 = 1;

/// The schema, as JSON Schema 2020-12.
pub const SCHEMA: &str = include_str!("leases.schema.json");

/// The text before the first source of a document.
pub(crate) const DOCUMENT_START: &[u8] = b"{\"version\":1,\"sources\":[";
/// The text between two sources, or two leases.
pub(crate) const SEPARATOR: &[u8] = b",";
/// The text after the last source.
pub(crate) const DOCUMENT_END: &[u8] = b"]}\n";

/// The number of leases in a chunk of about 64 kB.
const LEASES_PER_CHUNK: usize = 64;

/// The document of all sources with all their leases. Each chunk is written when it is asked for.
pub(crate) fn document_chunks(sources: Vec<Arc<SourceSnapshot>>) -> impl Iterator<Item = Bytes> {
    let sources = sources.into_iter().enumerate().flat_map(|(at, source)| {
        let separator = (at > 0).then_some(Bytes::from_static(SEPARATOR));
        separator.into_iter().chain(source_chunks(source))
    });
    once(Bytes::from_static(DOCUMENT_START)).chain(sources).chain(once(Bytes::from_static(DOCUMENT_END)))
}

/// The object of one source in a document. Each chunk is written when it is asked for.
pub(crate) fn source_chunks(source: Arc<SourceSnapshot>) -> impl Iterator<Item = Bytes> {
    let starts = (0..source.leases.len().max(1)).step_by(LEASES_PER_CHUNK);
    starts.map_while(move |start| {
        let mut chunk = Vec::new();
        let written = write_leases(&mut chunk, &source, start);
        // No value is known that serde cannot write. If there were one, the object would stay unclosed, so that no client
        // takes it for complete.
        written.inspect_err(|error| tracing::error!(%error, "the JSON could not be written")).ok()?;
        Some(chunk.into())
    })
}

/// Writes a chunk of leases, with the members of the source before the first and the end of the object after the last.
fn write_leases(out: &mut Vec<u8>, source: &SourceSnapshot, start: usize) -> serde_json::Result<()> {
    let end = source.leases.len().min(start + LEASES_PER_CHUNK);
    if start == 0 {
        serde_json::to_writer(&mut *out, &SourceHealth::of(source))?;
        // The leases become the last member of this object.
        out.pop();
        out.extend_from_slice(b",\"leases\":[");
    }
    for (at, status) in (start..end).zip(&source.leases[start..end]) {
        if at > 0 {
            out.extend_from_slice(SEPARATOR);
        }
        serde_json::to_writer(&mut *out, &Lease::of(status))?;
    }
    if end == source.leases.len() {
        out.extend_from_slice(b"]}");
    }
    Ok(())
}

/// The document of one lease; `None` if the source has no lease of that name.
///
/// # Errors
/// A value cannot be written as JSON. No such value is known.
pub fn lease_to_vec(snapshot: &SourceSnapshot, lease: &str) -> Option<serde_json::Result<Vec<u8>>> {
    let document = LeaseDocument::of(snapshot, lease)?;
    Some(serde_json::to_vec(&document).map(|json| [json, b"\n".to_vec()].concat()))
}

#[derive(Serialize)]
struct LeaseDocument<'a> {
    version: u32,
    #[serde(flatten)]
    source: SourceHealth<'a>,
    lease: Lease<'a>,
}

impl<'a> LeaseDocument<'a> {
    fn of(snapshot: &'a SourceSnapshot, lease: &str) -> Option<Self> {
        let status = snapshot.leases.iter().find(|status| *status.lease == *lease)?;
        Some(Self { version: VERSION, source: SourceHealth::of(snapshot), lease: Lease::of(status) })
    }
}

/// One source and its last reading.
#[derive(Serialize)]
struct SourceHealth<'a> {
    source: &'a str,
    /// The meaning of a held lease: `standing`, `registry` or `claim`.
    kind: AsString<LeaseKind>,
    up: bool,
    failure: Option<AsString<ReadFailure>>,
    read_seconds: f64,
    /// The store's clock minus the exporter's.
    clock_offset_seconds: Option<f64>,
    /// The number of leases in the reading. `leases` may have more: known leases that this reading does not have.
    leases_read: Option<u64>,
    rows_rejected: u64,
    /// Rows rejected since the exporter started, by cause.
    rows_rejected_total: CountMap<RecordFault>,
    /// Failed reads since the exporter started, by cause.
    read_failures_total: CountMap<ReadFailure>,
}

impl<'a> SourceHealth<'a> {
    fn of(snapshot: &'a SourceSnapshot) -> Self {
        let health = &snapshot.health;
        Self {
            source: &snapshot.source,
            kind: AsString(snapshot.kind),
            up: health.outcome.is_ok(),
            failure: health.outcome.err().map(AsString),
            read_seconds: health.duration.as_secs_f64(),
            clock_offset_seconds: health.clock_offset,
            leases_read: health.leases,
            rows_rejected: health.rejected_now.total(),
            rows_rejected_total: CountMap(RecordFault::ALL.into_iter().zip(health.rejected).collect()),
            read_failures_total: CountMap(ReadFailure::ALL.into_iter().zip(health.failures).collect()),
        }
    }
}

/// A value as the string that `Display` makes of it.
struct AsString<T>(T);

impl<T: Display> Serialize for AsString<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// Counts as an object with a member for each label.
struct CountMap<T>(Vec<(T, u64)>);

impl<T: Display> Serialize for CountMap<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(label, count)| (AsString(label), count)))
    }
}

#[cfg(test)]
mod tests;
