//! `lease-exporter check`: whether the configuration can be used, before anything depends on it.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use tokio::time::Instant;

use super::serve::block_on;
use super::web_config::{self, WebConfigFile};
use super::{Failure, sources};
use crate::config::{Config, Origin, Source};
use crate::lease::Columns;
use crate::store::Taken;

/// Check the configuration, and with --connect each source.
///
/// Exit code: 0 if all is well, 2 if a source could not be read or some of its rows could not be used, 3 if the
/// configuration is wrong.
#[derive(Clone, Debug, Args)]
pub(super) struct Arguments {
    /// The configuration: what to read, and the limits of each lease
    #[arg(long = "config.file", value_name = "FILE", env = "LEASE_EXPORTER_CONFIG_FILE")]
    config_file: Option<PathBuf>,

    /// TLS and who may ask; alone, or beside the configuration
    #[arg(long = "web.config.file", value_name = "FILE", value_parser = WebConfigFile::parse)]
    web_config_file: Option<WebConfigFile>,

    /// Read each source once and say what it gave
    #[arg(long)]
    connect: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let web_file = WebConfigFile::path(arguments.web_config_file.as_ref());
    let of_web = web_file.map(web_config::checked).transpose()?;
    if let (Some(of_web), None) = (&of_web, &arguments.config_file) {
        return told(of_web, true);
    }
    let config = sources::configuration(sources::named(arguments.config_file.as_deref())?)?;
    let (text, well) = if arguments.connect { block_on(connect(&config))? } else { (summary(&config), true) };
    told(&[of_web.unwrap_or_default(), text].concat(), well)
}

fn told(text: &str, well: bool) -> Result<ExitCode, Failure> {
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(|error| Failure::System(format!("cannot write to standard output: {error}")))?;
    Ok(ExitCode::from(if well { 0 } else { 2 }))
}

fn summary(config: &Config) -> String {
    let sources = config.sources.iter().map(|source| format!("{}\n", introduction(source)));
    let hint = "The configuration is well formed; --connect reads each source too.\n";
    sources.chain([hint.to_owned()]).collect()
}

fn introduction(source: &Source) -> String {
    let origin = match source.origin {
        Origin::Preset(name) => format!("preset {name}"),
        Origin::Query => "a query".to_owned(),
        Origin::Keys => "keys".to_owned(),
    };
    let Source { name, store, rules, .. } = source;
    format!("{name}: {store}, {origin}, {} leases, times on the {}'s clock", rules.kind, rules.clock)
}

async fn connect(config: &Config) -> (String, bool) {
    let mut well = true;
    let mut text = String::new();
    for source in &config.sources {
        text.push_str(&introduction(source));
        let mut store = sources::store(source);
        match store.read(Instant::now() + source.timeout).await {
            Ok(taken) => {
                well &= taken.reading.rejected.is_empty() && taken.reading.over_limit == 0;
                text.push_str(&found(&taken));
            }
            Err(error) => {
                well = false;
                text.push_str(&format!("\n  cannot be read ({}): {error}\n", error.failure()));
            }
        }
    }
    (text, well)
}

/// Of so many rows that are not used it is told what is wrong with them; the rest is counted.
const MOST_TOLD: usize = 20;

fn found(taken: &Taken) -> String {
    let reading = &taken.reading;
    let mut leases: Vec<_> = reading.rows.iter().filter_map(|row| row.lease.as_deref()).collect();
    leases.dedup();
    let mut text = format!(
        "\n  read: {} leases in {} rows; its clock is {:+.3} s from this machine's\n",
        leases.len(),
        reading.rows.len(),
        taken.clock_offset
    );
    text.push_str(&missing(reading.columns));
    for rejected in reading.rejected.iter().take(MOST_TOLD) {
        let lease = rejected.lease.as_deref().map_or_else(|| "a row".to_owned(), |lease| format!("lease {lease:?}"));
        text.push_str(&format!("  not used: {lease}, column {}: {}\n", rejected.column, rejected.fault));
    }
    if let Some(more @ 1..) = reading.rejected.len().checked_sub(MOST_TOLD) {
        text.push_str(&format!("  not used: {more} rows more\n"));
    }
    if reading.over_limit > 0 {
        text.push_str(&format!("  not used: {} rows beyond max_leases\n", reading.over_limit));
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
