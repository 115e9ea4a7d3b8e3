//! Compression that is done once and shared: parts of a text that are compressed by themselves and then stand, in any
//! order and number, in one gzip stream.
//!
//! A part is a run of whole DEFLATE blocks that ends at a byte and refers to nothing before it. A stream is a head, the
//! parts, a last block, and the checksum of the whole, which follows from those of the parts. So a source's lines are
//! compressed once a reading, whichever format is asked for and whatever other sources stand beside it.

use std::sync::Arc;

use bytes::Bytes;
use flate2::{Compress, CompressError, Compression, Crc, FlushCompress};

/// How hard to compress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CompressionLevel {
    /// For a text that is sent more than once, or that is short.
    Default,
    /// For a text that is another at each reading: half the time for a third more bytes.
    Fastest,
}

impl CompressionLevel {
    /// The level of zlib, of 0 to 9; `benches/README.md` says what each costs.
    const fn level(self) -> u32 {
        match self {
            Self::Default => 2,
            Self::Fastest => 1,
        }
    }
}

/// The head of a stream: DEFLATE, no name, no time, of an unknown system.
const HEAD: &[u8] = &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];

/// How much room to make for what comes out.
const ROOM: usize = 64 * 1024;

/// Whether a body is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// It is sent as it is.
    Identity,
    /// It is compressed where that is worth while.
    Gzip,
    /// It is compressed, because the client refuses what is not.
    GzipRequired,
}

/// Below this many bytes a body fits one packet, and compressing it wins nothing.
const SMALL: u64 = 1_200;

impl Encoding {
    /// Whether to compress a body of this length.
    #[must_use]
    pub const fn compresses(self, bytes: u64) -> bool {
        match self {
            Self::Identity => false,
            Self::Gzip => bytes >= SMALL,
            Self::GzipRequired => true,
        }
    }
}

/// A part of a text, compressed by itself.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    blocks: Arc<[Bytes]>,
    crc: Arc<Crc>,
}

/// The head of a stored block: its kind, its length and the complement of that.
const STORED_HEAD: usize = 5;

impl Part {
    /// A short text as it is, in a block of its own.
    pub(crate) fn stored(text: Bytes) -> Self {
        // A longer one would need several blocks; only headers of families and the frame of a document are given here.
        debug_assert!(text.len() <= usize::from(u16::MAX));
        #[expect(clippy::cast_possible_truncation, reason = "asserted above")]
        let length = (text.len() as u16).to_le_bytes();
        let mut crc = Crc::new();
        crc.update(&text);
        let block = [&[0, length[0], length[1], !length[0], !length[1]][..], &text].concat();
        Self { blocks: [block.into()].into(), crc: Arc::new(crc) }
    }

    /// The text of a part that was stored.
    pub(crate) fn text(&self) -> &[u8] {
        self.blocks.first().and_then(|block| block.get(STORED_HEAD..)).unwrap_or_default()
    }

    /// These parts as one; `None` if there are none.
    pub(crate) fn joined<'a>(parts: impl Iterator<Item = &'a Self>) -> Option<Self> {
        let (mut blocks, mut crc) = (Vec::new(), Crc::new());
        for part in parts {
            blocks.extend_from_slice(&part.blocks);
            crc.combine(&part.crc);
        }
        (!blocks.is_empty()).then(|| Self { blocks: blocks.into(), crc: Arc::new(crc) })
    }

    /// The same in one piece.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> Bytes {
        match &*self.blocks {
            [block] => block.clone(),
            blocks => blocks.concat().into(),
        }
    }
}

/// Compresses one text after the other.
#[derive(Debug)]
pub(crate) struct Compressor {
    compress: Compress,
    /// The output so far; kept, so that it need not grow again for the next text.
    out: Vec<u8>,
}

impl Compressor {
    pub(crate) fn new(effort: CompressionLevel) -> Self {
        Self { compress: Compress::new(Compression::new(effort.level()), false), out: Vec::new() }
    }

    /// Compresses a text that comes in pieces to a part.
    pub(crate) fn part<T: AsRef<[u8]>>(&mut self, pieces: impl IntoIterator<Item = T>) -> Result<Part, CompressError> {
        let (bytes, crc) = self.run(pieces, FlushCompress::Sync)?;
        Ok(Part { blocks: [bytes].into(), crc: Arc::new(crc) })
    }

