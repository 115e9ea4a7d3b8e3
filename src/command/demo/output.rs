//! The demo's text on standard output: at most 100 columns wide, flushed after each line.

use std::io::{self, Write};

use anstyle::Style;

use super::super::terminal::{paint, wrap};
use crate::clock;

const COLUMNS: usize = 100;
/// The width of a timestamp with its margin.
const TIME_WIDTH: usize = 10;
/// The width of a timestamp and a subject with their margins.
const SUBJECT_WIDTH: usize = 21;

#[derive(Debug)]
pub(super) struct Output<W> {
    out: W,
    colour: bool,
    started: std::time::Duration,
}

impl<W: Write> Output<W> {
    /// An output whose timestamps begin at zero.
    pub(super) fn new(out: W, colour: bool) -> Self {
        Self { out, colour, started: clock::monotonic() }
    }

    /// Prints a line without wrapping it.
    pub(super) fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{text}")?;
        // Standard output may be a pipe, which is not flushed at the end of a line.
        self.out.flush()
    }

    /// Prints wrapped text, each line in this style.
    pub(super) fn text(&mut self, indent: usize, style: Style, text: &str) -> io::Result<()> {
        self.prefixed(" ".repeat(indent), indent, style, text)
    }

    /// Prints an empty line and a heading.
    pub(super) fn heading(&mut self, text: &str) -> io::Result<()> {
        self.line("")?;
        self.text(0, Style::new().bold(), text)
    }

    /// Prints an explanation below the text of an [`event`](Self::event).
    pub(super) fn explanation(&mut self, text: &str) -> io::Result<()> {
        self.text(SUBJECT_WIDTH, Style::new().dimmed(), text)
    }

    /// Prints an action with the time.
    pub(super) fn action(&mut self, text: &str) -> io::Result<()> {
        let prefix = format!("{}  ", self.time());
        self.prefixed(prefix, TIME_WIDTH, Style::new(), text)
    }

    /// Prints an event with the time and its subject: a scheduler, or a state.
    pub(super) fn event(&mut self, subject: &str, style: Style, text: &str) -> io::Result<()> {
        let prefix = format!("{}  {}  ", self.time(), self.styled(style, &format!("{subject:<9}")));
        self.prefixed(prefix, SUBJECT_WIDTH, Style::new(), text)
    }

    /// Prints an empty line and these lines.
    pub(super) fn lines(&mut self, lines: &[String]) -> io::Result<()> {
        self.line("")?;
        lines.iter().try_for_each(|line| self.line(line))
    }

    /// The text in this style, or plain if the output has no colours.
    pub(super) fn styled(&self, style: Style, text: &str) -> String {
        if self.colour { paint(style, text) } else { text.to_owned() }
    }

    fn time(&self) -> String {
        format!("{:>7.1}s", clock::monotonic().saturating_sub(self.started).as_secs_f64())
    }

    /// Prints wrapped text. The first line follows a prefix of this width, and the others are indented as far.
    fn prefixed(&mut self, mut prefix: String, width: usize, style: Style, text: &str) -> io::Result<()> {
        for line in wrap(text, COLUMNS - width) {
            let line = self.styled(style, &line);
            self.line(&format!("{prefix}{line}"))?;
            prefix = " ".repeat(width);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::terminal::state_style;
    use crate::lease::State;

    #[test]
    fn escape_sequences_are_written_only_with_colour() {
        let mut out = Vec::new();
        Output::new(&mut out, false).event("stalled", state_style(State::Stalled), "no progress").unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "    0.0s  stalled    no progress\n");
        let mut out = Vec::new();
        Output::new(&mut out, true).event("stalled", state_style(State::Stalled), "no progress").unwrap();
        assert!(String::from_utf8(out).unwrap().contains("\x1b[1m\x1b[31mstalled  \x1b[0m"));
    }
}
