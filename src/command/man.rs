//! `lease-exporter man`: the manual pages, generated from the same data as the help.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory as _};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use super::exit::Exit;
use super::manual::Manual;
use super::print::print;
use super::{CommandLine, Failure};
use crate::build_info;

pub(super) const MANUAL: Manual = Manual {
    examples: &[
        ("lease-exporter man status | man -l -", "read the page of `status`"),
        ("lease-exporter man --directory=/usr/local/share/man/man1", "install all pages"),
    ],
    environment: &[],
    exits: &[(Exit::Ok, "the page was printed, or the pages written")],
};

/// The commands that have a page, and the part of the page that clap does not generate.
const COMMANDS: [(&str, Manual); 7] = [
    ("status", super::status::MANUAL),
    ("check", super::check::MANUAL),
    ("presets", super::presets::MANUAL),
    ("demo", super::demo::MANUAL),
    ("scheduler", super::scheduler::MANUAL),
    ("completions", super::completions::MANUAL),
    ("man", MANUAL),
];

/// Print a manual page, or write all of them into a folder.
///
/// Without a command, the page of the program itself. Pages and help have the same content, and are of the same version
/// as the program.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = MANUAL.help())]
pub(super) struct Arguments {
    /// The command whose page to print
    #[arg(conflicts_with = "directory", value_parser = COMMANDS.map(|(name, _)| name))]
    command: Option<String>,

    /// Write all pages into this folder instead, which is created if necessary
    #[arg(long, value_name = "DIRECTORY", value_hint = clap::ValueHint::DirPath)]
    directory: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    if let Some(directory) = &arguments.directory {
        write_pages(directory).map_err(|error| {
            Failure::System(format!("cannot write manual pages into {}: {error}", directory.display()))
        })?;
    } else if let Some(page) = pages().into_iter().find(|page| page.command == arguments.command) {
        print(page.render())?;
    }
    Ok(Exit::Ok)
}

fn write_pages(directory: &Path) -> std::io::Result<()> {
    fs::create_dir_all(directory)?;
    pages().into_iter().try_for_each(|page| fs::write(directory.join(format!("{}.1", page.title)), page.render()))
}

/// A manual page before it is rendered.
struct Page {
    /// The command; `None` for the program itself.
    command: Option<String>,
    title: String,
    definition: Command,
    /// The titles of the pages that this one refers to.
    see_also: Vec<String>,
}

/// The pages of the program and of each command.
fn pages() -> Vec<Page> {
    let mut program = CommandLine::command().disable_help_subcommand(true);
    program.build();
    let title = |command: &Command| format!("lease-exporter-{}", command.get_name());
    let commands = program.get_subcommands().map(|command| Page {
        command: Some(command.get_name().to_owned()),
        title: title(command),
        definition: command.clone(),
        see_also: vec!["lease-exporter".to_owned()],
    });
    let see_also = program.get_subcommands().map(title).collect();
    let mut pages =
        vec![Page { command: None, title: "lease-exporter".to_owned(), definition: program.clone(), see_also }];
    pages.extend(commands);
    pages
}

/// The files that the Debian package installs.
const FILES: [(&str, &str); 7] = [
    ("/etc/lease-exporter/exporter.yml", "The configuration that the service reads."),
    (
        "/etc/lease-exporter/secrets/",
        "Passwords and keys, readable by root alone and passed to the service as credentials.",
    ),
    ("/etc/default/lease-exporter", "Further options of the service."),
    ("/usr/share/doc/lease-exporter/README.md", "How to start."),
    ("/usr/share/doc/lease-exporter/docs/", "The configuration, the states and reasons, the metrics."),
    ("/usr/share/lease-exporter/alerts/", "Rules for Prometheus. No alert fires until the configuration enables it."),
    ("/usr/share/lease-exporter/grafana/", "A dashboard."),
];

impl Page {
    fn render(self) -> Vec<u8> {
        let Self { command, title, mut definition, see_also } = self;
        let has_commands = definition.has_subcommands();
        // The generator would omit an empty argument of the title line.
        let date = if build_info::DATE == "unknown" { "\"\"" } else { build_info::DATE };
        let usage = definition.render_usage().to_string();
        let man = Man::new(definition.override_usage(usage.trim_start_matches("Usage: ").to_owned()))
            .title(title.to_uppercase())
            .section("1")
            .date(date)
            .source(format!("lease-exporter {}", build_info::VERSION))
            .manual("User Commands");
        let mut page = Vec::new();
        // Writing to memory cannot fail.
        let _ = man.render_title(&mut page);
        let _ = man.render_name_section(&mut page);
        let _ = man.render_synopsis_section(&mut page);
        let _ = man.render_description_section(&mut page);
        let _ = man.render_options_section(&mut page);
        if has_commands {
            let _ = man.render_subcommands_section(&mut page);
        }
        let manual = COMMANDS.into_iter().find(|(name, _)| command.as_deref() == Some(name));
        let manual = manual.map_or(super::serve::MANUAL, |(_, manual)| manual);
        let exits: Vec<_> =
            manual.exits().into_iter().map(|(exit, meaning)| (exit.code().to_string(), meaning)).collect();
        let mut rest = Roff::new();
        section(&mut rest, "EXIT STATUS", exits.iter().map(|(code, meaning)| (code.as_str(), *meaning)));
        section(&mut rest, "ENVIRONMENT", manual.environment.iter().copied());
        if command.is_none() {
            section(&mut rest, "FILES", FILES.into_iter());
        }
        section(&mut rest, "EXAMPLES", manual.examples.iter().copied());
        rest.control("SH", ["SEE ALSO"]);
        let mut names = Vec::new();
        for title in &see_also {
            names.extend((!names.is_empty()).then(|| roman(", ")));
            names.extend([bold(title), roman("(1)")]);
        }
        rest.text(names);
        let _ = rest.to_writer(&mut page);
        page
    }
}

/// Adds a section of terms with their meanings, unless there are none.
fn section<'a>(page: &mut Roff, title: &str, terms: impl Iterator<Item = (&'a str, &'a str)>) {
    for (number, (term, meaning)) in terms.enumerate() {
        if number == 0 {
            page.control("SH", [title]);
        }
        page.control("TP", []);
        page.text([bold(term)]);
        page.text([roman(meaning)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page() {
        let pages = pages();
        assert_eq!(
            pages.iter().filter_map(|page| page.command.as_deref()).collect::<Vec<_>>(),
            COMMANDS.map(|(name, _)| name)
        );
    }
}
