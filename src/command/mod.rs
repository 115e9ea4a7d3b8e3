//! The command line: parses the arguments, runs one command and returns its exit code.

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
mod scheduler;
mod serve;
mod signals;
pub mod sources;
mod status;
mod terminal;

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
    Scheduler(scheduler::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
}

/// Why a command failed. The variant says who must act, and so determines the exit code.
#[derive(Debug, Error)]
pub enum Failure {
    /// The command line or the configuration is wrong; the caller must correct it.
    #[error("{0}")]
    Configuration(String),
    /// The operating system refused an operation; the operator of the machine must act.
    #[error("{0}")]
    System(String),
}

impl Failure {
    /// The exit code.
    #[must_use]
    pub const fn exit(&self) -> Exit {
        match self {
            Self::Configuration(_) => Exit::Configuration,
            Self::System(_) => Exit::System,
        }
    }
}

/// Adds a tip to the error for an option before a command, for which clap has none.
fn with_tip(mut error: clap::Error) -> clap::Error {
    if error.kind() == ErrorKind::ArgumentConflict
        && let Some(ContextValue::String(command)) = error.get(ContextKind::InvalidSubcommand)
    {
        let tip = format!("options go after the command: `lease-exporter {command} [OPTIONS]`");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// Runs the command that the arguments name.
#[must_use]
#[expect(clippy::print_stderr, reason = "a command that fails reports the reason on standard error")]
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let command_line = match CommandLine::try_parse_from(arguments) {
        Ok(command_line) => command_line,
        Err(error) => {
            let error = with_tip(error);
            let exit = match error.print() {
                _ if error.use_stderr() => Exit::Configuration,
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
        Some(Command::Scheduler(arguments)) => scheduler::run(&arguments),
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
