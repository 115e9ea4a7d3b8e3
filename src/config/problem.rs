//! The problems that a configuration can have.

use super::name_pattern::NamePatternFault;
use crate::diagnostic::{FileFault, InvalidFile, QuotedValue};
use crate::duration::DurationFault;
use crate::store::parameter::ValueFault;
use crate::store::section::StoreProblem;

/// A configuration that is not valid, with all problems.
pub type ConfigError = InvalidFile<Problem>;

pub(super) type Diagnostics = crate::diagnostic::Diagnostics<Problem>;

/// A problem: the setting, its value if that cannot be a secret, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum Problem {
    #[error("there is no such alert: `{value}`; the alerts are {known}")]
    Alert { value: QuotedValue, known: String },
    #[error("`{key}` cannot be this: `{value}`; write {known}")]
    Choice { key: &'static str, value: QuotedValue, known: &'static str },
    #[error(transparent)]
    Store(#[from] StoreProblem),
    #[error("the preset `{preset}` does not read {store}; it reads {reads}")]
    PresetOfOtherStore { preset: &'static str, store: &'static str, reads: String },
    #[error("the source says nothing of what to read; give it a `preset` or {}", with_article(.0))]
    NoQuery(&'static str),
    #[error("the source has both a `preset` and {}; leave one", with_article(.0))]
    PresetAndQuery(&'static str),
    #[error("`{key}` has no meaning for {store}; write `{instead}` instead, or use a `preset`")]
    QueryOfOtherStore { key: &'static str, store: &'static str, instead: &'static str },
    #[error("`{key}` cannot be this: `{value}`; {fault}")]
    Duration { key: &'static str, value: QuotedValue, fault: DurationFault },
    #[error("there is no such file; a relative path starts at the working directory")]
    NoFile,
    #[error("the file {0}")]
    File(FileFault),
    #[error("the file that `{key}` names, {path}, {fault}{}", fault.hint())]
    NamedFile { key: &'static str, path: QuotedValue, fault: FileFault },
    #[error("the preset `{preset}` has `{key}: {value}`; leave `{key}` out")]
    FixedByPreset { preset: &'static str, key: &'static str, value: &'static str },
    #[error("the preset `{preset}` has no parameter `{name}`; {instead}")]
    NoSuchParameter { preset: &'static str, name: QuotedValue, instead: String },
    #[error("`{name}` cannot be this: `{value}`; {fault}")]
    Parameter { name: &'static str, value: QuotedValue, fault: ValueFault },
    #[error("the preset `{preset}` needs to know `{name}` ({means}); give it under `parameters`")]
    MissingParameter { preset: &'static str, name: &'static str, means: &'static str },
    #[error("`parameters` are a preset's; write what they say into the query, and leave them out")]
    ParametersOfQuery,
    #[error(
        "this entry never applies, because the one on line {earlier} comes first and matches all that it does; put it before that one or take it out"
    )]
    NeverApplies { earlier: u64 },
    #[error("no source has such a name: `{value}`; the sources are {known}")]
    NoSuchSource { value: QuotedValue, known: String },
    #[error("`{key}` cannot be this: `{value}`; write a whole number from 1 to {most}")]
    Number { key: &'static str, value: QuotedValue, most: usize },
    #[error("there is no such metric: `{value}`; {close}")]
    Metric { value: QuotedValue, close: String },
    #[error("the alert rules need `{value}`: keep it, or name no alert under `leases`")]
    AlertsNeed { value: QuotedValue },
    #[error("the key `{0}` is missing; add it")]
    Missing(&'static str),
    #[error("a source cannot have this name: `{0}`; use up to 100 letters, digits, `_`, `.` and `-`")]
    Name(QuotedValue),
    #[error("another source has this name: `{value}`, on line {earlier}; give this one another")]
    NameTaken { value: QuotedValue, earlier: u64 },
    #[error(
        "there is nothing to read; add a source with a `name`, a `store`, and a `preset` or a `query` under `sources`"
    )]
    NoSources,
    #[error("`{key}` is not a pattern; {fault}")]
    Pattern { key: &'static str, fault: NamePatternFault },
    #[error("there is no such preset: `{value}`; the presets are {known}")]
    Preset { value: QuotedValue, known: String },
    #[error("`{key}` has no meaning for {store}; leave it out")]
    KeyOfOtherStore { key: String, store: &'static str },
    #[error(
        "`work` and `cadence` exclude each other; leave `cadence` to say that a run falls due now and then, or `work` to say that there is always something to do"
    )]
    WorkTwice,
    #[error("{0}")]
    Yaml(String),
}

/// The name of a key as a noun: `keys` is a plural.
pub(super) fn with_article(key: &str) -> String {
    if key.ends_with('s') { format!("`{key}`") } else { format!("a `{key}`") }
}
