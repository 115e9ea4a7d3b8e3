//! Replies as they are read: views of the buffer that they arrived in.

use super::{Part, Span};

/// One reply, or one element of an array.
#[derive(Clone, Copy, Debug)]
pub(in crate::store::redis) enum Reply<'r> {
    Nil,
    Integer(i64),
    Double(f64),
    /// A simple string, such as `OK`. Its text has no meaning here.
    Status,
    Text(&'r [u8]),
    /// A text above the length limit, which is not kept.
    LongText,
    Error(ServerError<'r>),
    Array(Replies<'r>),
    /// Keys and values alternate.
    Map(Replies<'r>),
    /// A value of a type that is not used.
    Other,
}

/// Consecutive replies.
#[derive(Clone, Copy, Debug)]
pub(in crate::store::redis) struct Replies<'r> {
    left: usize,
    parts: &'r [Part],
    buffer: &'r [u8],
}

/// An error reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store::redis) struct ServerError<'r> {
    /// The first word.
    pub(in crate::store::redis) code: &'r str,
    /// The rest. It can contain anything, and must not be logged.
    pub(in crate::store::redis) details: &'r str,
}

impl<'r> Replies<'r> {
    /// This number of replies, from their parts and the buffer with their texts.
    pub(in crate::store::redis) const fn new(count: usize, parts: &'r [Part], buffer: &'r [u8]) -> Self {
        Self { left: count, parts, buffer }
    }

    /// The number of replies that are left.
    pub(in crate::store::redis) const fn left(&self) -> usize {
        self.left
    }

    fn text(&self, span: Span) -> &'r [u8] {
        let begin = span.begin as usize;
        self.buffer.get(begin..begin + span.length as usize).unwrap_or_default()
    }
}

impl<'r> Iterator for Replies<'r> {
    type Item = Reply<'r>;

    fn next(&mut self) -> Option<Reply<'r>> {
        let (first, behind) = self.parts.split_first()?;
        let count = elements(*first);
        let (within, behind) = behind.split_at(extent(count, behind));
        self.parts = behind;
        self.left = self.left.saturating_sub(1);
        let within = Replies { left: count, parts: within, buffer: self.buffer };
        Some(match *first {
            Part::Nil => Reply::Nil,
            Part::Integer(number) => Reply::Integer(number),
            Part::Double(number) => Reply::Double(number),
            Part::Status => Reply::Status,
            Part::Text(span) => Reply::Text(self.text(span)),
            Part::LongText => Reply::LongText,
            Part::Error(span) => Reply::Error(ServerError::new(self.text(span))),
            Part::Array(_) => Reply::Array(within),
            Part::Map(_) => Reply::Map(within),
            Part::Set(_) | Part::Other => Reply::Other,
        })
    }
}

impl<'r> ServerError<'r> {
    /// Parses the line of an error, up to the first byte that is not UTF-8.
    pub(in crate::store::redis) fn new(line: &'r [u8]) -> Self {
        let text = line.utf8_chunks().next().map_or("", |chunk| chunk.valid());
        let (code, details) = text.split_once(' ').unwrap_or((text, ""));
        Self { code, details }
    }
}

/// The number of elements of a part.
const fn elements(part: Part) -> usize {
    match part {
        Part::Array(count) | Part::Set(count) => count as usize,
        Part::Map(count) => 2 * count as usize,
        _ => 0,
    }
}

/// The number of parts of a number of replies. There are fewer if only the header of an array was parsed.
fn extent(replies: usize, parts: &[Part]) -> usize {
    let (mut left, mut extent) = (replies, 0);
    while left > 0 && extent < parts.len() {
        left = left - 1 + elements(parts[extent]);
        extent += 1;
    }
    extent
}
