//! Gzip streams made of parts that are compressed once and shared.
//!
//! A part is a run of whole DEFLATE blocks that ends on a byte boundary and refers to nothing before it. Parts can therefore
//! stand in a stream in any order and number. A stream is a header, the parts, a final block, and the checksum of the whole
//! text, which is combined from the checksums of the parts. So the lines of a source are compressed once a reading, whatever
//! the format and whichever other sources are in the response.

use std::sync::Arc;

use bytes::Bytes;
use flate2::{Compress, CompressError, Compression, Crc, FlushCompress};

/// The level for text that is sent more than once or is short. `benches/README.md` has the cost of each level.
pub(crate) const DEFAULT_LEVEL: Compression = Compression::new(2);

/// The level for text that changes with each reading: half the time for a third more bytes.
pub(crate) const FASTEST_LEVEL: Compression = Compression::new(1);

/// The header of a stream: DEFLATE, no name, no time, unknown operating system.
const HEADER: &[u8] = &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];

/// The length of the header of a stored block: its kind, its length and the complement of its length.
const STORED_HEADER_LEN: usize = 5;

/// By how much the output buffer grows, in bytes.
const OUTPUT_GROWTH: usize = 64 * 1024;

/// Responses below this size fit into one packet, so that compression gains nothing.
const MIN_COMPRESSED: u64 = 1_200;

/// The content encoding that a client accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Uncompressed.
    Identity,
    /// Compressed if that saves anything.
    Gzip,
    /// Always compressed, because the client refuses uncompressed responses.
    GzipRequired,
}

impl Encoding {
    /// Whether to compress a response of this length.
    #[must_use]
    pub const fn compresses(self, bytes: u64) -> bool {
        match self {
            Self::Identity => false,
            Self::Gzip => bytes >= MIN_COMPRESSED,
            Self::GzipRequired => true,
        }
    }
}

/// A part of a text, compressed by itself.
#[derive(Clone, Debug)]
pub(crate) struct GzipPart {
    pub(super) blocks: Arc<[Bytes]>,
    crc: Arc<Crc>,
}

impl GzipPart {
    /// A short text in a stored, that is uncompressed, block.
    pub(crate) fn stored(text: Bytes) -> Self {
        // Only headers of families and the frame of the JSON document are stored. A stored block holds up to 64 KiB.
        debug_assert!(text.len() <= usize::from(u16::MAX));
        #[expect(clippy::cast_possible_truncation, reason = "asserted above")]
        let length = (text.len() as u16).to_le_bytes();
        let mut crc = Crc::new();
        crc.update(&text);
        let block = [&[0, length[0], length[1], !length[0], !length[1]][..], &text].concat();
        Self { blocks: [block.into()].into(), crc: Arc::new(crc) }
    }

    /// The text of a stored part.
    pub(crate) fn text(&self) -> &[u8] {
        self.blocks.first().and_then(|block| block.get(STORED_HEADER_LEN..)).unwrap_or_default()
    }

    /// Several parts as one; `None` if there are none.
    pub(crate) fn joined<'a>(parts: impl Iterator<Item = &'a Self>) -> Option<Self> {
        let (mut blocks, mut crc) = (Vec::new(), Crc::new());
        for part in parts {
            blocks.extend_from_slice(&part.blocks);
            crc.combine(&part.crc);
        }
        (!blocks.is_empty()).then(|| Self { blocks: blocks.into(), crc: Arc::new(crc) })
    }
}

/// Compresses one text after another.
#[derive(Debug)]
pub(crate) struct Compressor {
    compress: Compress,
    /// The output buffer, reused for the next text.
    out: Vec<u8>,
}

impl Compressor {
    pub(crate) fn new(level: Compression) -> Self {
        Self { compress: Compress::new(level, false), out: Vec::new() }
    }

    /// Compresses a text, given in chunks, to a part.
    pub(crate) fn part<T: AsRef<[u8]>>(
        &mut self,
        chunks: impl IntoIterator<Item = T>,
    ) -> Result<GzipPart, CompressError> {
        let (bytes, crc) = self.run(chunks, FlushCompress::Sync)?;
        Ok(GzipPart { blocks: [bytes].into(), crc: Arc::new(crc) })
    }

    fn run<T: AsRef<[u8]>>(
        &mut self,
        chunks: impl IntoIterator<Item = T>,
        end: FlushCompress,
    ) -> Result<(Bytes, Crc), CompressError> {
        self.compress.reset();
        self.out.clear();
        let mut crc = Crc::new();
        for chunk in chunks {
            crc.update(chunk.as_ref());
            self.feed(chunk.as_ref(), FlushCompress::None)?;
        }
        self.feed(&[], end)?;
        // Copied to its exact length, because it is kept as long as the reading.
        Ok((Bytes::copy_from_slice(&self.out), crc))
    }

