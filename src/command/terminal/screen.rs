//! Full-screen drawing on the terminal's alternate screen.

use std::io::{self, Write};

/// Enters the alternate screen, hides the cursor and turns line wrapping off.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const LEAVE: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";
/// Begins a synchronized update, which terminals that support it show as a whole, and moves the cursor to the top left.
const BEGIN: &str = "\x1b[?2026h\x1b[H";
/// Clears the rest of the screen and ends the synchronized update.
const END: &str = "\x1b[J\x1b[?2026l";

/// The terminal's alternate screen. Dropping it restores the normal screen.
#[derive(Debug)]
pub(in crate::command) struct Screen<W: Write> {
    out: W,
    entered: bool,
}

impl<W: Write> Screen<W> {
    /// A screen that is entered by the first `draw`.
    pub(in crate::command) const fn new(out: W) -> Self {
        Self { out, entered: false }
    }

    /// Replaces the content of the screen. The lines must fit into the terminal.
    ///
    /// Each line overwrites the previous one and the frame is written at once, so the screen does not flicker.
    pub(in crate::command) fn draw(&mut self, lines: &[String]) -> io::Result<()> {
        let enter = if self.entered { "" } else { ENTER };
        self.entered = true;
        let text = lines.iter().map(|line| format!("{line}\x1b[K")).collect::<Vec<_>>().join("\r\n");
        self.out.write_all(format!("{enter}{BEGIN}{text}{END}").as_bytes())?;
        self.out.flush()
    }

    /// Restores the normal screen until the next `draw`.
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
        // Fails only if the terminal is gone.
        let _ = self.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_is_entered_by_the_first_frame_and_restored_when_dropped() {
        let mut out = Vec::new();
        let mut screen = Screen::new(&mut out);
        screen.draw(&["one".to_owned(), "two".to_owned()]).unwrap();
        screen.draw(&["three".to_owned()]).unwrap();
        drop(screen);
        let first = format!("{ENTER}{BEGIN}one\x1b[K\r\ntwo\x1b[K{END}");
        assert_eq!(String::from_utf8(out).unwrap(), format!("{first}{BEGIN}three\x1b[K{END}{LEAVE}"));
    }

    #[test]
    fn a_screen_that_was_never_drawn_writes_nothing() {
        let mut out = Vec::new();
        drop(Screen::new(&mut out));
        assert!(out.is_empty());
    }
}
