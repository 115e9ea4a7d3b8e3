//! The log: on standard error, a line an event, in a form that no store's text can forge.

use std::io;

use clap::ValueEnum;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

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

/// Starts the log. Does nothing if it was started before.
pub fn start(level: Level, format: Format) {
    let level = match level {
        Level::Debug => LevelFilter::DEBUG,
        Level::Info => LevelFilter::INFO,
        Level::Warn => LevelFilter::WARN,
        Level::Error => LevelFilter::ERROR,
    };
    let layer = match format {
        Format::Logfmt => {
            tracing_logfmt::builder().with_target(false).layer().with_writer(io::stderr).with_filter(level).boxed()
        }
        Format::Json => tracing_subscriber::fmt::layer()
            .json()
            .flatten_event(true)
            .with_target(false)
            .with_writer(io::stderr)
            .with_filter(level)
            .boxed(),
    };
    // A second start, as in tests, leaves the first in place.
    let _ = tracing_subscriber::registry().with(layer).try_init();
}