    fn run<T: AsRef<[u8]>>(
        &mut self,
        pieces: impl IntoIterator<Item = T>,
        end: FlushCompress,
    ) -> Result<(Bytes, Crc), CompressError> {
        self.compress.reset();
        self.out.clear();
        let mut crc = Crc::new();
        for piece in pieces {
            crc.update(piece.as_ref());
            self.feed(piece.as_ref(), FlushCompress::None)?;
        }
        self.feed(&[], end)?;
        // Exactly as long as it is: it stays for as long as the reading.
        Ok((Bytes::copy_from_slice(&self.out), crc))
    }

    /// Takes in all of the input, and gives out all that this flushes.
    fn feed(&mut self, mut input: &[u8], flush: FlushCompress) -> Result<(), CompressError> {
        loop {
            if self.out.capacity() - self.out.len() < ROOM / 2 {
                self.out.reserve(ROOM);
            }
            let before = self.compress.total_in();
            self.compress.compress_vec(input, &mut self.out, flush)?;
            let taken = usize::try_from(self.compress.total_in() - before).unwrap_or(input.len());
            input = &input[taken..];
            // Where there was room left, nothing waits to come out.
            if input.is_empty() && self.out.len() < self.out.capacity() {
                return Ok(());
            }
        }
    }
}

/// A whole gzip stream: these parts, and then the rest, which is compressed here.
pub(crate) fn stream<'a>(
    parts: impl IntoIterator<Item = &'a Part>,
    rest: &[Bytes],
) -> Result<Vec<Bytes>, CompressError> {
    let mut stream = vec![Bytes::from_static(HEAD)];
    let mut crc = Crc::new();
    for part in parts {
        stream.extend_from_slice(&part.blocks);
        crc.combine(&part.crc);
    }
    let (last, of_rest) = Compressor::new(CompressionLevel::Default).run(rest, FlushCompress::Finish)?;
    stream.push(last);
    crc.combine(&of_rest);
    stream.push(Bytes::copy_from_slice(&tail(&crc)));
    Ok(stream)
}

/// What follows the last block.
fn tail(crc: &Crc) -> [u8; 8] {
    let [a, b, c, d] = crc.sum().to_le_bytes();
    let [e, f, g, h] = crc.amount().to_le_bytes();
    [a, b, c, d, e, f, g, h]
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
    fn parts_stand_in_a_stream_in_any_order_and_number() {
        let mut compressor = Compressor::new(CompressionLevel::Default);
        let texts: Vec<Vec<Bytes>> =
            vec![vec![], vec![text(1, 1)], vec![text(9_000, 7), text(1, 2), text(20_000, 3)], vec![text(3, 99)]];
        let parts: Vec<_> = texts.iter().map(|pieces| compressor.part(pieces).unwrap()).collect();
        let header = Bytes::from_static(b"# HELP it helps\n");
        let stored = Part::stored(header.clone());
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
    fn many_lines_alike_become_a_tenth() {
        let text = text(50_000, 1);
        let part = Compressor::new(CompressionLevel::Default).part([&text]).unwrap();
        let compressed = part.blocks.iter().map(Bytes::len).sum::<usize>();
        assert!(compressed * 5 < text.len(), "{compressed} of {}", text.len());
    }

    #[test]
    fn what_fits_a_packet_is_compressed_only_for_those_who_refuse_it_otherwise() {
        for (encoding, small, large) in
            [(Encoding::Identity, false, false), (Encoding::Gzip, false, true), (Encoding::GzipRequired, true, true)]
        {
            assert_eq!((encoding.compresses(SMALL - 1), encoding.compresses(SMALL)), (small, large), "{encoding:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_goes_in_comes_out(
            parts in proptest::collection::vec(proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 0..4), 0..5),
            rest in proptest::collection::vec(any::<u8>(), 0..300),
        ) {
            let texts: Vec<Vec<Bytes>> =
                parts.into_iter().map(|pieces| pieces.into_iter().map(Bytes::from).collect()).collect();
            let rest = [Bytes::from(rest)];
            let mut compressor = Compressor::new(CompressionLevel::Default);
            let parts: Vec<_> = texts.iter().map(|pieces| compressor.part(pieces).unwrap()).collect();
            let plain = [texts.concat().concat(), rest.concat()].concat();
            prop_assert_eq!(unpacked(&stream(&parts, &rest).unwrap()), plain);
        }
    }
}
