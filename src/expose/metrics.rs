//! The metrics of one reading of one source, in both text formats, plain or compressed.
//!
//! Nothing of the plain text is kept: [`MetricsChunks`] writes it in pieces of some 64 KiB as they are sent. Only the
//! compressed form is kept, in blocks of 512 leases of one family ([`CompressedMetrics`]). A block whose values did
//! not change since the reading before keeps its bytes, which is true of most: state rows, limits, epochs and stored times
//! seldom change, ages always do.

mod compressed;
mod labels;
mod lines;
mod text;

use std::sync::{Arc, OnceLock};

use super::Format;
use super::catalogue::{CATALOGUE, Family, LeaseSamples, Samples, SourceSamples};
use super::gzip::Part;
use crate::lease::SourceSnapshot;
use labels::Labels;

pub use compressed::{CompressedMetrics, gzip};
pub use text::MetricsChunks;

/// How many leases of one family are compressed together.
pub(super) const BLOCK: usize = 512;

/// The families that are exposed, with all of their text that is the same for every reading.
#[derive(Clone, Debug)]
pub struct Exposition {
    /// The families of leases, in the order of exposition. Those of sources follow them.
    lease_families: Arc<[FamilyRenderer<LeaseSamples>]>,
    source_families: Arc<[FamilyRenderer<SourceSamples>]>,
}

/// One family with its constant text.
#[derive(Debug)]
struct FamilyRenderer<S: 'static> {
    name: &'static str,
    samples: &'static S,
    /// The lines that describe it, in each format.
    headers: [Part; Format::ALL.len()],
    /// The end of a line's labels: for each value of a closed set, with the label of that set.
    tails: Box<[Box<[u8]>]>,
}

/// One reading of one source, to be rendered as metrics.
#[derive(Debug)]
pub struct SourceMetrics {
    snapshot: Arc<SourceSnapshot>,
    /// Escaped when the first rendering needs them.
    labels: OnceLock<Labels>,
}

impl Exposition {
    /// All families of the catalogue but those whose names are `dropped`.
    pub fn without(dropped: impl Fn(&str) -> bool) -> Self {
        let families = || CATALOGUE.iter().filter(|family| !dropped(family.name));
        let of_leases = families().filter_map(|family| match &family.samples {
            Samples::Lease(samples) => Some(FamilyRenderer::new(family, samples, samples.label())),
            Samples::Source(_) => None,
        });
        let of_sources = families().filter_map(|family| match &family.samples {
            Samples::Source(samples) => Some(FamilyRenderer::new(family, samples, samples.label())),
            Samples::Lease(_) => None,
        });
        Self { lease_families: of_leases.collect(), source_families: of_sources.collect() }
    }
}

impl<S> FamilyRenderer<S> {
    fn new(family: &'static Family, samples: &'static S, label: Option<(&str, &[&str])>) -> Self {
        let (label, values) = label.unwrap_or_default();
        let tail = |value: &&str| format!(",{label}=\"{value}\"}} ").into_bytes().into_boxed_slice();
        Self {
            name: family.name,
            samples,
            headers: Format::ALL.map(|format| Part::stored(family.description().header(format).into())),
            tails: values.iter().map(tail).collect(),
        }
    }

    const fn header(&self, format: Format) -> &Part {
        &self.headers[format as usize]
    }
}

impl SourceMetrics {
    /// The metrics of this reading. Nothing is rendered yet.
    #[must_use]
    pub const fn new(snapshot: Arc<SourceSnapshot>) -> Self {
        Self { snapshot, labels: OnceLock::new() }
    }

    /// The reading.
    #[must_use]
    pub const fn snapshot(&self) -> &Arc<SourceSnapshot> {
        &self.snapshot
    }

    fn labels(&self) -> &Labels {
        self.labels.get_or_init(|| Labels::of(&self.snapshot))
    }
}

#[cfg(test)]
mod tests;
