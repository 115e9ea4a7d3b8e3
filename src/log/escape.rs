//! One value of a line, made safe and kept short.

use std::fmt::{self, Write};

use super::Format;
use crate::expose::is_invisible;

/// A value in which every character that would end it, end its line, or change how a terminal shows the rest is written
/// as an escape. A value that is too long is cut, and says by how much.
///
/// The escapes are those that JSON and Go both know, because readers of logfmt unquote like the one or the other. Both
/// write a character beyond U+FFFF in ways of their own, so one that has to be escaped is replaced.
#[derive(Debug, Default)]
pub(super) struct Escaped {
    text: String,
    /// Whether it has something in it that may only stand between quotes.
    quoted: bool,
    left_out: usize,
}

impl Escaped {
    /// In bytes, as it is written. A few such values still fit the 16 KiB at which container runtimes break lines.
    const LONGEST: usize = 4096;

    pub(super) fn of(value: impl fmt::Display) -> Self {
        let mut escaped = Self::default();
        // Writing to it never fails; what a value cannot say of itself is missing.
        let _ = write!(escaped, "{value}");
        escaped
    }

    /// As it is written, but for the quotes.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// Appends it to a line: between quotes in JSON, and where logfmt needs them.
    pub(super) fn append_to(&self, line: &mut String, format: Format) {
        if format == Format::Logfmt && !self.quoted && self.left_out == 0 && !self.text.is_empty() {
            line.push_str(&self.text);
        } else if self.left_out == 0 {
            let _ = write!(line, "\"{}\"", self.text);
        } else {
            let _ = write!(line, "\"{}… and {} bytes more\"", self.text, self.left_out);
        }
    }

    fn push(&mut self, c: char) {
        if self.left_out > 0 {
            self.left_out += c.len_utf8();
            return;
        }
        let before = self.text.len();
        match c {
            '"' => self.text.push_str("\\\""),
            '\\' => self.text.push_str("\\\\"),
            '\n' => self.text.push_str("\\n"),
            '\r' => self.text.push_str("\\r"),
            '\t' => self.text.push_str("\\t"),
            _ if is_invisible(c) => {
                let _ = write!(self.text, "\\u{:04x}", u16::try_from(u32::from(c)).unwrap_or(0xfffd));
            }
            _ => self.text.push(c),
        }
        // Newer readers of logfmt take an apostrophe for a quote.
        self.quoted |= self.text.len() - before != c.len_utf8() || matches!(c, ' ' | '=' | '\'' | '\u{fffd}');
        if self.text.len() > Self::LONGEST {
            self.text.truncate(before);
            self.left_out = c.len_utf8();
        }
    }
}

impl Write for Escaped {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars().for_each(|c| self.push(c));
        Ok(())
    }
}
