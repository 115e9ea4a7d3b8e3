//! The colours of states and text.

use std::ops::Range;

use anstyle::{AnsiColor, Style};

use crate::lease::State;

/// The style of a state.
pub(in crate::command) const fn state_style(state: State) -> Style {
    let (colour, style) = match state {
        State::Active => (AnsiColor::Green, Style::new()),
        State::Idle => (AnsiColor::Cyan, Style::new()),
        State::Stalled | State::NoLeader => (AnsiColor::Red, Style::new().bold()),
        State::Unknown => (AnsiColor::Yellow, Style::new()),
    };
    style.fg_color(Some(anstyle::Color::Ansi(colour)))
}

/// The text in this style.
pub(in crate::command) fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// The text with one part of it in this style. A part that the text does not contain in full is not styled.
pub(in crate::command) fn paint_part(style: Style, text: &str, part: &Range<usize>) -> String {
    match (text.get(..part.start), text.get(part.clone()), text.get(part.end..)) {
        (Some(before), Some(part), Some(after)) => format!("{before}{}{after}", paint(style, part)),
        _ => text.to_owned(),
    }
}
