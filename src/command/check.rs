//! `lease-exporter check`: whether the configuration can be used, before anything depends on it.

use std::path::PathBuf;

use clap::Args;
use tokio::time::Instant;

use super::exit::Exit;
use super::exposed_secrets::ExposedSecret;
use super::manual::Manual;
use super::print::print;
use super::serve::{CONFIG_FILE, block_on};
use super::terminal::ProgressLine;
use super::web_config;
use super::{Failure, sources};
use crate::config::{Config, Source};
use crate::expose::DisplayName;
use crate::lease::{Columns, Reading, RecordFault};
use crate::store::{ReadResult, RecordLimiter};

pub(super) const MANUAL: Manual = Manual {
    examples: &[
        ("lease-exporter check --config.file=exporter.yml", "whether it is well formed; nothing is read"),
        ("lease-exporter check --config.file=exporter.yml --connect", "what each source gives, and what it lacks"),
        ("lease-exporter check --web.config.file=web.yml", "whether TLS and logins are well formed"),
    ],
    environment: &[CONFIG_FILE],
    exits: &[
        (Exit::Ok, "all is well"),
        (Exit::Unknown, "with --connect: a source could not be read, or some of its rows could not be used"),
    ],
};

/// Check the configuration, and with --connect read each source.
///
/// Everything that is wrong is told at once, each with its line. A warning, of what can be used and is hardly meant, changes
/// nothing of the exit code. With --connect, each source is read once, as the
/// exporter would, and it is told what it gave, which rows cannot be used and why, and what can never be said of its leases
/// for lack of a column.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = MANUAL.help())]
pub(super) struct Arguments {
    /// The configuration: the sources to read, and the limits of each lease
    #[arg(long = "config.file", value_name = "FILE", env = CONFIG_FILE.0, value_parser = sources::file(), value_hint = clap::ValueHint::FilePath)]
    config_file: Option<PathBuf>,

    /// The file with TLS, users and headers to check; alone, or beside the configuration
    #[arg(
        long = "web.config.file",
        value_name = "FILE",
        value_hint = clap::ValueHint::FilePath,
        value_parser = sources::file()
    )]
    web_config_file: Option<PathBuf>,

    /// Read each source once, and say what it gave
    #[arg(long)]
    connect: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    if let Some(file) = sources::given(arguments.web_config_file.as_deref()) {
        print(&web_config::check(file)?)?;
        if sources::given(arguments.config_file.as_deref()).is_none() {
            return Ok(Exit::Ok);
        }
    }
    let config = sources::configuration(sources::named(arguments.config_file.as_deref())?)?;
    print(&config.warnings.iter().map(|warning| format!("{warning}\n")).collect::<String>())?;
    if arguments.connect {
        print(&warnings(&config))?;
        return block_on(connect(&config))?;
    }
    print(&(summary(&config) + &warnings(&config)))?;
    Ok(Exit::Ok)
}

/// The warnings of a configuration, a line each.
fn warnings(config: &Config) -> String {
    ExposedSecret::of(config).into_iter().map(|file| format!("warning: {file}\n")).collect()
}

fn summary(config: &Config) -> String {
    let sources = config.sources.iter().map(|source| format!("{}\n", introduction(source)));
    let hint = "The configuration is well formed; --connect reads each source too.\n";
    sources.chain([hint.to_owned()]).collect()
}

fn introduction(source: &Source) -> String {
    let Source { name, store, origin, rules, .. } = source;
    format!("{name}: {store}, {origin}, {} leases, times on the {}'s clock", rules.kind, rules.clock)
}

/// Reads all sources side by side, and tells of each as soon as those before it are told.
async fn connect(config: &Config) -> Result<Exit, Failure> {
    let shown = |source: &Source| DisplayName(&source.name).to_string();
    let progress = ProgressLine::start("reading", config.sources.iter().map(shown));
    let readings: Vec<_> = config.sources.iter().map(|source| tokio::spawn(read(source))).collect();
    let mut well = true;
    for (source, reading) in config.sources.iter().zip(readings) {
        // It fails only by a bug, which has told itself.
        let read = reading.await.map_err(|_| Failure::System(format!("{}: reading it panicked", shown(source))))?;
        well &= read.as_ref().is_ok_and(|taken| taken.records.rejected.is_empty() && taken.records.over_limit == 0);
        let text = introduction(source) + &came(&read);
        progress.remove(&shown(source));
        progress.suspend(|| print(&text))?;
    }
    Ok(if well { Exit::Ok } else { Exit::Unknown })
}

/// One reading of a source, on a task of its own.
fn read(source: &Source) -> impl Future<Output = ReadResult> + Send + use<> {
    let (mut store, timeout) = (sources::store(source), source.timeout);
    async move { store.read(Instant::now() + timeout).await }
}

fn came(read: &ReadResult) -> String {
    match read {
        Ok(reading) => found(reading),
        Err(error) => format!("\n  cannot be read ({}): {error}\n", error.failure()),
    }
}

/// Of so many rows that are not used it is told what is wrong with them; the rest is counted.
const MOST_TOLD: usize = 20;

fn found(reading: &Reading) -> String {
    let mut leases: Vec<_> = reading.records.accepted.iter().filter_map(|row| row.lease.as_deref()).collect();
    leases.dedup();
    let mut text = format!(
        "\n  read: {} leases in {} rows; its clock is {:+.3} s from this machine's\n",
        leases.len(),
        reading.records.accepted.len() + reading.records.rejected.len(),
        reading.clock_offset
    );
    text.push_str(&missing(reading.columns));
    for rejected in reading.records.rejected.iter().take(MOST_TOLD) {
        let lease = rejected.lease.as_deref().map_or_else(|| "a row".to_owned(), |lease| format!("lease {lease:?}"));
        let what = match rejected.fault {
            RecordFault::OverLimit => format!("more than {} rows, so nothing is known of it", RecordLimiter::MEMBERS),
            fault => format!("column {}: {fault}", rejected.column),
        };
        text.push_str(&format!("  not used: {lease}, {what}\n"));
    }
    if let Some(more @ 1..) = reading.records.rejected.len().checked_sub(MOST_TOLD) {
        text.push_str(&format!("  not used: {more} rows more\n"));
    }
    if reading.records.over_limit > 0 {
        let (rows, members) = (reading.records.over_limit, RecordLimiter::MEMBERS);
        text.push_str(&format!("  not used: {rows} rows beyond max_leases, or beyond the {members} of one lease\n"));
    }
    text
}

/// What can never be told of the leases, for lack of a column.
fn missing(columns: Columns) -> String {
    use crate::lease::Column;
    let mut text = String::new();
    let mut say = |what: &str| {
        text.push_str("  not reported: ");
        text.push_str(what);
        text.push('\n');
    };
    if !columns.has_progress() {
        say("progress, so a held lease stays unknown (columns progress_at, progress_cursor)");
    }
    if !columns.has(Column::Due) && !columns.has(Column::OldestDueAt) {
        say("due work, so nothing is idle or stalled unless `work` or `cadence` is set (columns due, oldest_due_at)");
    }
    if !columns.has_expiry() {
        say("expiry, so a lease counts as held while its record is there (columns expires_at, ttl_seconds)");
    }
    if !columns.has(Column::Epoch) {
        say("epochs, so progress is not told apart by who made it (columns epoch, progress_epoch)");
    }
    text
}
