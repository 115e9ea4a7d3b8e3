//! What the terminal shows: at most 100 columns, colour only for those who can see it, each line at once.

use std::io::{self, Write};

use super::super::terminal::Style;
use crate::clock;

const COLUMNS: usize = 100;
/// What precedes the text of a line that has a time, and of one that has a word too.
const MARGINS: [usize; 2] = [10, 21];

/// Where the story is told.
#[derive(Debug)]
pub(super) struct Voice<W> {
    out: W,
    colour: bool,
    began: std::time::Duration,
}

impl<W: Write> Voice<W> {
    /// A voice; with colour if that can be seen.
    pub(super) fn new(out: W, colour: bool) -> Self {
        Self { out, colour, began: clock::monotonic() }
    }

    /// One line as it is, however long.
    pub(super) fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{text}")?;
        // Standard output may be a pipe that someone waits at.
        self.out.flush()
    }

    /// Text, indented and in as many lines as it takes.
    pub(super) fn text(&mut self, indent: usize, style: Style, text: &str) -> io::Result<()> {
        for line in wrapped(text, COLUMNS - indent) {
            let line = self.styled(style, &line);
            self.line(&format!("{:indent$}{line}", ""))?;
        }
        Ok(())
    }

    /// Text below the text of an [`event`](Self::event).
    pub(super) fn aside(&mut self, style: Style, text: &str) -> io::Result<()> {
        self.text(MARGINS[1], style, text)
    }

    /// What is done now.
    pub(super) fn act(&mut self, text: &str) -> io::Result<()> {
        let head = format!("{}  ", self.time());
        self.headed(head, MARGINS[0], text)
    }

    /// What happened just now: to whom, or what state it made.
    pub(super) fn event(&mut self, word: &str, style: Style, text: &str) -> io::Result<()> {
        let head = format!("{}  {}  ", self.time(), self.styled(style, &format!("{word:<9}")));
        self.headed(head, MARGINS[1], text)
    }

    fn time(&self) -> String {
        format!("{:>7.1}s", clock::monotonic().saturating_sub(self.began).as_secs_f64())
    }

    fn headed(&mut self, mut head: String, margin: usize, text: &str) -> io::Result<()> {
        for line in wrapped(text, COLUMNS - margin) {
            self.line(&format!("{head}{line}"))?;
            head = " ".repeat(margin);
        }
        Ok(())
    }

    /// The last words.
    pub(super) fn farewell(&mut self, lines: &[String]) -> io::Result<()> {
        self.line("")?;
        lines.iter().try_for_each(|line| self.line(line))
    }

    /// Text in a colour, if there is any.
    pub(super) fn styled(&self, style: Style, text: &str) -> String {
        if self.colour { style.paint(text) } else { text.to_owned() }
    }
}

/// Text in lines of at most so many characters, broken between words. A longer word has a line of its own.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lease::State;

    #[test]
    fn text_is_broken_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("é… twelve-long x", 5), ["é…", "twelve-long", "x"]);
        assert!(wrapped("", 5).is_empty());
    }

    #[test]
    fn there_is_no_escape_without_colour() {
        let mut out = Vec::new();
        Voice::new(&mut out, false).event("stalled", Style::Of(State::Stalled), "no progress").unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "    0.0s  stalled    no progress\n");
        let mut out = Vec::new();
        Voice::new(&mut out, true).event("stalled", Style::Of(State::Stalled), "no progress").unwrap();
        assert!(String::from_utf8(out).unwrap().contains("\x1b[1;31mstalled  \x1b[0m"));
    }
}
