//! Output on a terminal: size, colours, a progress line and a full screen.

mod progress;
mod screen;
mod style;

use std::env;
use std::io::IsTerminal;
use std::os::fd::AsFd;

use rustix::termios::tcgetwinsize;

pub(super) use progress::{ProgressLine, progress_text};
pub(super) use screen::Screen;
pub(super) use style::{paint, paint_part, state_style};

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
