//! How text looks where there is colour.

use std::ops::Range;

use crate::lease::State;

/// How text looks where there is colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::command) enum Style {
    Plain,
    Bold,
    Dim,
    Of(State),
}

impl Style {
    const fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Of(State::Active) => "32",
            Self::Of(State::Idle) => "36",
            Self::Of(State::Stalled | State::NoLeader) => "1;31",
            Self::Of(State::Unknown) => "33",
        }
    }

    /// The text so styled.
    pub(in crate::command) fn paint(self, text: &str) -> String {
        match self.code() {
            "" => text.to_owned(),
            code => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }

    /// The text with a part of it so styled, as far as that is there.
    pub(in crate::command) fn paint_part(self, text: &str, part: &Range<usize>) -> String {
        match (text.get(..part.start), text.get(part.clone()), text.get(part.end..)) {
            (Some(before), Some(part), Some(after)) => format!("{before}{}{after}", self.paint(part)),
            _ => text.to_owned(),
        }
    }
}
