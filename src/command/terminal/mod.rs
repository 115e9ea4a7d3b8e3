//! Output on a terminal: size, colours, wrapped text, a progress line and a full screen.

mod progress;
mod screen;

use std::env;
use std::io::IsTerminal;
use std::ops::Range;
use std::os::fd::AsFd;

use anstyle::{AnsiColor, Style};
use rustix::termios::tcgetwinsize;

use crate::lease::State;

pub(super) use progress::{ProgressLine, progress_text};
pub(super) use screen::Screen;

/// The size of a terminal in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

impl Size {
    /// The size of the terminal behind a stream; 80 by 24 if it does not report one.
    pub(super) fn of(stream: &impl AsFd) -> Self {
        match tcgetwinsize(stream) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
                Self { columns: size.ws_col.into(), rows: size.ws_row.into() }
            }
            _ => Self { columns: 80, rows: 24 },
        }
    }
}

/// Whether a stream is a terminal that can move its cursor.
pub(super) fn can_rewrite(stream: &impl IsTerminal) -> bool {
    let terminal = env::var_os("TERM").filter(|name| !name.is_empty());
    stream.is_terminal() && terminal.is_some_and(|name| name != "dumb")
}

/// Whether to colour the text on a stream: it is a terminal, and `NO_COLOR` is not set.
pub(super) fn supports_colour(stream: &impl IsTerminal) -> bool {
    let no_color = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    stream.is_terminal() && !no_color && env::var_os("TERM").is_none_or(|name| name != "dumb")
}

/// The style of a state.
pub(super) const fn state_style(state: State) -> Style {
    let (colour, style) = match state {
        State::Active => (AnsiColor::Green, Style::new()),
        State::Idle => (AnsiColor::Cyan, Style::new()),
        State::Stalled | State::NoLeader => (AnsiColor::Red, Style::new().bold()),
        State::Unknown => (AnsiColor::Yellow, Style::new()),
    };
    style.fg_color(Some(anstyle::Color::Ansi(colour)))
}

/// The text in this style.
pub(super) fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// The text with one part of it in this style. A part that the text does not contain in full is not styled.
pub(super) fn paint_part(style: Style, text: &str, part: &Range<usize>) -> String {
    match (text.get(..part.start), text.get(part.clone()), text.get(part.end..)) {
        (Some(before), Some(part), Some(after)) => format!("{before}{}{after}", paint(style, part)),
        _ => text.to_owned(),
    }
}

/// Breaks text into lines between words. A word longer than a line gets its own line.
pub(super) fn wrap(text: &str, columns: usize) -> Vec<String> {
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

    #[test]
    fn text_is_wrapped_between_words() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("é… twelve-long x", 5), ["é…", "twelve-long", "x"]);
        assert!(wrap("", 5).is_empty());
    }
}