    /// Consumes all of the input and emits all output that this flush produces.
    fn feed(&mut self, mut input: &[u8], flush: FlushCompress) -> Result<(), CompressError> {
        loop {
            if self.out.capacity() - self.out.len() < OUTPUT_GROWTH / 2 {
                self.out.reserve(OUTPUT_GROWTH);
            }
            let before = self.compress.total_in();
            self.compress.compress_vec(input, &mut self.out, flush)?;
            let consumed = usize::try_from(self.compress.total_in() - before).unwrap_or(input.len());
            input = &input[consumed..];
            // If the buffer is not full, no output is pending.
            if input.is_empty() && self.out.len() < self.out.capacity() {
                return Ok(());
            }
        }
    }
}

/// A whole gzip stream: these parts, followed by `rest`, which is compressed here.
///
/// # Errors
/// The compressor failed, which cannot happen with input of the exporter's own.
pub(crate) fn stream<'a, T: AsRef<[u8]>>(
    parts: impl IntoIterator<Item = &'a GzipPart>,
    rest: impl IntoIterator<Item = T>,
) -> Result<Vec<Bytes>, CompressError> {
    let mut stream = vec![Bytes::from_static(HEADER)];
    let mut crc = Crc::new();
    for part in parts {
        stream.extend_from_slice(&part.blocks);
        crc.combine(&part.crc);
    }
    let (last, rest_crc) = Compressor::new(DEFAULT_LEVEL).run(rest, FlushCompress::Finish)?;
    stream.push(last);
    crc.combine(&rest_crc);
    stream.push([crc.sum().to_le_bytes(), crc.amount().to_le_bytes()].concat().into());
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use proptest::prelude::*;

    use super::*;

    pub(super) fn unpacked(stream: &[Bytes]) -> Vec<u8> {
        let stream = stream.concat();
        let mut text = Vec::new();
        // Refuses a second member, bytes after the end, and a wrong checksum or length.
        let mut decoder = flate2::bufread::GzDecoder::new(&stream[..]);
        decoder.read_to_end(&mut text).unwrap();
        assert!(decoder.into_inner().is_empty(), "bytes after the end");
        text
    }

    fn text(lines: usize, seed: usize) -> Bytes {
        (0..lines)
            .map(|line| format!("lease_age_seconds{{lease=\"{}\"}} {}\n", line * seed, line ^ seed))
            .collect::<String>()
            .into()
    }

    #[test]
    fn parts_can_be_joined_in_any_order_and_number() {
        let mut compressor = Compressor::new(DEFAULT_LEVEL);
        let texts: Vec<Vec<Bytes>> =
            vec![vec![], vec![text(1, 1)], vec![text(9_000, 7), text(1, 2), text(20_000, 3)], vec![text(3, 99)]];
        let parts: Vec<_> = texts.iter().map(|pieces| compressor.part(pieces).unwrap()).collect();
        let header = Bytes::from_static(b"# HELP it helps\n");
        let stored = GzipPart::stored(header.clone());
        for order in [vec![], vec![0], vec![2], vec![3, 2, 1, 0], vec![1, 1, 2, 2, 3], vec![2, 3]] {
            let (mut chosen, mut plain) = (Vec::new(), Vec::new());
            for at in order {
                chosen.extend([&stored, &parts[at]]);
                plain.push(header.clone());
                plain.extend_from_slice(&texts[at]);
            }
            let rest = [text(5, 5), text(0, 0), text(40, 6)];
            let stream = stream(chosen, &rest).unwrap();
            plain.extend_from_slice(&rest);
            assert!(unpacked(&stream) == plain.concat());
        }
    }

    #[test]
    fn similar_lines_compress_to_a_fifth_or_less() {
        let text = text(50_000, 1);
        let part = Compressor::new(DEFAULT_LEVEL).part([&text]).unwrap();
        let compressed = part.blocks.iter().map(Bytes::len).sum::<usize>();
        assert!(compressed * 5 < text.len(), "{compressed} of {}", text.len());
    }

    #[test]
    fn small_responses_are_compressed_only_if_the_client_requires_it() {
        for (encoding, small, large) in
            [(Encoding::Identity, false, false), (Encoding::Gzip, false, true), (Encoding::GzipRequired, true, true)]
        {
            assert_eq!(
                (encoding.compresses(MIN_COMPRESSED - 1), encoding.compresses(MIN_COMPRESSED)),
                (small, large),
                "{encoding:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_text_is_unpacked_unchanged(
            parts in proptest::collection::vec(proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 0..4), 0..5),
            rest in proptest::collection::vec(any::<u8>(), 0..300),
        ) {
            let texts: Vec<Vec<Bytes>> =
                parts.into_iter().map(|pieces| pieces.into_iter().map(Bytes::from).collect()).collect();
            let rest = [Bytes::from(rest)];
            let mut compressor = Compressor::new(DEFAULT_LEVEL);
            let parts: Vec<_> = texts.iter().map(|pieces| compressor.part(pieces).unwrap()).collect();
            let plain = [texts.concat().concat(), rest.concat()].concat();
            prop_assert_eq!(unpacked(&stream(&parts, &rest).unwrap()), plain);
        }
    }
}
