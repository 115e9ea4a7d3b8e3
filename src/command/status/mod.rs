//! `lease-exporter status`: the states of all leases as a table, once or repeatedly.

mod change_log;
mod frame;
mod readings;
mod watch;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::exit::Exit;
use super::manual::{Manual, NO_COLOR};
use super::print::print;
use super::serve::{CONFIG_FILE, LogArguments, block_on};
use super::terminal::{can_rewrite, paint_part, state_style, supports_colour};
use super::{Failure, sources};
use crate::duration::{Zero, duration};
use crate::expose::{StateCounts, table};
use crate::lease::{SourceSnapshot, State};

pub(super) const MANUAL: Manual = Manual {
    examples: &[
        ("lease-exporter status --config.file=exporter.yml", "every lease, once"),
        ("lease-exporter status --config.file=exporter.yml --watch", "every lease, the worst first, until Ctrl-C"),
        (
            "lease-exporter status --config.file=exporter.yml --watch=10s | grep ' stalled '",
            "one line for each lease that stalls",
        ),
    ],
    environment: &[CONFIG_FILE, NO_COLOR],
    exits: &[
        (Exit::Ok, "every lease is active or idle"),
        (Exit::Unhealthy, "a lease is stalled or has no leader, and none is unknown"),
        (Exit::Unknown, "a lease is unknown, or a source could not be read"),
    ],
};

/// Print the state of each lease, once or repeatedly.
///
/// Reads every source and prints one line for each lease, with the reason below it. Facts that need more than one reading,
/// such as whether a cursor moves, are unknown at the first reading.
///
/// With --watch, the sources are read repeatedly until Ctrl-C, and later readings build on earlier ones. On a terminal, the
/// table is redrawn, the worst leases first, as far as it fits. Elsewhere, one line is printed for each lease, and then one
/// for each change of a lease's state or reason, and when a source becomes readable or unreadable. The leases of a source
/// that cannot be read are unknown. The exit code follows from the last readings.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = MANUAL.help())]
pub(super) struct Arguments {
    /// The configuration: the sources to read, and the limits of each lease
    #[arg(long = "config.file", value_name = "FILE", env = CONFIG_FILE.0, value_parser = sources::file(), value_hint = clap::ValueHint::FilePath)]
    config_file: Option<PathBuf>,

    /// Read repeatedly until Ctrl-C, at an INTERVAL such as 10s; 2s if none is given
    #[arg(
        short,
        long,
        value_name = "INTERVAL",
        num_args = 0..=1,
        default_missing_value = "2s",
        value_parser = interval
    )]
    watch: Option<Duration>,

    #[command(flatten)]
    log: LogArguments,
}

/// The shortest interval, which limits the load on the machine and the stores.
const MIN_INTERVAL: Duration = Duration::from_millis(100);

fn interval(text: &str) -> Result<Duration, String> {
    match duration(text, Zero::Refused) {
        Ok(interval) if interval < MIN_INTERVAL => Err("it must be at least `100ms`".to_owned()),
        interval => interval.map_err(|fault| fault.to_string()),
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let is_full_screen = arguments.watch.is_some() && can_rewrite(&io::stdout());
    // The log would overwrite a table on the same terminal. The table shows the problems of sources as well.
    if !(is_full_screen && can_rewrite(&io::stderr())) {
        arguments.log.start();
    }
    let config = sources::load_config(sources::required(arguments.config_file.as_deref())?)?;
    let observer = sources::temporary_observer(&config)?;
    match arguments.watch {
        Some(every) => block_on(watch::run(&observer, every, is_full_screen))?,
        None => {
            let readings = block_on(readings::read_once(&observer))?;
            let snapshots: Vec<_> = readings.iter().map(|reading| &*reading.snapshot).collect();
            print(text(&snapshots, supports_colour(&io::stdout())))?;
            Ok(exit_code(&snapshots))
        }
    }
}

fn text(snapshots: &[&SourceSnapshot], colour: bool) -> String {
    let mut text: String = table::source_problems(snapshots).into_iter().map(|line| line + "\n").collect();
    let leases: Vec<_> =
        snapshots.iter().flat_map(|snapshot| snapshot.leases.iter().map(|status| (*snapshot, status))).collect();
    for line in table::lines(&leases, table::NameWidth::Full) {
        text.push_str(&if colour { paint_state(&line.text, &line) } else { line.text });
        text.push('\n');
    }
    text
}

/// The text of a line, which may have been cut, with its state coloured.
fn paint_state(text: &str, line: &table::TableLine) -> String {
    match &line.state {
        Some((state, range)) => paint_part(state_style(*state), text, range),
        None => text.to_owned(),
    }
}

/// The exit code for these snapshots.
fn exit_code(snapshots: &[&SourceSnapshot]) -> Exit {
    let counts = StateCounts::of(snapshots);
    let any = |state| counts.in_state(state) > 0;
    let has_failed = snapshots.iter().any(|snapshot| snapshot.health.outcome.is_err());
    if has_failed || any(State::Unknown) {
        Exit::Unknown
    } else if any(State::Stalled) || any(State::NoLeader) {
        Exit::Unhealthy
    } else {
        Exit::Ok
    }
}
