//! RESP3, the protocol of Redis and Valkey: an incremental parser without a tree.
//!
//! The crates for RESP3 allocate a tree for each reply, some parse an incomplete reply again at each read, and they trust
//! announced lengths. Here a reply becomes a flat list of [`Part`]s with positions in the buffer. Nothing is parsed twice,
//! the list is reused, and a length is checked before memory is allocated. The bytes of a text that is too long for any
//! value of a lease are dropped when they arrive.

mod reply;
#[cfg(test)]
mod tests;

use bytes::{Buf as _, BytesMut};

pub(super) use reply::{Replies, Reply, ServerError};

/// The maximum length of a reply in bytes, be it a text or an array with all elements.
pub(super) const LONGEST_REPLY: usize = 64 * 1024 * 1024;
/// The maximum length of a text that is kept, in bytes.
pub(super) const LONGEST_TEXT: usize = 64 * 1024;
const LONGEST_LINE: usize = 64 * 1024;
/// The maximum number of parts that are kept at once. The longest reply that is parsed as a whole is that of HELLO,
/// with some dozens.
const MAX_PARTS: u64 = 16 * 1024;
/// The maximum depth of nested arrays. The reply to HELLO has four levels.
const MAX_DEPTH: usize = 16;
/// The shortest element of an array, in bytes.
const SHORTEST: u64 = 3;

/// One part of a reply. The elements of an array follow it; keys and values of a map alternate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Part {
    Nil,
    Integer(i64),
    Double(f64),
    /// A simple string, such as `OK`. Its text has no meaning here.
    Status,
    Text(Span),
    /// A text above the length limit, which is not kept.
    LongText,
    Error(Span),
    /// The number of elements.
    Array(u32),
    /// The number of elements, which have no order.
    Set(u32),
    /// The number of pairs.
    Map(u32),
    Other,
}

/// The position of a text in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    begin: u32,
    length: u32,
}

/// Why bytes are not a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Malformed {
    /// The bytes are not RESP3, or an array is longer than any reply to the commands of the exporter.
    Protocol,
    /// The reply is longer than [`LONGEST_REPLY`].
    TooLong,
}

/// The state of parsing the bytes at the front of a buffer. The next call needs the same bytes, with new bytes after them.
#[derive(Debug, Default)]
pub(super) struct Parser {
    parts: Vec<Part>,
    /// The number of parsed bytes.
    at: usize,
    /// The number of bytes after `at` that contain no end of a line.
    searched: usize,
    /// A text whose header is parsed.
    text: Option<PendingText>,
    /// The arrays that are not complete, the innermost last.
    open: Vec<OpenArray>,
    /// The length of the reply so far.
    length: usize,
}

/// A text that has not arrived completely.
#[derive(Clone, Copy, Debug)]
struct PendingText {
    kind: u8,
    /// The number of next bytes that are dropped.
    dropped: usize,
    /// The number of bytes after them that are kept.
    kept: usize,
    is_long: bool,
}

/// An array that is not complete.
#[derive(Debug)]
struct OpenArray {
    /// The number of elements that are still to be parsed.
    left: u64,
    /// If the array is skipped: the number of parts before it.
    parts_before: Option<usize>,
}

enum Outcome {
    /// More bytes have to arrive first.
    Incomplete,
    Part,
    Complete,
}

impl Parser {
    /// The parts since the last [`Parser::finish`].
    pub(super) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Removes the parsed replies from the buffer.
    pub(super) fn finish(&mut self, buffer: &mut BytesMut) {
        buffer.advance(self.at);
        self.parts.clear();
        self.at = 0;
    }

    /// Parses the next reply. With `head`, only the header of an array is parsed, and its elements are the next replies.
    /// Pushed messages and attributes are skipped. `false` means that the reply is incomplete.
    pub(super) fn parse(&mut self, buffer: &mut BytesMut, head: bool) -> Result<bool, Malformed> {
        loop {
            let step = match self.text {
                Some(text) => self.text(text, buffer)?,
                None => self.line(buffer, head)?,
            };
            match step {
                Outcome::Incomplete => return Ok(false),
                Outcome::Part => {}
                Outcome::Complete => {
                    self.length = 0;
                    return Ok(true);
                }
            }
        }
    }

    fn line(&mut self, buffer: &[u8], head: bool) -> Result<Outcome, Malformed> {
        let Some(end) = self.line_end(&buffer[self.at..])? else { return Ok(Outcome::Incomplete) };
        let Some((kind, rest)) = buffer[self.at..self.at + end].split_first() else { return Err(Malformed::Protocol) };
        let span = Span::new(self.at + 1, rest.len());
        self.take(end + 2)?;
        let part = match kind {
            b'+' => Part::Status,
            b'-' => Part::Error(span),
            b':' => Part::Integer(number(rest)?),
            b',' => Part::Double(number(rest)?),
            b'_' if rest.is_empty() => Part::Nil,
            b'#' if matches!(rest, b"t" | b"f") => Part::Other,
            b'(' if is_integer(rest) => Part::Other,
            b'$' | b'*' if rest == b"-1" => Part::Nil,
            b'$' | b'!' | b'=' => return self.begin_text(*kind, count(rest)?),
            b'*' if head && self.open.is_empty() => {
                let count = count(rest)?;
                if count.saturating_mul(SHORTEST) > LONGEST_REPLY as u64 {
                    return Err(Malformed::TooLong);
                }
                Part::Array(narrow(count))
            }
            b'*' | b'~' | b'%' | b'|' | b'>' => return self.begin_array(*kind, count(rest)?),
            _ => return Err(Malformed::Protocol),
        };
        Ok(self.add(part))
    }

