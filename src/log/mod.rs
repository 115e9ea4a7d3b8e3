//! The log: on standard error, a line an event, in a form that no store's text can forge, and no more than a person can
//! read.
//!
//! Everything that holds of all lines is done here, whoever logs: which events become lines (`layer`), what a line may say
//! and how long (`formatter`, `escape`), how often (`repeat_filter`), and that nobody waits for its reader (`output`).
//! Only the exporter's own events are logged. A library's could quote a statement or a row.

mod escape;
mod formatter;
mod layer;
mod output;
mod repeat_filter;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::OnceLock;

use clap::ValueEnum;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;

use layer::LogLayer;
use output::Output;

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

static LOG: OnceLock<LogLayer<Output>> = OnceLock::new();

/// Starts the log. Does nothing if it was started before.
pub fn start(level: Level, format: Format) {
    let log = LOG.get_or_init(|| LogLayer::new(Output::new(io::stderr()), level, format));
    // A second start, as in tests, leaves the first in place.
    let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry().with(log.clone()));
}

/// Writes what was held back, and waits for a moment until all is written: before the process ends.
pub fn finish() {
    if let Some(log) = LOG.get() {
        log.finish();
    }
}

/// What logs to a writer of the test's own.
#[cfg(test)]
pub(crate) fn to<W: io::Write + Send + 'static>(
    writer: W,
    level: Level,
    format: Format,
) -> impl tracing::Subscriber + Send + Sync {
    tracing_subscriber::registry().with(LogLayer::new(writer, level, format))
}
