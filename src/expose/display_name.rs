//! Names from a store, escaped for display, and text truncated to a number of terminal columns.

use std::fmt::{self, Display, Formatter, Write};

use unicode_width::UnicodeWidthChar;

/// Displays a name with every invisible character written as an escape.
///
/// Anyone who can write to the store chooses the name. A newline would break a line of a table, a direction mark would
/// reorder the characters around it, and two names that differ only in zero-width characters would look the same. A
/// backslash is doubled, so that different names never give the same text.
#[derive(Clone, Copy, Debug)]
pub struct DisplayName<'a>(pub &'a str);

impl Display for DisplayName<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let edge = |index: usize, c: char| index == 0 || index + c.len_utf8() == self.0.len();
        for (index, c) in self.0.char_indices() {
            match c {
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                // A space at either end is invisible.
                ' ' if edge(index, c) => f.write_str("\\u{20}")?,
                _ if is_invisible(c) => write!(f, "\\u{{{:x}}}", u32::from(c))?,
                _ => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// Whether a character is invisible or changes how other characters are displayed.
pub(crate) const fn is_invisible(c: char) -> bool {
    matches!(c,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{a0}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}'
        | '\u{1680}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{2000}'..='\u{200f}'
        | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}' | '\u{3000}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{e000}'..='\u{f8ff}' | '\u{e0000}'..='\u{e0fff}')
}

/// The beginning of a text that fits into this number of columns, with `…` at the end if it was truncated. Control
/// characters are replaced, so that the text cannot send commands to the terminal.
#[must_use]
pub fn truncate_to_width(text: &str, columns: usize) -> String {
    let mut shown = String::with_capacity(text.len());
    // The text up to `safe` leaves room for the `…`.
    let (mut safe, mut width) = (0, 0);
    for c in text.chars() {
        let c = if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
        width += c.width().unwrap_or(1);
        if width > columns {
            shown.truncate(safe);
            shown.extend((columns > 0).then_some('…'));
            return shown;
        }
        shown.push(c);
        if width < columns {
            safe = shown.len();
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_are_escaped() {
        for (name, shown) in [
            ("retention planner", "retention planner"),
            ("日本-リース-😀", "日本-リース-😀"),
            ("a\nb\tc\r", "a\\nb\\tc\\r"),
            ("\u{1b}[2Jgone", "\\u{1b}[2Jgone"),
            ("\u{202e}live\u{200f}", "\\u{202e}live\\u{200f}"),
            ("a\u{200b}b\u{a0}c", "a\\u{200b}b\\u{a0}c"),
            (" a ", "\\u{20}a\\u{20}"),
            ("C:\\n", "C:\\\\n"),
            ("", ""),
        ] {
            assert_eq!(DisplayName(name).to_string(), shown);
        }
    }

    #[test]
    fn text_is_truncated_by_columns_and_marked() {
        for (text, columns, shown) in [
            ("retention", 9, "retention"),
            ("retention", 8, "retenti…"),
            ("retention", 1, "…"),
            ("retention", 0, ""),
            ("日本語", 6, "日本語"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日…"),
            ("e\u{301}e\u{301}", 2, "e\u{301}e\u{301}"),
            ("", 0, ""),
        ] {
            assert_eq!(truncate_to_width(text, columns), shown, "{text} {columns}");
        }
    }

    #[test]
    fn control_characters_are_replaced() {
        assert_eq!(truncate_to_width("a\u{1b}[2Jb\u{9b}c\n", 80), "a\u{fffd}[2Jb\u{fffd}c\u{fffd}");
    }
}
