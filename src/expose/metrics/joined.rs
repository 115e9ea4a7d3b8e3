//! Sources joined to one exposition, in either format, compressed or not. No sample is copied or rendered again.

use std::io;

use bytes::Bytes;

use super::{Exposition, Rendered};
use crate::expose::Format;
use crate::expose::gzip::{self, Compressor, Part};

/// One reading of one source, rendered and compressed.
#[derive(Debug)]
pub struct Compressed {
    families: Box<[Option<Part>]>,
}

impl Rendered {
    /// Compresses every family by itself.
    ///
    /// # Errors
    /// None that is known: the compressor has no other input than its own.
    pub fn compressed(&self) -> io::Result<Compressed> {
        let mut compressor = Compressor::new();
        let part = |pieces: &Vec<Bytes>| (!pieces.is_empty()).then(|| compressor.part(pieces)).transpose();
        Ok(Compressed { families: self.families.iter().map(part).collect::<Result<_, _>>()? })
    }

    /// How long the text is.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.families.iter().flatten().map(|piece| piece.len() as u64).sum()
    }
}

impl Exposition {
    /// Several sources joined, family by family.
    #[must_use]
    pub fn joined(&self, format: Format, sources: &[&Rendered]) -> Vec<Bytes> {
        let mut chunks = Vec::with_capacity(self.families.len() * (1 + sources.len()));
        for (at, exposed) in self.families.iter().enumerate() {
            let mut headed = false;
            for source in sources {
                let Some(pieces) = source.families.get(at).filter(|pieces| !pieces.is_empty()) else { continue };
                if !std::mem::replace(&mut headed, true) {
                    chunks.push(exposed.header(format).clone());
                }
                chunks.extend_from_slice(pieces);
            }
        }
        chunks
    }

    /// The same as a gzip stream, with `rest` at its end.
    ///
    /// # Errors
    /// As for [`Rendered::compressed`].
    pub fn joined_gzip(&self, format: Format, sources: &[&Compressed], rest: &[Bytes]) -> io::Result<Vec<Bytes>> {
        let mut headers = Vec::with_capacity(self.families.len());
        for (at, exposed) in self.families.iter().enumerate() {
            if sources.iter().any(|source| source.family(at).is_some()) {
                headers.push((at, Part::stored(exposed.header(format).clone())));
            }
        }
        let parts = headers.iter().flat_map(|(at, header)| {
            std::iter::once(header).chain(sources.iter().filter_map(|source| source.family(*at)))
        });
        Ok(gzip::stream(parts, rest)?)
    }
}

impl Compressed {
    fn family(&self, at: usize) -> Option<&Part> {
        self.families.get(at)?.as_ref()
    }
}

/// Any text as a gzip stream.
///
/// # Errors
/// As for [`Rendered::compressed`].
pub fn gzip(text: &[Bytes]) -> io::Result<Vec<Bytes>> {
    Ok(gzip::stream([], text)?)
}
