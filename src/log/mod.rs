//! The log: on standard error, a line an event, in a form that no store's text can forge, and no more than a person can
//! read.
//!
//! Everything that holds of all lines is done here, whoever logs: what a line may say and how long (`line`, `text`),
//! and how often (`repeats`). Only the exporter's own events get there. A library's could quote a statement or a row.

mod journal;
mod line;
mod outlet;
mod repeats;
mod subscriber;
#[cfg(test)]
mod tests;
mod text;

use std::io;
use std::sync::OnceLock;

use clap::ValueEnum;
use tracing::level_filters::LevelFilter;

use journal::Journal;
use outlet::Outlet;
use subscriber::Lines;

/// The target of what is logged because somebody asked for something, such as another configuration: it is not held back
/// for having been said before, or who asks twice would not learn what came of it.
pub const ACT: &str = concat!(env!("CARGO_CRATE_NAME"), "::act");

/// What to log: `--log.level`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Level {
    /// Everything.
    Debug,
    /// Changes.
    #[default]
    Info,
    /// What someone should look at.
    Warn,
    /// What broke.
    Error,
}

/// How to log: `--log.format`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// `key=value`, quoted where need be.
    #[default]
    Logfmt,
    /// One JSON object a line.
    Json,
}

impl From<Level> for LevelFilter {
    fn from(level: Level) -> Self {
        match level {
            Level::Debug => Self::DEBUG,
            Level::Info => Self::INFO,
            Level::Warn => Self::WARN,
            Level::Error => Self::ERROR,
        }
    }
}

static JOURNAL: OnceLock<Journal<Outlet>> = OnceLock::new();

/// Starts the log. Does nothing if it was started before.
pub fn start(level: Level, format: Format) {
    let journal = JOURNAL.get_or_init(|| Journal::new(Outlet::new(io::stderr()), format));
    // A second start, as in tests, leaves the first in place.
    let _ = tracing::subscriber::set_global_default(Lines::new(level, journal.clone()));
}

/// Writes what was held back, and waits for a moment until all is written: before the process ends.
pub fn finish() {
    if let Some(journal) = JOURNAL.get() {
        journal.finish();
    }
}

/// What logs to a writer of the test's own.
#[cfg(test)]
pub(crate) fn to<W: io::Write + Send + 'static>(
    writer: W,
    level: Level,
    format: Format,
) -> impl tracing::Subscriber + Send + Sync {
    Lines::new(level, Journal::new(writer, format))
}
