//! Escapes and shortens the values of a log line.

use std::fmt::{self, Write};

use super::Format;
use crate::expose::is_invisible;

/// A value with escapes for every character that would end the value or the line, or change how a terminal shows the rest. A long
/// value is cut, and states how many bytes are missing.
///
/// Only escapes common to JSON and Go are used, because parsers of logfmt unquote like either. The two differ for characters beyond
/// U+FFFF, so such a character is replaced if it must be escaped.
#[derive(Debug, Default)]
pub(super) struct Escaped {
    text: String,
    /// Whether logfmt needs quotes around it.
    needs_quotes: bool,
    cut_bytes: usize,
}

impl Escaped {
    /// In bytes, with escapes. A few such values still fit into the 16 KiB at which container runtimes split lines.
    const MAX_LENGTH: usize = 4096;

    pub(super) fn new(value: impl fmt::Display) -> Self {
        let mut escaped = Self::default();
        // Writing to `Escaped` never fails. If the value cannot be displayed, its rest is missing.
        let _ = write!(escaped, "{value}");
        escaped
    }

    /// The escaped text without quotes.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// Appends the value to a line, with quotes in JSON, and in logfmt if needed.
    pub(super) fn append_to(&self, line: &mut String, format: Format) {
        if format == Format::Logfmt && !self.needs_quotes && self.cut_bytes == 0 && !self.text.is_empty() {
            line.push_str(&self.text);
        } else if self.cut_bytes == 0 {
            let _ = write!(line, "\"{}\"", self.text);
        } else {
            let _ = write!(line, "\"{}… and {} bytes more\"", self.text, self.cut_bytes);
        }
    }

    fn push(&mut self, c: char) {
        if self.cut_bytes > 0 {
            self.cut_bytes += c.len_utf8();
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
        // Some parsers of logfmt treat an apostrophe as a quote.
        self.needs_quotes |= self.text.len() - before != c.len_utf8() || matches!(c, ' ' | '=' | '\'' | '\u{fffd}');
        if self.text.len() > Self::MAX_LENGTH {
            self.text.truncate(before);
            self.cut_bytes = c.len_utf8();
        }
    }
}

impl Write for Escaped {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars().for_each(|c| self.push(c));
        Ok(())
    }
}
