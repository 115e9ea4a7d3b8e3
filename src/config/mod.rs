//! The configuration file: sources and policies.
//!
//! The file is read into private types, which check the names of keys. They are converted into a [`Config`], or into an
//! error with every problem, its line and a remedy. A [`Config`] is valid and needs no further checks. No error repeats a
//! secret, wherever in the file it is.

mod file;
mod limits;
mod name_pattern;
mod parameters;
mod policies;
mod problem;
#[cfg(test)]
mod properties;
mod raw;
mod source;
#[cfg(test)]
mod tests;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::diagnostic::{FileFault, QuotedValue};
use crate::file::FileError;
use crate::lease::{Policy, TokenKey};
use crate::store::section::{Text, line};
use crate::suggestion::did_you_mean;
use crate::yaml;

pub use crate::diagnostic::Warning;
pub use crate::duration::DurationFault;
pub use name_pattern::NamePatternFault;
pub use policies::SourcePolicies;
pub use problem::{ConfigError, Problem};
pub use source::{Origin, Source};

use limits::overridden;
use policies::LeaseEntries;
use problem::Diagnostics;
use raw::{MISPLACED, RawConfig};

/// A configuration that can be used as it is.
#[derive(Clone, Debug)]
pub struct Config {
    /// The sources, in the order of the file; at least one.
    pub sources: Vec<Source>,
    /// The key for tokens of holders. Without a key, each process makes a random one.
    pub token_key: Option<TokenKey>,
    /// The file of the key.
    pub token_key_file: Option<PathBuf>,
    /// The metric families not to expose.
    pub dropped: BTreeSet<String>,
    /// Settings that are valid and probably not intended.
    pub warnings: Vec<Warning>,
}

/// The metric families that a configuration can name.
#[derive(Clone, Copy, Debug)]
pub struct Families<'a> {
    /// All families.
    pub all: &'a [&'a str],
    /// The families that the alert rules need.
    pub of_alerts: &'a [&'a str],
}

impl Config {
    /// Reads and checks a configuration file.
    ///
    /// # Errors
    /// All problems: the file or a file that it names cannot be read, or a setting is not valid.
    pub fn load(path: &Path, families: Families<'_>) -> Result<Self, ConfigError> {
        let file_name = path.display().to_string();
        let text = file::text(path).map_err(|fault| {
            let problem = match fault {
                FileFault::Read(FileError::Absent) => Problem::NoFile,
                fault => Problem::File(fault),
            };
            ConfigError::new(&file_name, None, problem)
        })?;
        let base_dir = path.parent().unwrap_or_else(|| Path::new(""));
        Self::parse(&text, &file_name, base_dir, families)
    }

    /// Checks the text of a configuration. `file_name` is its name in errors. Relative paths start at `base_dir`.
    ///
    /// # Errors
    /// All problems with the settings.
    pub fn parse(text: &str, file_name: &str, base_dir: &Path, families: Families<'_>) -> Result<Self, ConfigError> {
        let raw: RawConfig = yaml::read(text, &MISPLACED).map_err(|unreadable| {
            ConfigError::new(file_name, unreadable.line, Problem::Yaml(unreadable.to_string()))
        })?;
        let mut diagnostics = Diagnostics::default();
        let config = Self::checked(&raw, base_dir, families, &mut diagnostics);
        let warnings = diagnostics.warnings(file_name);
        diagnostics.finish(file_name, Self { warnings, ..config })
    }

    fn checked(raw: &RawConfig, base_dir: &Path, families: Families<'_>, diagnostics: &mut Diagnostics) -> Self {
        let token_key = raw.token_key_file.as_ref().and_then(|path| {
            let key = file::token_key(&base_dir.join(&path.value)).map_err(|fault| Problem::NamedFile {
                key: "token_key_file",
                path: QuotedValue::path(&path.value),
                fault,
            });
            diagnostics.keep(path.referenced.line(), key)
        });
        let defaults = overridden(Policy::default(), raw.defaults.limits(), diagnostics);
        let names: Vec<&str> = raw.sources.iter().map(|source| name(source.value.0.text("name"))).collect();
        let entries = LeaseEntries::compile(&raw.leases, &names, defaults, diagnostics);
        if raw.sources.is_empty() {
            diagnostics.note(0, Problem::NoSources);
        }
        note_names_taken(raw, diagnostics);
        let sources = raw
            .sources
            .iter()
            .enumerate()
            .filter_map(|(at, source)| Source::new(source, entries.of_source(at), base_dir, diagnostics));
        let sources = sources.collect();
        let dropped = dropped(&raw.metrics.drop, families.all, diagnostics);
        if raw.leases.iter().any(|entry| !entry.value.alerts.is_empty()) {
            note_alerts_without_ground(&raw.metrics.drop, families.of_alerts, diagnostics);
        }
        let token_key_file = raw.token_key_file.as_ref().map(|path| base_dir.join(&path.value));
        Self { sources, token_key, token_key_file, dropped, warnings: Vec::new() }
    }

    /// The files with secrets that it names, each with the key that names it.
    pub fn secret_files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let token_key = self.token_key_file.iter().map(|path| ("token_key_file", path.as_path()));
        token_key.chain(self.sources.iter().flat_map(|source| source.store.secret_files()))
    }
}

fn name(text: Option<&Text>) -> &str {
    text.map_or("", |text| &text.value)
}

fn note_names_taken(raw: &RawConfig, diagnostics: &mut Diagnostics) {
    let mut lines = BTreeMap::new();
    for text in raw.sources.iter().filter_map(|source| source.value.0.text("name")) {
        let line = line(text);
        match lines.entry(text.value.as_str()) {
            Entry::Vacant(free) => _ = free.insert(line),
            Entry::Occupied(taken) => {
                diagnostics
                    .note(line, Problem::NameTaken { value: QuotedValue::new(&text.value), earlier: *taken.get() });
            }
        }
    }
}

fn dropped(names: &[Text], families: &[&str], diagnostics: &mut Diagnostics) -> BTreeSet<String> {
    for text in names.iter().filter(|text| !families.contains(&text.value.as_str())) {
        let suggestion = did_you_mean(&text.value, families.iter().copied());
        let close = suggestion.unwrap_or_else(|| "leave it out".to_owned());
        diagnostics.note(line(text), Problem::Metric { value: QuotedValue::new(&text.value), close });
    }
    names.iter().map(|text| text.value.clone()).collect()
}

fn note_alerts_without_ground(dropped: &[Text], of_alerts: &[&str], diagnostics: &mut Diagnostics) {
    for text in dropped.iter().filter(|text| of_alerts.contains(&text.value.as_str())) {
        diagnostics.note(line(text), Problem::AlertsNeed { value: QuotedValue::new(&text.value) });
    }
}
