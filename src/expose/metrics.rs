//! The metrics of the sources, in both text formats, plain or compressed.
//!
//! The plain text is never kept: [`MetricsChunks`] writes it in chunks of about 64 KiB while the response is sent. Only the
//! compressed form is kept ([`CompressedMetrics`]), in blocks of 512 leases of one family. A block whose values are those of
//! the previous reading is reused. Most blocks are: states, limits, epochs and stored times seldom change, only ages do.

mod compressed;
mod labels;
mod lines;
mod text;

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::Format;
use super::catalogue::{CATALOGUE, Family, Samples, Subject};
use super::gzip::GzipPart;
use crate::lease::{SourceSnapshot, Status};
use labels::Labels;

pub use compressed::CompressedMetrics;
pub use text::MetricsChunks;

/// The number of leases of one family in a compressed block.
const BLOCK: usize = 512;

/// The families that are exposed.
#[derive(Clone, Debug)]
pub struct Exposition {
    /// The families of leases, which come first.
    lease_families: Arc<[FamilyRenderer<Status>]>,
    source_families: Arc<[FamilyRenderer<SourceSnapshot>]>,
}

/// Renders one family. Text that is the same in every reading is made once.
#[derive(Debug)]
struct FamilyRenderer<T: 'static> {
    name: &'static str,
    samples: &'static Samples<T>,
    /// The `# HELP` and `# TYPE` lines in each format.
    headers: [GzipPart; Format::ALL.len()],
    /// `,label="value"} ` for each value of a label with a fixed set of values.
    label_values: Box<[Box<[u8]>]>,
}

/// One reading of one source, to be rendered as metrics.
#[derive(Debug)]
pub struct SourceMetrics {
    snapshot: Arc<SourceSnapshot>,
    /// Made by the first rendering that needs them.
    labels: OnceLock<Labels>,
}

impl Exposition {
    /// All families of the catalogue except those for which `is_dropped` holds.
    pub fn without(is_dropped: impl Fn(&str) -> bool) -> Self {
        let (mut lease_families, mut source_families) = (Vec::new(), Vec::new());
        for family in CATALOGUE.iter().filter(|family| !is_dropped(family.name)) {
            match &family.subject {
                Subject::Lease(samples) => lease_families.push(FamilyRenderer::new(family, samples)),
                Subject::Source(samples) => source_families.push(FamilyRenderer::new(family, samples)),
            }
        }
        Self { lease_families: lease_families.into(), source_families: source_families.into() }
    }
}

impl<T> FamilyRenderer<T> {
    fn new(family: &'static Family, samples: &'static Samples<T>) -> Self {
        let (label, values) = samples.label().unwrap_or_default();
        let label_value = |value: &&str| format!(",{label}=\"{value}\"}} ").into_bytes().into_boxed_slice();
        Self {
            name: family.name,
            samples,
            headers: Format::ALL.map(|format| GzipPart::stored(family.metadata().header(format).into())),
            label_values: values.iter().map(label_value).collect(),
        }
    }

    const fn header(&self, format: Format) -> &GzipPart {
        &self.headers[format as usize]
    }
}

impl FamilyRenderer<Status> {
    fn write_leases(&self, out: &mut Vec<u8>, metrics: &SourceMetrics, leases: Range<usize>) {
        let labels = metrics.labels();
        for at in leases {
            self.write(out, labels.lease(at), &metrics.snapshot.leases[at]);
        }
    }
}

impl FamilyRenderer<SourceSnapshot> {
    fn write_source(&self, out: &mut Vec<u8>, metrics: &SourceMetrics) {
        self.write(out, metrics.labels().source(), &metrics.snapshot);
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

/// Appends what `write` appends, preceded by the header of the family unless that is written already. A family without any
/// line gets no header.
fn write_with_header<T: Clone>(out: &mut Vec<T>, header: &[T], has_header: &mut bool, write: impl FnOnce(&mut Vec<T>)) {
    let start = out.len();
    if !*has_header {
        out.extend_from_slice(header);
    }
    let lines = out.len();
    write(out);
    if out.len() > lines {
        *has_header = true;
    } else {
        out.truncate(start);
    }
}

#[cfg(test)]
mod tests;
