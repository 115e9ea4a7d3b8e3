//! A long text in pieces: it grows without moving what is written, and its pieces are used again.
//!
//! One buffer that doubles would be copied again and again, and leave holes in the heap as large as the text.

use bytes::Bytes;

/// How long a piece is, unless it is the only one.
const PIECE: usize = 256 * 1024;

/// A text that grows at its end.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    full: Vec<Bytes>,
    last: Vec<u8>,
}

/// Pieces that nobody needs now.
#[derive(Debug, Default)]
pub(super) struct Spare(Vec<Vec<u8>>);

impl Pieces {
    /// Where to write so many bytes at the most.
    #[inline]
    pub(super) fn room(&mut self, bytes: usize, spare: &mut Spare) -> &mut Vec<u8> {
        if self.last.capacity() - self.last.len() < bytes {
            self.make_room(bytes, spare);
        }
        &mut self.last
    }

    #[cold]
    fn make_room(&mut self, bytes: usize, spare: &mut Spare) {
        let wanted = self.last.len() + bytes;
        if wanted <= PIECE {
            let grown = wanted.max(self.last.capacity() * 2).min(PIECE);
            self.last.reserve_exact(grown - self.last.len());
        } else {
            let next = spare.0.pop().unwrap_or_else(|| Vec::with_capacity(PIECE));
            let full = std::mem::replace(&mut self.last, next);
            if !full.is_empty() {
                self.full.push(full.into());
            }
            self.last.reserve_exact(bytes);
        }
    }

    /// The whole text.
    pub(super) fn finish(mut self) -> Vec<Bytes> {
        if !self.last.is_empty() {
            self.full.push(self.last.into());
        }
        self.full
    }

    /// Takes back those pieces that nobody else holds: the first for this text, the others for whoever needs them.
    pub(super) fn take_back(&mut self, pieces: Vec<Bytes>, spare: &mut Spare) {
        for (at, piece) in pieces.into_iter().enumerate().filter(|(_, piece)| piece.is_unique()) {
            let mut piece: Vec<u8> = piece.into();
            piece.clear();
            if at == 0 {
                self.last = piece;
            } else if piece.capacity() >= PIECE / 2 {
                spare.0.push(piece);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &mut Pieces, spare: &mut Spare, lines: usize, line: usize) {
        for number in 0..lines {
            let letter = b'a' + u8::try_from(number % 26).unwrap();
            text.room(line, spare).extend(std::iter::repeat_n(letter, line));
        }
    }

    #[test]
    fn a_text_is_whole_in_whatever_pieces_it_comes() {
        for (lines, line) in [(0, 0), (1, 10), (3, 0), (5_000, 111), (10, 140_000), (5, PIECE), (3, 3 * PIECE)] {
            let (mut text, mut spare) = (Pieces::default(), Spare::default());
            written(&mut text, &mut spare, lines, line);
            let pieces = text.finish();
            let letters = (0..lines).map(|number| b'a' + u8::try_from(number % 26).unwrap());
            let expected: Vec<u8> = letters.flat_map(|letter| std::iter::repeat_n(letter, line)).collect();
            assert!(pieces.concat() == expected, "{lines} of {line}");
            assert!(
                pieces.iter().all(|piece| !piece.is_empty() && piece.len() <= PIECE.max(line)),
                "{lines} of {line}"
            );
            // All but the last are as full as whole lines can make them.
            let full = pieces.iter().rev().skip(1).all(|piece| piece.len() + line > PIECE);
            assert!(full, "{lines} of {line}: {}", pieces.len());
        }
    }

    #[test]
    fn pieces_are_used_again_unless_somebody_holds_them() {
        let (mut text, mut spare) = (Pieces::default(), Spare::default());
        written(&mut text, &mut spare, 20, 100_000);
        let pieces = text.finish();
        let (held, count) = (pieces[1].clone(), pieces.len());
        let mut text = Pieces::default();
        text.take_back(pieces, &mut spare);
        assert_eq!(spare.0.len(), count - 2);
        written(&mut text, &mut spare, 20, 100_000);
        assert_eq!(spare.0.len(), 0);
        assert_eq!(held.len(), held.iter().filter(|byte| byte.is_ascii_lowercase()).count());
    }
}
