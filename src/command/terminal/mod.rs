//! What a terminal can show, and how it is put there.

mod screen;
mod style;
mod waiting;

use std::env;
use std::io::IsTerminal;
use std::os::fd::AsFd;

use rustix::termios::tcgetwinsize;

pub(super) use screen::Screen;
pub(super) use style::Style;
pub(super) use waiting::{Waiting, waiting_text};

/// How much a terminal shows at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

impl Size {
    /// That of the terminal behind a stream; the usual one where it does not say.
    pub(super) fn of(stream: &impl AsFd) -> Self {
        let said = tcgetwinsize(stream).ok().filter(|said| said.ws_col > 0 && said.ws_row > 0);
        said.map_or(Self { columns: 80, rows: 24 }, |said| Self {
            columns: said.ws_col.into(),
            rows: said.ws_row.into(),
        })
    }
}

/// Whether a stream leads to a terminal where what was written can be written over.
pub(super) fn can_rewrite(stream: &impl IsTerminal) -> bool {
    let named = env::var_os("TERM").filter(|name| !name.is_empty());
    stream.is_terminal() && named.is_some_and(|name| name != "dumb")
}

/// Whether whoever reads a stream sees colours, and wants to.
pub(super) fn shows_colour(stream: &impl IsTerminal) -> bool {
    let refused = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    stream.is_terminal() && !refused && env::var_os("TERM").is_none_or(|name| name != "dumb")
}
