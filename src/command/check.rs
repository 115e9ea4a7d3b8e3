//! `lease-exporter check`: whether the configuration can be used, before anything depends on it.

use std::path::{Path, PathBuf};

use clap::Args;
use tokio::time::Instant;

use super::exit::Exit;
use super::exposed_secrets::ExposedSecret;
use super::manual::Manual;
use super::print::print;
use super::serve::{CONFIG_FILE, block_on};
use super::terminal::ProgressLine;
use super::{Failure, sources};
use crate::clock;
use crate::config::{Config, Source};
use crate::expose::DisplayName;
use crate::lease::{Column, Columns, Reading, RecordFault};
use crate::store::{ReadResult, RecordLimiter};
use crate::web::config::WebConfig;

pub(super) const MANUAL: Manual = Manual {
    examples: &[
        ("lease-exporter check --config.file=exporter.yml", "whether it is well formed; nothing is read"),
        (
            "lease-exporter check --config.file=exporter.yml --connect",
            "what each source returns, and which columns it lacks",
        ),
        ("lease-exporter check --web.config.file=web.yml", "whether the web configuration is well formed"),
    ],
    environment: &[CONFIG_FILE],
    exits: &[
        (Exit::Ok, "no errors were found"),
        (Exit::Unknown, "with --connect: a source could not be read, or some of its rows could not be used"),
    ],
};

/// Check the configuration, and with --connect read each source.
///
/// Reports all errors of the configuration at once, each with its line. Warnings are about settings that are valid and
/// probably not intended; they do not change the exit code. With --connect, each source is read once, as the exporter
/// reads it. The report says which rows cannot be used and why, and which facts stay unknown because the source has no
/// column for them.
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

    /// Read each source once, and report the result
    #[arg(long)]
    connect: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    if let Some(file) = sources::non_empty(arguments.web_config_file.as_deref()) {
        print(web_config_report(file)?)?;
        if sources::non_empty(arguments.config_file.as_deref()).is_none() {
            return Ok(Exit::Ok);
        }
    }
    let config = sources::load_config(sources::required(arguments.config_file.as_deref())?)?;
    print(config.warnings.iter().map(|warning| format!("{warning}\n")).collect::<String>())?;
    let exposed: String = ExposedSecret::of(&config).into_iter().map(|file| format!("warning: {file}\n")).collect();
    if arguments.connect {
        print(exposed)?;
        return block_on(connect(&config))?;
    }
    let sources: String = config.sources.iter().map(|source| format!("{}\n", introduction(source))).collect();
    print(sources + "The configuration is well formed; --connect reads each source too.\n" + &exposed)?;
    Ok(Exit::Ok)
}

fn web_config_report(path: &Path) -> Result<String, Failure> {
    let config = WebConfig::load(path).map_err(|error| Failure::Configuration(error.to_string()))?;
    let mut text = format!("The web configuration is well formed: {}.\n", config.protection());
    for warning in config.warnings(clock::unix_seconds()) {
        text.push_str(&format!("  warning: {warning}\n"));
    }
    Ok(text)
}

fn introduction(source: &Source) -> String {
    let Source { name, store, origin, rules, .. } = source;
    format!("{name}: {store}, {origin}, {} leases, times on the {}'s clock", rules.kind, rules.clock)
}

/// Reads all sources in parallel, and prints the results in the order of the configuration.
async fn connect(config: &Config) -> Result<Exit, Failure> {
    let name = |source: &Source| DisplayName(&source.name).to_string();
    let progress = ProgressLine::start("reading", config.sources.iter().map(name));
    let readings: Vec<_> = config.sources.iter().map(|source| tokio::spawn(read(source))).collect();
    let mut all_used = true;
    for (source, reading) in config.sources.iter().zip(readings) {
        // A task fails only by a panic, which the panic hook has reported.
        let result = reading.await.map_err(|_| Failure::System(format!("{}: reading it panicked", name(source))))?;
        all_used &= result.as_ref().is_ok_and(|read| read.records.rejected.is_empty() && read.records.over_limit == 0);
        let result = match result {
            Ok(reading) => reading_summary(&reading),
            Err(error) => format!("\n  cannot be read ({}): {error}\n", error.failure()),
        };
        progress.remove(&name(source));
        progress.suspend(|| print(introduction(source) + &result))?;
    }
    Ok(if all_used { Exit::Ok } else { Exit::Unknown })
}

/// Reads a source once, within its timeout.
fn read(source: &Source) -> impl Future<Output = ReadResult> + Send + use<> {
    let (mut store, timeout) = (sources::store(source), source.timeout);
    async move { store.read(Instant::now() + timeout).await }
}

/// How many rejected rows are listed for each source. Further ones are counted.
const MAX_REJECTED: usize = 20;

fn reading_summary(reading: &Reading) -> String {
    let records = &reading.records;
    let mut leases: Vec<_> = records.accepted.iter().filter_map(|row| row.lease.as_deref()).collect();
    leases.dedup();
    let mut text = format!(
        "\n  read: {} leases in {} rows; its clock is {:+.3} s from this machine's\n",
        leases.len(),
        records.accepted.len() + records.rejected.len(),
        reading.clock_offset
    );
    for missing in missing_facts(reading.columns) {
        text.push_str(&format!("  not reported: {missing}\n"));
    }
    for rejected in records.rejected.iter().take(MAX_REJECTED) {
        let lease = rejected.lease.as_deref().map_or_else(|| "a row".to_owned(), |lease| format!("lease {lease:?}"));
        let fault = match rejected.fault {
            RecordFault::OverLimit => format!("more than {} rows, so nothing is known of it", RecordLimiter::MEMBERS),
            fault => format!("column {}: {fault}", rejected.column),
        };
        text.push_str(&format!("  not used: {lease}, {fault}\n"));
    }
    if let Some(more @ 1..) = records.rejected.len().checked_sub(MAX_REJECTED) {
        text.push_str(&format!("  not used: {more} rows more\n"));
    }
    if records.over_limit > 0 {
        let (rows, members) = (records.over_limit, RecordLimiter::MEMBERS);
        text.push_str(&format!("  not used: {rows} rows beyond max_leases, or beyond the {members} of one lease\n"));
    }
    text
}

/// The facts that are never known of the leases, because the source lacks a column.
fn missing_facts(columns: Columns) -> impl Iterator<Item = &'static str> {
    let has_due = columns.has(Column::Due) || columns.has(Column::OldestDueAt);
    let facts = [
        (columns.has_progress(), "progress, so a held lease stays unknown (columns progress_at, progress_cursor)"),
        (
            has_due,
            "due work, so nothing is idle or stalled unless `work` or `cadence` is set (columns due, oldest_due_at)",
        ),
        (
            columns.has_expiry(),
            "expiry, so a lease counts as held while its record is there (columns expires_at, ttl_seconds)",
        ),
        (
            columns.has(Column::Epoch),
            "epochs, so progress is not told apart by who made it (columns epoch, progress_epoch)",
        ),
    ];
    facts.into_iter().filter(|(is_known, _)| !is_known).map(|(_, fact)| fact)
}
