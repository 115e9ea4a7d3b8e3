//! A screen of its own, drawn over and over, that leaves the terminal as it was.

use std::io::{self, Write};

/// The terminal's other screen, without a cursor, and without lines that go on in the next.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const LEAVE: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";
/// Whoever knows these shows nothing of what is between them until all of it is there.
const BEGIN: &str = "\x1b[?2026h\x1b[H";
const END: &str = "\x1b[J\x1b[?2026l";

/// A screen of its own. Dropped, it gives the terminal back.
#[derive(Debug)]
pub(in crate::command) struct Screen<W: Write> {
    out: W,
    entered: bool,
}

impl<W: Write> Screen<W> {
    /// A screen that is entered with the first drawing.
    pub(in crate::command) const fn new(out: W) -> Self {
        Self { out, entered: false }
    }

    /// Shows these lines and nothing else. None of them may be wider than the terminal, nor more than it has rows.
    ///
    /// All goes out in one piece, each line over the one before: nothing is cleared first, so nothing flickers.
    pub(in crate::command) fn draw(&mut self, lines: &[String]) -> io::Result<()> {
        let mut frame = String::from(if self.entered { "" } else { ENTER });
        self.entered = true;
        frame.push_str(BEGIN);
        for (number, line) in lines.iter().enumerate() {
            frame.push_str(if number == 0 { "" } else { "\r\n" });
            frame.push_str(line);
            frame.push_str("\x1b[K");
        }
        frame.push_str(END);
        self.out.write_all(frame.as_bytes())?;
        self.out.flush()
    }

    /// Gives the terminal back as it was, until something is drawn again.
    pub(in crate::command) fn leave(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.entered) {
            return Ok(());
        }
        self.out.write_all(LEAVE.as_bytes())?;
        self.out.flush()
    }
}

impl<W: Write> Drop for Screen<W> {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        let _ = self.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_is_entered_once_and_left_with_its_guard() {
        let mut out = Vec::new();
        let mut screen = Screen::new(&mut out);
        screen.draw(&["one".to_owned(), "two".to_owned()]).unwrap();
        screen.draw(&["three".to_owned()]).unwrap();
        drop(screen);
        let first = format!("{ENTER}{BEGIN}one\x1b[K\r\ntwo\x1b[K{END}");
        assert_eq!(String::from_utf8(out).unwrap(), format!("{first}{BEGIN}three\x1b[K{END}{LEAVE}"));
    }

    #[test]
    fn a_screen_that_was_never_drawn_leaves_nothing() {
        let mut out = Vec::new();
        drop(Screen::new(&mut out));
        assert!(out.is_empty());
    }
}
