//! The part of a command's help and manual page that clap does not generate: examples, environment, exit codes.

use clap::builder::Styles;

use super::exit::Exit;

/// Examples, environment variables and exit codes of a command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manual {
    /// Command lines with their effect.
    pub(super) examples: &'static [(&'static str, &'static str)],
    /// Environment variables with their meaning.
    pub(super) environment: &'static [(&'static str, &'static str)],
    /// The exit codes that differ from those of every command.
    pub(super) exits: &'static [(Exit, &'static str)],
}

/// The exit codes of every command.
const COMMON_EXITS: [(Exit, &str); 2] = [
    (Exit::Configuration, "the command line or the configuration is wrong"),
    (Exit::System, "the system refused something, such as a file, a port or memory"),
];

/// The entry of commands that print colours.
pub(super) const NO_COLOR: (&str, &str) = ("NO_COLOR", "disables colours if it is not empty");

impl Manual {
    /// All exit codes of the command, in order.
    pub(super) fn exits(&self) -> Vec<(Exit, &'static str)> {
        let mut exits: Vec<_> = self.exits.to_vec();
        exits.extend(COMMON_EXITS.into_iter().filter(|(exit, _)| self.exits.iter().all(|(own, _)| own != exit)));
        exits.sort_by_key(|(exit, _)| *exit);
        exits
    }

    /// The text below the long help.
    pub(super) fn help(&self) -> String {
        let exits = self.exits();
        let sections = [
            section(
                "Examples",
                self.examples.iter().map(|(command, effect)| format!("  {command}\n          {effect}")),
            ),
            section(
                "Environment",
                columns(self.environment.iter().map(|(name, meaning)| ((*name).to_owned(), *meaning))),
            ),
            section("Exit codes", columns(exits.iter().map(|(exit, meaning)| (exit.code().to_string(), *meaning)))),
        ];
        sections.into_iter().filter(|section| !section.is_empty()).collect::<Vec<_>>().join("\n\n")
    }
}

fn section(title: &str, lines: impl IntoIterator<Item = String>) -> String {
    let lines: Vec<_> = lines.into_iter().collect();
    if lines.is_empty() {
        return String::new();
    }
    let styles = Styles::styled();
    let header = styles.get_header();
    format!("{header}{title}:{header:#}\n{}", lines.join("\n"))
}

fn columns<'a>(rows: impl Iterator<Item = (String, &'a str)> + Clone) -> Vec<String> {
    let width = rows.clone().map(|(name, _)| name.len()).max().unwrap_or_default();
    rows.map(|(name, meaning)| format!("  {name:width$}  {meaning}")).collect()
}
