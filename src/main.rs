//! Reads the command line and runs one command.

use std::process::ExitCode;

fn main() -> ExitCode {
    lease_exporter::panics::report();
    lease_exporter::command::run(std::env::args_os())
}
