//! What is told of a command beyond its options: below its long help, and in its manual page.

mod page;

use clap::builder::Styles;

use super::exit::Exit;

pub(super) use page::pages;

/// What is told of a command beyond its options.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manual {
    /// What to type, and what comes of it.
    pub(super) examples: &'static [(&'static str, &'static str)],
    /// The variables that it heeds.
    pub(super) environment: &'static [(&'static str, &'static str)],
    /// How it ends, beside what every command has.
    pub(super) exits: &'static [(Exit, &'static str)],
}

/// How any command may end.
const ANY: [(Exit, &str); 2] = [
    (Exit::Configuration, "the command line or the configuration is wrong"),
    (Exit::System, "the system refused something, such as a file, a port or memory"),
];

/// What colours are for, wherever there are any.
pub(super) const NO_COLOR: (&str, &str) = ("NO_COLOR", "if it is not empty, nothing is coloured");

impl Manual {
    /// How the command may end, by code.
    pub(super) fn exits(&self) -> Vec<(Exit, &'static str)> {
        let mut exits: Vec<_> = self.exits.to_vec();
        exits.extend(ANY.into_iter().filter(|(exit, _)| self.exits.iter().all(|(own, _)| own != exit)));
        exits.sort_by_key(|(exit, _)| *exit);
        exits
    }

    /// What stands below the long help.
    pub(super) fn help(&self) -> String {
        let exits = self.exits();
        let sections = [
            section("Examples", self.examples.iter().map(|(typed, comes)| format!("  {typed}\n          {comes}"))),
            section("Environment", columns(self.environment.iter().map(|(name, means)| ((*name).to_owned(), *means)))),
            section("Exit codes", columns(exits.iter().map(|(exit, means)| (exit.code().to_string(), *means)))),
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
    rows.map(|(name, means)| format!("  {name:width$}  {means}")).collect()
}
