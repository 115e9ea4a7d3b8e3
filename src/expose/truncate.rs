//! Text truncated to a number of terminal columns.

use unicode_width::UnicodeWidthChar;

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
