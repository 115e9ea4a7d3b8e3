//! The compressed metrics of one reading of one source, and sources joined to one gzip stream.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use bytes::Bytes;
use flate2::CompressError;

use super::{BLOCK, ExposedFamily, Exposition, SourceMetrics};
use crate::expose::Format;
use crate::expose::catalogue::OfLease;
use crate::expose::gzip::{self, Compressor, Part};

/// The compressed lines of one reading of one source: each family of leases in blocks of [`BLOCK`] leases.
#[derive(Debug)]
pub struct CompressedMetrics {
    families: Box<[CompressedFamily]>,
    /// Keyed at random once a source, so that nobody who writes the store can choose values that look alike.
    hasher: RandomState,
    /// The exposition that the families belong to.
    exposition: Exposition,
}

/// The lines of one family.
#[derive(Clone, Debug)]
struct CompressedFamily {
    /// All blocks, in the order of leases; `None` where no lease has a line.
    part: Option<Part>,
    blocks: Arc<[Block]>,
}

/// The lines of one family for a block of leases.
#[derive(Clone, Debug)]
struct Block {
    /// The hash of all values and labels in it.
    fingerprint: u64,
    /// `None` where none of these leases has a line.
    part: Option<Part>,
}

impl Exposition {
    /// Compresses the metrics of one reading. A block whose values are those of `previous`, the reading compressed before
    /// it, is taken from there.
    ///
    /// # Errors
    /// None that is known: the compressor has no other input than the exporter's own.
    pub fn compress(
        &self,
        metrics: &SourceMetrics,
        previous: Option<&CompressedMetrics>,
    ) -> Result<CompressedMetrics, CompressError> {
        let previous = previous.filter(|previous| previous.is_of(self));
        let hasher = previous.map_or_else(RandomState::new, |previous| previous.hasher.clone());
        let mut writer = BlockWriter { metrics, hasher: &hasher, compressor: None, scratch: Vec::new() };
        let labels = writer.label_hashes();
        let mut families = Vec::with_capacity(self.lease_families.len());
        for (at, exposed) in self.lease_families.iter().enumerate() {
            let previous = previous.and_then(|previous| previous.families.get(at));
            families.push(writer.family(exposed, &labels, previous)?);
        }
        Ok(CompressedMetrics { families: families.into(), hasher, exposition: self.clone() })
    }

    /// Several sources joined to one gzip stream, family by family, with `rest` at its end. No line of a lease is copied or
    /// compressed again.
    ///
    /// # Errors
    /// As for [`Self::compress`].
    pub fn joined_gzip(
        &self,
        format: Format,
        sources: &[(&SourceMetrics, &CompressedMetrics)],
        rest: &[Bytes],
    ) -> Result<Vec<Bytes>, CompressError> {
        let mut parts = Vec::new();
        for (at, exposed) in self.lease_families.iter().enumerate() {
            let of_sources = sources.iter().filter_map(|(_, compressed)| compressed.families.get(at)?.part.as_ref());
            let headed = parts.len();
            parts.extend(of_sources);
            if parts.len() > headed {
                parts.insert(headed, exposed.header(format));
            }
        }
        let mut of_sources = Vec::new();
        for exposed in self.source_families.iter() {
            of_sources.extend_from_slice(exposed.header(format).text());
            let headed_at = of_sources.len();
            for (metrics, _) in sources {
                exposed.write(&mut of_sources, metrics.labels().source(), &metrics.snapshot);
            }
            if of_sources.len() == headed_at {
                of_sources.truncate(headed_at - exposed.header(format).text().len());
            }
        }
        let rest: Vec<Bytes> = std::iter::once(of_sources.into()).chain(rest.iter().cloned()).collect();
        gzip::stream(parts, &rest)
    }
}

impl CompressedMetrics {
    /// Whether it has the families of this exposition.
    fn is_of(&self, exposition: &Exposition) -> bool {
        Arc::ptr_eq(&self.exposition.lease_families, &exposition.lease_families)
    }

    /// The bytes of each block that has a line.
    #[cfg(test)]
    pub(super) fn blocks(&self) -> impl Iterator<Item = Bytes> {
        self.families
            .iter()
            .flat_map(|family| family.blocks.iter())
            .filter_map(|block| block.part.as_ref())
            .map(Part::bytes)
    }
}

/// Writes and compresses the blocks of one reading.
struct BlockWriter<'a> {
    metrics: &'a SourceMetrics,
    hasher: &'a RandomState,
    /// Made when the first block has to be compressed: it takes 300 kB.
    compressor: Option<Compressor>,
    scratch: Vec<u8>,
}

impl BlockWriter<'_> {
    /// The hash of each block's labels.
    fn label_hashes(&self) -> Vec<u64> {
        let (labels, leases) = (self.metrics.labels(), self.metrics.snapshot.leases.len());
        (0..leases)
            .step_by(BLOCK)
            .map(|from| self.hasher.hash_one(labels.leases(from, leases.min(from + BLOCK))))
            .collect()
    }

    fn family(
        &mut self,
        exposed: &ExposedFamily<OfLease>,
        labels: &[u64],
        previous: Option<&CompressedFamily>,
    ) -> Result<CompressedFamily, CompressError> {
        let previous_blocks = previous.map_or(&[][..], |previous| &previous.blocks);
        let mut changed = previous_blocks.len() != labels.len();
        let mut blocks = Vec::with_capacity(labels.len());
        for (at, label_hash) in labels.iter().enumerate() {
            let fingerprint = self.fingerprint(exposed, at, *label_hash);
            let kept = previous_blocks.get(at).filter(|block| block.fingerprint == fingerprint);
            blocks.push(match kept {
                Some(block) => block.clone(),
                None => {
                    changed = true;
                    Block { fingerprint, part: self.compress(exposed, at)? }
                }
            });
        }
        match previous {
            Some(previous) if !changed => Ok(previous.clone()),
            _ => {
                let parts = blocks.iter().filter_map(|block| block.part.as_ref());
                Ok(CompressedFamily { part: Part::joined(parts), blocks: blocks.into() })
            }
        }
    }

    fn fingerprint(&mut self, exposed: &ExposedFamily<OfLease>, block: usize, label_hash: u64) -> u64 {
        self.scratch.clear();
        self.scratch.extend_from_slice(&label_hash.to_ne_bytes());
        for status in self.metrics.snapshot.leases.iter().skip(block * BLOCK).take(BLOCK) {
            exposed.encode(&mut self.scratch, status);
        }
        let mut hasher = self.hasher.build_hasher();
        hasher.write(&self.scratch);
        hasher.finish()
    }

    fn compress(&mut self, exposed: &ExposedFamily<OfLease>, block: usize) -> Result<Option<Part>, CompressError> {
        self.scratch.clear();
        let labels = self.metrics.labels();
        let leases = self.metrics.snapshot.leases.iter().enumerate();
        for (at, status) in leases.skip(block * BLOCK).take(BLOCK) {
            exposed.write(&mut self.scratch, labels.lease(at), status);
        }
        if self.scratch.is_empty() {
            return Ok(None);
        }
        self.compressor.get_or_insert_with(Compressor::new).part([&*self.scratch]).map(Some)
    }
}

/// Any text as a gzip stream.
///
/// # Errors
/// As for [`Exposition::compress`].
pub fn gzip(text: &[Bytes]) -> Result<Vec<Bytes>, CompressError> {
    gzip::stream([], text)
}
