//! The compressed metrics of one reading of one source, and sources joined to one gzip stream.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use flate2::CompressError;

use super::{BLOCK, Exposition, FamilyRenderer, SourceMetrics};
use crate::expose::Format;
use crate::expose::catalogue::LeaseSamples;
use crate::expose::gzip::{self, CompressionLevel, Compressor, Part};

/// The compressed lines of one reading of one source: each family of leases in blocks of 512 leases.
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
        // A block that differs from the reading before will most likely differ from the next one too.
        let effort = if previous.is_some() { CompressionLevel::Fastest } else { CompressionLevel::Default };
        let mut writer = BlockWriter { metrics, hasher: &hasher, effort, compressor: None, scratch: Vec::new() };
        let leases = metrics.snapshot.leases.len();
        let mut families: Vec<Vec<Block>> = Vec::new();
        families.resize_with(self.lease_families.len(), || Vec::with_capacity(leases.div_ceil(BLOCK)));
        // Block by block, so that a block's leases stay in a core's cache while all families go through them.
        for (at, from) in (0..leases).step_by(BLOCK).enumerate() {
            let range = from..leases.min(from + BLOCK);
            let label_hash = hasher.hash_one(metrics.labels().leases(&range));
            for (family, (exposed, blocks)) in self.lease_families.iter().zip(&mut families).enumerate() {
                let kept = previous.and_then(|previous| previous.families.get(family)?.blocks.get(at));
                blocks.push(writer.block(exposed, range.clone(), label_hash, kept)?);
            }
        }
        let families = families.into_iter().enumerate().map(|(family, blocks)| {
            let kept = previous.and_then(|previous| previous.families.get(family));
            CompressedFamily::of(blocks, kept)
        });
        let families = families.collect();
        Ok(CompressedMetrics { families, hasher, exposition: self.clone() })
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
    effort: CompressionLevel,
    /// Made when the first block has to be compressed: it takes 300 kB.
    compressor: Option<Compressor>,
    scratch: Vec<u8>,
}

impl BlockWriter<'_> {
    /// The lines of one family for these leases: `kept`, if that has the same values.
    fn block(
        &mut self,
        exposed: &FamilyRenderer<LeaseSamples>,
        leases: Range<usize>,
        label_hash: u64,
        kept: Option<&Block>,
    ) -> Result<Block, CompressError> {
        let fingerprint = self.fingerprint(exposed, leases.clone(), label_hash);
        match kept.filter(|block| block.fingerprint == fingerprint) {
            Some(block) => Ok(block.clone()),
            None => Ok(Block { fingerprint, part: self.compress(exposed, leases)? }),
        }
    }

    fn fingerprint(&mut self, exposed: &FamilyRenderer<LeaseSamples>, leases: Range<usize>, label_hash: u64) -> u64 {
        self.scratch.clear();
        self.scratch.extend_from_slice(&label_hash.to_ne_bytes());
        for status in &self.metrics.snapshot.leases[leases] {
            exposed.encode(&mut self.scratch, status);
        }
        let mut hasher = self.hasher.build_hasher();
        hasher.write(&self.scratch);
        hasher.finish()
    }

    fn compress(
        &mut self,
        exposed: &FamilyRenderer<LeaseSamples>,
        leases: Range<usize>,
    ) -> Result<Option<Part>, CompressError> {
        self.scratch.clear();
        let labels = self.metrics.labels();
        for (at, status) in leases.clone().zip(&self.metrics.snapshot.leases[leases]) {
            exposed.write(&mut self.scratch, labels.lease(at), status);
        }
        if self.scratch.is_empty() {
            return Ok(None);
        }
        let effort = self.effort;
        self.compressor.get_or_insert_with(|| Compressor::new(effort)).part([&*self.scratch]).map(Some)
    }
}

impl CompressedFamily {
    /// The family of these blocks: `kept`, if that has the same.
    fn of(blocks: Vec<Block>, kept: Option<&Self>) -> Self {
        let same = |kept: &&Self| {
            let pairs = kept.blocks.iter().zip(&blocks);
            kept.blocks.len() == blocks.len()
                && pairs.into_iter().all(|(one, other)| one.fingerprint == other.fingerprint)
        };
        match kept.filter(same) {
            Some(kept) => kept.clone(),
            None => Self {
                part: Part::joined(blocks.iter().filter_map(|block| block.part.as_ref())),
                blocks: blocks.into(),
            },
        }
    }
}

/// Any text as a gzip stream.
///
/// # Errors
/// As for [`Exposition::compress`].
pub fn gzip(text: &[Bytes]) -> Result<Vec<Bytes>, CompressError> {
    gzip::stream([], text)
}
