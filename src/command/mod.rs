//! The command line: what was typed made into one command, and what came of it into an exit code.

mod check;
mod completions;
mod demo;
mod exit;
mod exporter;
mod exposed_secrets;
mod listener;
mod man;
mod manual;
mod notify;
mod presets;
mod print;
mod reload;
pub mod scheduler;
mod serve;
mod signals;
pub mod sources;
mod status;
mod terminal;
mod web_config;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, Subcommand};
use thiserror::Error;

use crate::{build_info, log};

pub use exit::Exit;

/// Tells lease authority and work progress apart, for Prometheus.
///
/// Reads leases and the progress of their work from the store that the schedulers use, and says of each lease whether it
/// has no leader, is active, idle or stalled; what cannot be proven is unknown.
///
/// `lease-exporter demo` shows it at work without any configuration.
#[derive(Debug, Parser)]
#[command(
    name = "lease-exporter",
    version,
    long_version = build_info::DESCRIPTION,
    max_term_width = 100,
    after_long_help = serve::MANUAL.help(),
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub struct CommandLine {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: serve::Arguments,
}

#[derive(Debug, Subcommand)]
enum Command {
    Status(status::Arguments),
    Check(check::Arguments),
    Presets(presets::Arguments),
    Demo(demo::Arguments),
    Scheduler(scheduler::Args),
    Completions(completions::Arguments),
    Man(man::Arguments),
}

/// Why a command failed: who must act, and so the exit code.
#[derive(Debug, Error)]
pub enum Failure {
    /// What was typed or configured is wrong: for whoever did.
    #[error("{0}")]
    Configuration(String),
    /// The system did not let it: for whoever runs the machine.
    #[error("{0}")]
    System(String),
}

impl Failure {
    /// How the command ends.
    #[must_use]
    pub const fn exit(&self) -> Exit {
        match self {
            Self::Configuration(_) => Exit::Configuration,
            Self::System(_) => Exit::System,
        }
    }
}

impl From<scheduler::Error> for Failure {
    fn from(error: scheduler::Error) -> Self {
        if error.is_usage() { Self::Configuration(error.to_string()) } else { Self::System(error.to_string()) }
    }
}

/// The same error, with a way out where clap gives none: options of the exporter itself stand before a command.
fn with_tip(mut told: clap::Error) -> clap::Error {
    if told.kind() == ErrorKind::ArgumentConflict
        && let Some(ContextValue::String(command)) = told.get(ContextKind::InvalidSubcommand)
    {
        let tip = format!("options go after the command: `lease-exporter {command} [OPTIONS]`");
        told.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    told
}

/// Runs what the command line says.
#[must_use]
#[expect(clippy::print_stderr, reason = "a command that fails says why, once, where the person looks")]
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let command_line = match CommandLine::try_parse_from(arguments) {
        Ok(command_line) => command_line,
        Err(told) => {
            let told = with_tip(told);
            let exit = match told.print() {
                _ if told.use_stderr() => Exit::Configuration,
                Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                    eprintln!("lease-exporter: cannot write to standard output: {error}");
                    Exit::System
                }
                _ => Exit::Ok,
            };
            return exit.into();
        }
    };
    let result = match command_line.command {
        None => serve::run(&command_line.serve),
        Some(Command::Status(arguments)) => status::run(&arguments),
        Some(Command::Check(arguments)) => check::run(&arguments),
        Some(Command::Presets(arguments)) => presets::run(&arguments),
        Some(Command::Demo(arguments)) => demo::run(&arguments),
        Some(Command::Scheduler(arguments)) => scheduler::run(arguments).map_err(Failure::from),
        Some(Command::Completions(arguments)) => completions::run(&arguments),
        Some(Command::Man(arguments)) => man::run(&arguments),
    };
    log::finish();
    let exit = result.unwrap_or_else(|failure| {
        eprintln!("lease-exporter: {failure}");
        failure.exit()
    });
    exit.into()
}
