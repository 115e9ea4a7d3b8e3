//! The YAML file made into sources and policies.
//!
//! What is written is read into private types that only check the names of keys, and one conversion makes a [`Config`]
//! of them or says everything that is wrong, each with its line and what to do. Nothing else accepts the former, so
//! whoever has a [`Config`] need check nothing. No error repeats a secret, wherever in the file it stands.

mod access;
mod address;
mod clock;
mod file;
mod glob;
mod keys;
mod limits;
mod parameters;
mod policies;
mod problem;
#[cfg(test)]
mod properties;
mod raw;
mod secret_files;
mod source;
#[cfg(test)]
mod tests;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::diagnostic::{FileFault, QuotedValue};
use crate::duration;
use crate::file::FileError;
use crate::lease::{Policy, TokenKey};
use crate::suggestion::did_you_mean;
use crate::yaml;

pub use crate::diagnostic::Warning;
pub use crate::duration::DurationFault;
pub use access::Reads;
pub use glob::GlobFault;
pub use policies::SourcePolicies;
pub use problem::{ConfigError, Problem};
pub use source::{Origin, Source};

use limits::overridden;
use policies::LeaseEntries;
use problem::Diagnostics;
use raw::{MISPLACED, RawConfig, Text};

/// A configuration that can be used as it is.
#[derive(Clone, Debug)]
pub struct Config {
    /// What to read, in the order of the file; at least one.
    pub sources: Vec<Source>,
    /// The key that makes holders' tokens; without one, a random key per process has to do.
    pub token_key: Option<TokenKey>,
    /// The file that it was read from.
    pub token_key_file: Option<PathBuf>,
    /// The metric families not to expose.
    pub dropped: BTreeSet<String>,
    /// Settings that can be used as they are, and are hardly meant so.
    pub warnings: Vec<Warning>,
}

/// The metric families, for what a configuration says of them.
#[derive(Clone, Copy, Debug)]
pub struct Families<'a> {
    /// All that there are.
    pub all: &'a [&'a str],
    /// Those that the alert rules stand on.
    pub of_alerts: &'a [&'a str],
}

impl Config {
    /// Reads and checks a configuration file.
    ///
    /// # Errors
    /// The file or one that it names cannot be read, or what it says cannot be used: all that is wrong with it.
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

    /// Checks the text of a configuration. `file_name` is what errors call it; relative paths start at `base_dir`.
    ///
    /// # Errors
    /// What it says cannot be used: all that is wrong with it.
    pub fn parse(text: &str, file_name: &str, base_dir: &Path, families: Families<'_>) -> Result<Self, ConfigError> {
        let raw: RawConfig = yaml::read(text, &MISPLACED).map_err(|unreadable| {
            ConfigError::new(file_name, unreadable.line, Problem::Yaml(unreadable.to_string()))
        })?;
        let mut faults = Diagnostics::default();
        let config = Self::checked(&raw, base_dir, families, &mut faults);
        let warnings = faults.warnings(file_name);
        faults.finish(file_name, Self { warnings, ..config })
    }

    fn checked(raw: &RawConfig, base_dir: &Path, families: Families<'_>, faults: &mut Diagnostics) -> Self {
        let token_key = raw.token_key_file.as_ref().and_then(|path| {
            let key = file::token_key(&base_dir.join(&path.value)).map_err(|fault| Problem::NamedFile {
                key: "token_key_file",
                path: QuotedValue::path(&path.value),
                fault,
            });
            faults.keep(path.referenced.line(), key)
        });
        let defaults = overridden(Policy::default(), raw.defaults.limits(), faults);
        let names: Vec<&str> = raw.sources.iter().map(|source| name(source.value.name.as_ref())).collect();
        let entries = LeaseEntries::compile(&raw.leases, &names, defaults, faults);
        if raw.sources.is_empty() {
            faults.note(0, Problem::NoSources);
        }
        note_names_taken(raw, faults);
        let sources = raw.sources.iter().enumerate().filter_map(|(at, source)| {
            Source::new(&source.value, source.referenced.line(), entries.of_source(at), base_dir, faults)
        });
        let sources = sources.collect();
        let dropped = dropped(&raw.metrics.drop, families.all, faults);
        if raw.leases.iter().any(|entry| !entry.value.alerts.is_empty()) {
            note_alerts_without_ground(&raw.metrics.drop, families.of_alerts, faults);
        }
        let token_key_file = raw.token_key_file.as_ref().map(|path| base_dir.join(&path.value));
        Self { sources, token_key, token_key_file, dropped, warnings: Vec::new() }
    }
}

fn name(text: Option<&Text>) -> &str {
    text.map_or("", |text| &text.value)
}

fn note_names_taken(raw: &RawConfig, faults: &mut Diagnostics) {
    let mut lines = BTreeMap::new();
    for text in raw.sources.iter().filter_map(|source| source.value.name.as_ref()) {
        let line = text.referenced.line();
        match lines.entry(text.value.as_str()) {
            Entry::Vacant(free) => _ = free.insert(line),
            Entry::Occupied(taken) => {
                faults.note(line, Problem::NameTaken { value: QuotedValue::new(&text.value), earlier: *taken.get() });
            }
        }
    }
}

fn dropped(names: &[Text], families: &[&str], faults: &mut Diagnostics) -> BTreeSet<String> {
    for text in names.iter().filter(|text| !families.contains(&text.value.as_str())) {
        let suggestion = did_you_mean(&text.value, families.iter().copied());
        let close = suggestion.unwrap_or_else(|| "leave it out".to_owned());
        faults.note(text.referenced.line(), Problem::Metric { value: QuotedValue::new(&text.value), close });
    }
    names.iter().map(|text| text.value.clone()).collect()
}

fn note_alerts_without_ground(dropped: &[Text], of_alerts: &[&str], faults: &mut Diagnostics) {
    for text in dropped.iter().filter(|text| of_alerts.contains(&text.value.as_str())) {
        faults.note(text.referenced.line(), Problem::AlertsNeed { value: QuotedValue::new(&text.value) });
    }
}
