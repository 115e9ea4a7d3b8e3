//! Names that come from a store, made safe to put before people.

use std::fmt::{self, Display, Formatter, Write};

/// A text with every character that cannot be seen, or that changes how others are seen, written as an escape.
///
/// A name comes from a store, so anyone who can write there chooses it. A newline would break a line of a table, a mark
/// that turns the direction of writing would show a name that it is not, and a zero-width character would make two
/// leases look like one. A backslash is doubled, so that an escape cannot be mistaken for a name that spells it.
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
                // At an edge, or where it is not the plain one, a space cannot be seen.
                ' ' if edge(index, c) => f.write_str("\\u{20}")?,
                _ if is_invisible(c) => write!(f, "\\u{{{:x}}}", u32::from(c))?,
                _ => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// Whether a character cannot be seen, or changes how others are.
pub(crate) const fn is_invisible(c: char) -> bool {
    matches!(c,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{a0}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}'
        | '\u{1680}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{2000}'..='\u{200f}'
        | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}' | '\u{3000}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{e000}'..='\u{f8ff}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_spelt_out() {
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
}
