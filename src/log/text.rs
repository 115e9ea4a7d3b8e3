//! One value of a line, made safe and kept short.

use std::fmt::{self, Write};

use crate::expose::is_hidden;

/// A text with every character that would end it, end its line, or change how a terminal shows the rest written as an
/// escape. What is too long is cut, and says by how much.
///
/// The escapes are those that JSON and Go both know, because readers of logfmt unquote like the one or the other. Both
/// write a character beyond U+FFFF in ways of their own, so one that has to be escaped is replaced.
#[derive(Debug, Default, Hash)]
pub(super) struct Text {
    escaped: String,
    /// Whether it has something in it that may only stand between quotes.
    quoted: bool,
    left_out: usize,
}

impl Text {
    /// In bytes, as it is written. A few such values still fit the 16 KiB at which container runtimes break lines.
    const LONGEST: usize = 4096;

    /// The text of a value.
    pub(super) fn of(value: impl fmt::Display) -> Self {
        let mut text = Self::default();
        // It never fails itself; what a value cannot say of itself is missing.
        let _ = write!(text, "{value}");
        text
    }

    /// As it is written, but for the quotes.
    pub(super) fn as_str(&self) -> &str {
        &self.escaped
    }

    /// Between quotes.
    pub(super) fn quote(&self, line: &mut String) {
        line.push('"');
        line.push_str(&self.escaped);
        if self.left_out > 0 {
            let _ = write!(line, "… and {} bytes more", self.left_out);
        }
        line.push('"');
    }

    /// Between quotes where logfmt needs them.
    pub(super) fn quote_if_need_be(&self, line: &mut String) {
        if self.quoted || self.left_out > 0 || self.escaped.is_empty() {
            self.quote(line);
        } else {
            line.push_str(&self.escaped);
        }
    }

    fn push(&mut self, c: char) {
        if self.left_out > 0 {
            self.left_out += c.len_utf8();
            return;
        }
        let before = self.escaped.len();
        match c {
            '"' => self.escaped.push_str("\\\""),
            '\\' => self.escaped.push_str("\\\\"),
            '\n' => self.escaped.push_str("\\n"),
            '\r' => self.escaped.push_str("\\r"),
            '\t' => self.escaped.push_str("\\t"),
            _ if is_hidden(c) => {
                // `String` takes anything.
                let _ = write!(self.escaped, "\\u{:04x}", u16::try_from(u32::from(c)).unwrap_or(0xfffd));
            }
            _ => self.escaped.push(c),
        }
        // Newer readers of logfmt take an apostrophe for a quote.
        self.quoted |= self.escaped.len() - before != c.len_utf8() || matches!(c, ' ' | '=' | '\'' | '\u{fffd}');
        if self.escaped.len() > Self::LONGEST {
            self.escaped.truncate(before);
            self.left_out = c.len_utf8();
        }
    }
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars().for_each(|c| self.push(c));
        Ok(())
    }
}
