//! The compressed metrics of one reading of one source, and the gzip stream of several sources.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use flate2::{CompressError, Compression};

use super::{BLOCK, Exposition, FamilyRenderer, SourceMetrics, write_with_header};
use crate::expose::Format;
use crate::expose::gzip::{self, Compressor, DEFAULT_LEVEL, FASTEST_LEVEL, GzipPart};
use crate::lease::Status;

/// The compressed lease lines of one reading of one source, each family in blocks of 512 leases.
#[derive(Debug)]
pub struct CompressedMetrics {
    pub(super) families: Box<[CompressedFamily]>,
    /// Has a random key for each source, so that a writer of the store cannot choose values with equal hashes.
    hasher: RandomState,
    /// The exposition to which the families belong.
    exposition: Exposition,
}

#[derive(Clone, Debug)]
pub(super) struct CompressedFamily {
    /// All blocks in order; `None` if no lease has a line.
    part: Option<GzipPart>,
    pub(super) blocks: Arc<[Block]>,
}

/// The lines of one family for a block of leases.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// The hash of all labels and values of the block.
    fingerprint: u64,
    /// `None` if none of these leases has a line.
    pub(super) part: Option<GzipPart>,
}

impl Exposition {
    /// Compresses the lease lines of one reading. Blocks with the same values as in `previous`, an earlier reading of the
    /// same source, are reused.
    ///
    /// # Errors
    /// The compressor failed, which cannot happen with input of the exporter's own.
    pub fn compress(
        &self,
        metrics: &SourceMetrics,
        previous: Option<&CompressedMetrics>,
    ) -> Result<CompressedMetrics, CompressError> {
        let previous =
            previous.filter(|previous| Arc::ptr_eq(&previous.exposition.lease_families, &self.lease_families));
        let hasher = previous.map_or_else(RandomState::new, |previous| previous.hasher.clone());
        // A block that changed since the previous reading will most likely change again: compressing it well does not pay.
        let level = if previous.is_some() { FASTEST_LEVEL } else { DEFAULT_LEVEL };
        let mut writer = BlockWriter { metrics, hasher: &hasher, level, compressor: None, scratch: Vec::new() };
        let leases = metrics.snapshot.leases.len();
        let mut families: Vec<Vec<Block>> = Vec::new();
        families.resize_with(self.lease_families.len(), || Vec::with_capacity(leases.div_ceil(BLOCK)));
        // Block by block, so that the leases of a block stay in the CPU cache while all families are written.
        for (at, from) in (0..leases).step_by(BLOCK).enumerate() {
            let range = from..leases.min(from + BLOCK);
            let label_hash = hasher.hash_one(metrics.labels().leases(&range));
            for (index, (family, blocks)) in self.lease_families.iter().zip(&mut families).enumerate() {
                let previous = previous.and_then(|previous| previous.families.get(index)?.blocks.get(at));
                blocks.push(writer.block(family, range.clone(), label_hash, previous)?);
            }
        }
        let families = families.into_iter().enumerate().map(|(index, blocks)| {
            CompressedFamily::of(blocks, previous.and_then(|previous| previous.families.get(index)))
        });
        let families = families.collect();
        Ok(CompressedMetrics { families, hasher, exposition: self.clone() })
    }

    /// One gzip stream of several sources, family by family, followed by `rest`. The lease lines are neither copied nor
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
        for (index, family) in self.lease_families.iter().enumerate() {
            write_with_header(&mut parts, &[family.header(format)], &mut false, |parts| {
                parts.extend(sources.iter().filter_map(|(_, source)| source.families.get(index)?.part.as_ref()));
            });
        }
        let mut source_lines = Vec::new();
        for family in self.source_families.iter() {
            write_with_header(&mut source_lines, family.header(format).text(), &mut false, |out| {
                sources.iter().for_each(|(metrics, _)| family.write_source(out, metrics));
            });
        }
        gzip::stream(parts, std::iter::once(&Bytes::from(source_lines)).chain(rest))
    }
}

struct BlockWriter<'a> {
    metrics: &'a SourceMetrics,
    hasher: &'a RandomState,
    level: Compression,
    /// Made when the first block has to be compressed, because it takes 300 kB.
    compressor: Option<Compressor>,
    scratch: Vec<u8>,
}

impl BlockWriter<'_> {
    /// The block of one family for these leases. Returns `previous` if its values are the same.
    fn block(
        &mut self,
        family: &FamilyRenderer<Status>,
        leases: Range<usize>,
        label_hash: u64,
        previous: Option<&Block>,
    ) -> Result<Block, CompressError> {
        let fingerprint = self.fingerprint(family, leases.clone(), label_hash);
        match previous.filter(|block| block.fingerprint == fingerprint) {
            Some(block) => Ok(block.clone()),
            None => Ok(Block { fingerprint, part: self.compress(family, leases)? }),
        }
    }

    fn fingerprint(&mut self, family: &FamilyRenderer<Status>, leases: Range<usize>, label_hash: u64) -> u64 {
        self.scratch.clear();
        self.scratch.extend_from_slice(&label_hash.to_ne_bytes());
        for status in &self.metrics.snapshot.leases[leases] {
            family.write_values(&mut self.scratch, status);
        }
        let mut hasher = self.hasher.build_hasher();
        hasher.write(&self.scratch);
        hasher.finish()
    }

    fn compress(
        &mut self,
        family: &FamilyRenderer<Status>,
        leases: Range<usize>,
    ) -> Result<Option<GzipPart>, CompressError> {
        self.scratch.clear();
        family.write_leases(&mut self.scratch, self.metrics, leases);
        if self.scratch.is_empty() {
            return Ok(None);
        }
        let level = self.level;
        self.compressor.get_or_insert_with(|| Compressor::new(level)).part([&*self.scratch]).map(Some)
    }
}

impl CompressedFamily {
    /// The family of these blocks. Returns a clone of `previous` if all its blocks are the same.
    fn of(blocks: Vec<Block>, previous: Option<&Self>) -> Self {
        let is_same = |previous: &&Self| {
            let fingerprint = |block: &Block| block.fingerprint;
            previous.blocks.iter().map(fingerprint).eq(blocks.iter().map(fingerprint))
        };
        match previous.filter(is_same) {
            Some(previous) => previous.clone(),
            None => Self {
                part: GzipPart::joined(blocks.iter().filter_map(|block| block.part.as_ref())),
                blocks: blocks.into(),
            },
        }
    }
}