    /// The position of the end of the first line.
    fn line_end(&mut self, bytes: &[u8]) -> Result<Option<usize>, Malformed> {
        let found = bytes[self.searched..].iter().position(|byte| *byte == b'\r').map(|found| self.searched + found);
        let end = found.unwrap_or(bytes.len());
        if end > LONGEST_LINE || bytes.first().is_some_and(|kind| !b"+-:,_#($!=*~%|>".contains(kind)) {
            return Err(Malformed::Protocol);
        }
        match bytes.get(end + 1) {
            Some(b'\n') => {
                self.searched = 0;
                Ok(Some(end))
            }
            Some(_) => Err(Malformed::Protocol),
            None => {
                self.searched = end;
                Ok(None)
            }
        }
    }

    fn begin_text(&mut self, kind: u8, length: u64) -> Result<Outcome, Malformed> {
        let Some(length) =
            usize::try_from(length).ok().filter(|length| *length <= LONGEST_REPLY.saturating_sub(self.length))
        else {
            return Err(Malformed::TooLong);
        };
        let is_long = length > LONGEST_TEXT;
        if is_long && kind == b'!' {
            return Err(Malformed::Protocol);
        }
        let (dropped, kept) = if is_long { (length, 0) } else { (0, length) };
        self.text = Some(PendingText { kind, dropped, kept, is_long });
        Ok(Outcome::Part)
    }

    fn text(&mut self, mut text: PendingText, buffer: &mut BytesMut) -> Result<Outcome, Malformed> {
        if text.dropped > 0 {
            let here = text.dropped.min(buffer.len() - self.at);
            let behind = buffer.split_off(self.at + here);
            buffer.truncate(self.at);
            buffer.unsplit(behind);
            self.length += here;
            text.dropped -= here;
            self.text = Some(text);
        }
        let Some(end) = buffer.get(self.at + text.kept..self.at + text.kept + 2).filter(|_| text.dropped == 0) else {
            return Ok(Outcome::Incomplete);
        };
        if end != b"\r\n" {
            return Err(Malformed::Protocol);
        }
        let span = Span::new(self.at, text.kept);
        self.take(text.kept + 2)?;
        self.text = None;
        let part = match text.kind {
            b'!' => Part::Error(span),
            b'=' => Part::Other,
            _ if text.is_long => Part::LongText,
            _ => Part::Text(span),
        };
        Ok(self.add(part))
    }

    fn begin_array(&mut self, kind: u8, count: u64) -> Result<Outcome, Malformed> {
        let (part, elements) = match kind {
            b'*' => (Some(Part::Array(narrow(count))), count),
            b'~' => (Some(Part::Set(narrow(count))), count),
            b'%' => (Some(Part::Map(narrow(count))), count.saturating_mul(2)),
            // An attribute, which comes before a value.
            b'|' => (None, count.saturating_mul(2)),
            // A pushed message, which comes between replies.
            _ if self.open.is_empty() => (None, count),
            _ => return Err(Malformed::Protocol),
        };
        if elements > MAX_PARTS.saturating_sub(self.parts.len() as u64) || self.open.len() == MAX_DEPTH {
            return Err(Malformed::Protocol);
        }
        match part {
            Some(part) if elements == 0 => return Ok(self.add(part)),
            None if elements == 0 => return Ok(Outcome::Part),
            _ => {}
        }
        let parts_before = if part.is_none() { Some(self.parts.len()) } else { None };
        self.parts.extend(part);
        self.open.push(OpenArray { left: elements, parts_before });
        Ok(Outcome::Part)
    }

    /// Adds a part without elements, and closes the arrays that are complete with it.
    fn add(&mut self, part: Part) -> Outcome {
        self.parts.push(part);
        while let Some(level) = self.open.last_mut() {
            level.left -= 1;
            if level.left > 0 {
                return Outcome::Part;
            }
            let parts_before = level.parts_before;
            self.open.pop();
            if let Some(before) = parts_before {
                self.parts.truncate(before);
                return Outcome::Part;
            }
        }
        Outcome::Complete
    }

    /// Advances by a number of bytes.
    fn take(&mut self, bytes: usize) -> Result<(), Malformed> {
        self.at += bytes;
        self.length += bytes;
        // The limit includes messages that were skipped before the reply.
        if self.length.max(self.at) > LONGEST_REPLY { Err(Malformed::TooLong) } else { Ok(()) }
    }
}

impl Span {
    /// Positions fit, because the parser does not go beyond [`LONGEST_REPLY`].
    fn new(begin: usize, length: usize) -> Self {
        Self { begin: narrow(begin as u64), length: narrow(length as u64) }
    }
}

/// Converts a number that a limit keeps within 32 bits.
fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Parses a length. 19 digits fit into the type.
fn count(digits: &[u8]) -> Result<u64, Malformed> {
    if !(1..=19).contains(&digits.len()) || !digits.iter().all(u8::is_ascii_digit) {
        return Err(Malformed::Protocol);
    }
    Ok(digits.iter().fold(0, |number, digit| 10 * number + u64::from(digit - b'0')))
}

/// Parses a number of this type.
fn number<N: std::str::FromStr>(digits: &[u8]) -> Result<N, Malformed> {
    let text = std::str::from_utf8(digits).map_err(|_| Malformed::Protocol)?;
    text.parse().map_err(|_| Malformed::Protocol)
}

/// Whether a text is a whole number of any length.
fn is_integer(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}
