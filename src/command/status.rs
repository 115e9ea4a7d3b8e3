//! `lease-exporter status`: what the exporter would say, once, as a table.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use tokio::time::Instant;

use super::serve::{LogArguments, block_on};
use super::{Failure, sources};
use crate::expose::{Counts, table};
use crate::lease::State;

/// Print what is known of each lease, once.
///
/// Looks at every source once and prints one line for each lease, with the reason below it. What takes more than one
/// look to know, such as whether a cursor moves, is unknown here.
///
/// Exit code: 0 if every lease is active or idle, 1 if one is stalled or has no leader, 2 if one is unknown or a source
/// could not be read, 3 if the configuration is wrong.
#[derive(Clone, Debug, Args)]
pub(super) struct Arguments {
    /// The configuration: what to read, and the limits of each lease
    #[arg(long = "config.file", value_name = "FILE", env = "LEASE_EXPORTER_CONFIG_FILE")]
    config_file: Option<PathBuf>,

    #[command(flatten)]
    log: LogArguments,
}

/// Longer than any source's own limit need be.
const PATIENCE: Duration = Duration::from_secs(120);

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    arguments.log.start();
    let config = sources::configuration(sources::named(arguments.config_file.as_deref())?)?;
    let observer = sources::passing_observer(&config)?;
    let observed = block_on(observer.observe(Instant::now() + PATIENCE))?;
    let snapshots: Vec<_> = observed.iter().map(|observed| &*observed.snapshot).collect();
    let mut text = String::new();
    // Writing into a string cannot fail.
    let _ = table::write(&mut text, &snapshots);
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(|error| Failure::System(format!("cannot write to standard output: {error}")))?;
    let counts = Counts::of(&snapshots);
    let any = |state| counts.in_state(state) > 0;
    let unread = snapshots.iter().any(|snapshot| snapshot.health.outcome.is_err());
    Ok(ExitCode::from(if unread || any(State::Unknown) {
        2
    } else {
        u8::from(any(State::Stalled) || any(State::NoLeader))
    }))
}
