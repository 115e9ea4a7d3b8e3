//! `lease-exporter man`: the manual pages.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use super::Failure;
use super::exit::Exit;
use super::manual::{Manual, pages};
use super::print::print_bytes;

pub(super) const MANUAL: Manual = Manual {
    examples: &[
        ("lease-exporter man status | man -l -", "read the page of `status`"),
        ("lease-exporter man --directory=/usr/local/share/man/man1", "install all pages"),
    ],
    environment: &[],
    exits: &[(Exit::Ok, "the page was printed, or the pages written")],
};

/// The commands, each of which has a page.
const COMMANDS: [&str; 7] = ["status", "check", "presets", "demo", "scheduler", "completions", "man"];

/// Print a manual page, or write all of them into a folder.
///
/// Without a command, the page of the program itself. Pages are made of what the help is made of, so they say the same
/// and are of this very version.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = MANUAL.help())]
pub(super) struct Arguments {
    /// The command whose page to print
    #[arg(conflicts_with = "directory", value_parser = COMMANDS)]
    command: Option<String>,

    /// Write all pages into this folder instead, which is made if it is not there
    #[arg(long, value_name = "DIRECTORY", value_hint = clap::ValueHint::DirPath)]
    directory: Option<PathBuf>,
}

/// The manual of a command, or of the program itself.
fn manual_of(command: Option<&str>) -> Manual {
    match command {
        Some("status") => super::status::MANUAL,
        Some("check") => super::check::MANUAL,
        Some("presets") => super::presets::MANUAL,
        Some("demo") => super::demo::MANUAL,
        Some("scheduler") => super::scheduler::MANUAL,
        Some("completions") => super::completions::MANUAL,
        Some("man") => MANUAL,
        _ => super::serve::MANUAL,
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    if let Some(directory) = &arguments.directory {
        return written(directory).map_err(|error| {
            Failure::System(format!("cannot write manual pages into {}: {error}", directory.display()))
        });
    }
    if let Some((.., page)) = pages(manual_of).iter().find(|(command, ..)| *command == arguments.command) {
        print_bytes(page)?;
    }
    Ok(Exit::Ok)
}

fn written(directory: &Path) -> std::io::Result<Exit> {
    fs::create_dir_all(directory)?;
    for (_, name, page) in pages(manual_of) {
        fs::write(directory.join(name), page)?;
    }
    Ok(Exit::Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page() {
        let pages = pages(manual_of);
        assert_eq!(pages.iter().filter_map(|(command, ..)| command.as_deref()).collect::<Vec<_>>(), COMMANDS);
    }
}
