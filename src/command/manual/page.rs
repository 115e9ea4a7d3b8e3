//! Manual pages, made of what the help is made of.

use clap::{Command, CommandFactory as _};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use super::Manual;
use crate::build_info;
use crate::command::CommandLine;

/// The name of a page's file, such as `lease-exporter-status.1`.
type FileName = String;

/// Files that matter, as the Debian package has them.
const FILES: [(&str, &str); 6] = [
    ("/etc/lease-exporter/exporter.yml", "What the service reads, and the limits of each lease."),
    ("/etc/lease-exporter/secrets/", "Passwords and keys, which root alone can read; the service is handed them."),
    ("/etc/default/lease-exporter", "Further options of the service."),
    ("/usr/share/doc/lease-exporter/README.md", "The configuration, the states and reasons, the metrics."),
    ("/usr/share/lease-exporter/alerts/", "Rules for Prometheus, which alert nobody who has not asked for it."),
    ("/usr/share/lease-exporter/grafana/", "A dashboard."),
];

/// The page of the program and that of each command, with the command's name; the program's comes first, and has none.
pub(in crate::command) fn pages(
    manual_of: impl Fn(Option<&str>) -> Manual,
) -> Vec<(Option<String>, FileName, Vec<u8>)> {
    let mut program = CommandLine::command().disable_help_subcommand(true);
    program.build();
    let commands: Vec<Command> = program.get_subcommands().cloned().collect();
    let names: Vec<String> = commands.iter().map(full_name).collect();
    let of_program = ("lease-exporter".to_owned(), None, program.clone());
    let of_commands =
        commands.into_iter().map(|command| (full_name(&command), Some(command.get_name().to_owned()), command));
    std::iter::once(of_program)
        .chain(of_commands)
        .map(|(title, name, command)| {
            let others = if name.is_none() { names.clone() } else { vec!["lease-exporter".to_owned()] };
            let manual = manual_of(name.as_deref());
            (name, format!("{title}.1"), page(command, &title, manual, &others))
        })
        .collect()
}

fn full_name(command: &Command) -> String {
    format!("lease-exporter-{}", command.get_name())
}

fn page(command: Command, title: &str, manual: Manual, others: &[String]) -> Vec<u8> {
    let (has_commands, of_program) = (command.has_subcommands(), title == "lease-exporter");
    let usage = command.clone().render_usage().to_string();
    let man = Man::new(command.override_usage(usage.trim_start_matches("Usage: ").to_owned()));
    let mut page = Vec::new();
    // Writing into memory cannot fail.
    let _ = man.render_name_section(&mut page);
    let _ = man.render_synopsis_section(&mut page);
    let _ = man.render_description_section(&mut page);
    let _ = man.render_options_section(&mut page);
    if has_commands {
        let _ = man.render_subcommands_section(&mut page);
    }
    let mut rest = Roff::new();
    let exits = manual.exits();
    let exits: Vec<_> = exits.iter().map(|(exit, means)| (exit.code().to_string(), *means)).collect();
    section(&mut rest, "EXIT STATUS", exits.iter().map(|(code, means)| (code.as_str(), *means)));
    section(&mut rest, "ENVIRONMENT", manual.environment.iter().copied());
    if of_program {
        section(&mut rest, "FILES", FILES.into_iter());
    }
    section(&mut rest, "EXAMPLES", manual.examples.iter().copied());
    see_also(&mut rest, others);
    let _ = rest.to_writer(&mut page);
    joined(title, &String::from_utf8_lossy(&page)).into_bytes()
}

/// The sections as one page. Each begins with what is for the whole page; and two breaks for one gap are one too many.
fn joined(title: &str, sections: &str) -> String {
    const PREAMBLE: &str = ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n";
    let date = if build_info::DATE == "unknown" { "" } else { build_info::DATE };
    let head = format!(
        ".TH {} 1 \"{date}\" \"lease-exporter {}\" \"User Commands\"",
        title.to_uppercase(),
        build_info::VERSION
    );
    let sections = sections.replace(PREAMBLE, "").replace(".br\n\n.br\n", ".sp\n");
    format!("{PREAMBLE}{head}\n{sections}")
}

fn section<'a>(page: &mut Roff, title: &str, items: impl Iterator<Item = (&'a str, &'a str)>) {
    for (number, (term, means)) in items.enumerate() {
        if number == 0 {
            page.control("SH", [title]);
        }
        page.control("TP", []);
        page.text([bold(term)]);
        page.text([roman(means)]);
    }
}

fn see_also(page: &mut Roff, others: &[String]) {
    page.control("SH", ["SEE ALSO"]);
    let mut names = Vec::new();
    for other in others {
        names.extend((!names.is_empty()).then(|| roman(", ")));
        names.extend([bold(other), roman("(1)")]);
    }
    page.text(names);
}
