//! The log on standard error, one line per event. Text from stores cannot forge lines or keys, and repeated lines are limited.
//!
//! `layer` selects events, `formatter` and `escape` make lines of them, `repeat_filter` limits repetition, and `output` writes without
//! blocking. Only events of the exporter itself are logged: events of libraries could contain a statement or a row.

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
use repeat_filter::PERIOD;
#[cfg(test)]
pub(crate) use tests::to;

/// The target of events that report the result of an operation, such as a reload. They are repeated without limit, because each
/// request needs its result.
pub const OPERATION: &str = concat!(env!("CARGO_CRATE_NAME"), "::operation");

/// The least severity that is logged: `--log.level`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Level {
    /// Details for debugging.
    Debug,
    /// Changes of state.
    #[default]
    Info,
    /// Problems that may need attention.
    Warn,
    /// Failures.
    Error,
}

/// The format of the log: `--log.format`.
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

/// Starts the log, unless it was started before.
pub fn start(level: Level, format: Format) {
    let log = LOG.get_or_init(|| LogLayer::new(Output::new(io::stderr()), level, format, PERIOD));
    // In tests, the log may have been started before.
    let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry().with(log.clone()));
}

/// Writes held lines and waits briefly until they are written. Called before the process ends.
pub fn finish() {
    if let Some(log) = LOG.get() {
        log.finish();
    }
}
