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

use serde::Serialize;

use super::json_lease::Lease;
use crate::lease::{ReadFailure, RowFault, SourceSnapshot};

/// The version of the schema.
pub const VERSION: u32 = 1;

/// The schema, as JSON Schema 2020-12.
pub const SCHEMA: &str = include_str!("leases.schema.json");

/// Writes all sources with all their leases.
///
/// # Errors
/// None that is known: every value that is written here can be.
pub fn to_vec(snapshots: &[&SourceSnapshot]) -> serde_json::Result<Vec<u8>> {
    let mut json = serde_json::to_vec(&Document::of(snapshots))?;
    json.push(b'\n');
    Ok(json)
}

/// What stands before the first source of a document.
pub(crate) const BEFORE: &[u8] = b"{\"version\":1,\"sources\":[";
/// What stands between two sources.
pub(crate) const BETWEEN: &[u8] = b",";
/// What stands after the last source.
pub(crate) const AFTER: &[u8] = b"]}\n";

/// Writes one source as it stands in a document, which then need not be made as a whole.
///
/// # Errors
/// None that is known: every value that is written here can be.
pub(crate) fn source_to_vec(snapshot: &SourceSnapshot) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&Source::of(snapshot))
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
struct Document<'a> {
    version: u32,
    sources: Vec<Source<'a>>,
}

impl<'a> Document<'a> {
    fn of(snapshots: &[&'a SourceSnapshot]) -> Self {
        Self { version: VERSION, sources: snapshots.iter().map(|snapshot| Source::of(snapshot)).collect() }
    }
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

/// One source with its leases.
#[derive(Serialize)]
struct Source<'a> {
    #[serde(flatten)]
    source: Health<'a>,
    leases: Vec<Lease<'a>>,
}

impl<'a> Source<'a> {
    fn of(snapshot: &'a SourceSnapshot) -> Self {
        Self { source: Health::of(snapshot), leases: snapshot.leases.iter().map(Lease::of).collect() }
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
            read_seconds: health.took.as_secs_f64(),
            clock_offset_seconds: health.clock_offset,
            leases_read: health.leases,
            rows_rejected: health.rejected_now.total(),
            rows_rejected_total: RowsRejected(health.rejected),
            read_failures_total: ReadFailures(health.failures),
        }
    }
}

struct RowsRejected([u64; RowFault::ALL.len()]);

impl Serialize for RowsRejected {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(RowFault::ALL.iter().zip(&self.0).map(|(fault, count)| (fault.as_str(), count)))
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
