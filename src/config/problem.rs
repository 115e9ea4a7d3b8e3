//! What can be wrong with a configuration, all of it to be put right by whoever wrote the file.

use super::duration::DurationFault;
use super::glob::GlobFault;
use crate::diagnostic::{FileFault, InvalidFile, QuotedValue};
use crate::preset::ValueFault;
use crate::store::NoZone;
use crate::store::keys::KeyFault;

/// Everything that is wrong with one file.
pub type ConfigError = InvalidFile<Problem>;

/// The problems found so far.
pub(super) type Diagnostics = crate::diagnostic::Diagnostics<Problem>;

/// One thing that is wrong: what, the value if it can hold no secret, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum Problem {
    /// An alert that does not exist.
    #[error("there is no such alert: `{value}`; the alerts are {known}")]
    Alert { value: QuotedValue, known: String },
    /// A way of giving `kind`, `clock` or `work` that does not exist.
    #[error("`{key}` cannot be this: `{value}`; write {known}")]
    Choice { key: &'static str, value: QuotedValue, known: &'static str },
    /// A preset that says nothing of how to read this kind of store.
    #[error("the preset `{preset}` does not read {store}; it reads {reads}")]
    Dialect { preset: &'static str, store: &'static str, reads: String },
    /// Neither a preset nor a query.
    #[error("the source says nothing of what to read; give it a `preset` or a `query`")]
    NothingToRead,
    /// Both a preset and a query.
    #[error("the source has both a `preset` and a `query`; leave one")]
    ReadTwice,
    /// Neither a preset nor keys.
    #[error("the source says nothing of what to read; give it a `preset` or `keys`")]
    NoKeys,
    /// Both a preset and keys.
    #[error("the source has both a `preset` and `keys`; leave one")]
    PresetAndKeys,
    /// A query where there is no SQL, or keys where there is.
    #[error("`{key}` has no meaning for {store}; write `{instead}` instead, or use a `preset`")]
    OtherLanguage { key: &'static str, store: &'static str, instead: &'static str },
    /// Keys of a source that do not fit together.
    #[error("{}{fault}", value.as_ref().map(|value| format!("`{value}`: ")).unwrap_or_default())]
    Keys { value: Option<QuotedValue>, fault: KeyFault },
    /// A length of time that cannot be used.
    #[error("`{key}` cannot be this: `{value}`; {fault}")]
    Duration { key: &'static str, value: QuotedValue, fault: DurationFault },
    /// There is no configuration file of the name given.
    #[error("there is no such file; a relative path starts at the working directory")]
    NoFile,
    /// The file itself.
    #[error("the file {0}")]
    File(FileFault),
    /// A file that the configuration names, as it names it.
    #[error("the file that `{key}` names, {path}, {fault}{}", fault.hint())]
    NamedFile { key: &'static str, path: QuotedValue, fault: FileFault },
    /// What the preset already says.
    #[error("the preset `{preset}` has `{key}: {value}`; leave `{key}` out")]
    FixedByPreset { preset: &'static str, key: &'static str, value: &'static str },
    /// A parameter that the preset does not have.
    #[error("the preset `{preset}` has no parameter `{name}`; {instead}")]
    NoSuchParameter { preset: &'static str, name: QuotedValue, instead: String },
    /// A parameter's value that cannot be used.
    #[error("`{name}` cannot be this: `{value}`; {fault}")]
    Parameter { name: &'static str, value: QuotedValue, fault: ValueFault },
    /// A parameter that has no default.
    #[error("the preset `{preset}` needs to know `{name}` ({means}); give it under `parameters`")]
    MissingParameter { preset: &'static str, name: &'static str, means: &'static str },
    /// Parameters for a query.
    #[error("`parameters` are a preset's; write what they say into the query, and leave them out")]
    ParametersOfQuery,
    /// An entry that can never apply.
    #[error(
        "this entry never applies, because the one on line {earlier} comes first and matches all that it does; put it before that one or take it out"
    )]
    NeverApplies { earlier: u64 },
    /// A pattern for sources that matches none.
    #[error("no source has such a name: `{value}`; the sources are {known}")]
    NoSuchSource { value: QuotedValue, known: String },
    /// A number that cannot be used.
    #[error("`{key}` cannot be this: `{value}`; write a whole number from 1 to {most}")]
    Number { key: &'static str, value: QuotedValue, most: usize },
    /// A metric that does not exist.
    #[error("there is no such metric: `{value}`; {close}")]
    Metric { value: QuotedValue, close: String },
    /// A metric is dropped that the alerts need which are named for some lease.
    #[error("the alert rules need `{value}`: keep it, or name no alert under `leases`")]
    AlertsNeed { value: QuotedValue },
    /// A key that must be there.
    #[error("the key `{0}` is missing; add it")]
    Missing(&'static str),
    /// A source's name with characters that it may not have.
    #[error("a source cannot have this name: `{0}`; use up to 100 letters, digits, `_`, `.` and `-`")]
    Name(QuotedValue),
    /// A second source of one name.
    #[error("another source has this name: `{value}`, on line {earlier}; give this one another")]
    NameTaken { value: QuotedValue, earlier: u64 },
    /// No source.
    #[error(
        "there is nothing to read; add a source with a `name`, a `store`, and a `preset` or a `query` under `sources`"
    )]
    NoSources,
    /// A password for what has none.
    #[error("an SQLite file has no password; leave `password_file` out and grant access to the file")]
    PasswordOfFile,
    /// A pattern that cannot be used.
    #[error("`{key}` is not a pattern; {fault}")]
    Pattern { key: &'static str, fault: GlobFault },
    /// A preset that does not exist.
    #[error("there is no such preset: `{value}`; the presets are {known}")]
    Preset { value: QuotedValue, known: String },
    /// An empty query.
    #[error(
        "the query is empty; write a statement that returns the columns of the reading contract, or use a `preset`"
    )]
    Query,
    /// A password in a store's address.
    #[error("the store's address has a secret in it, which is never needed there; take it out and use `password_file`")]
    SecretInAddress,
    /// A store's address without a scheme.
    #[error(
        "the store's address has no scheme; write it as `sqlite:///path/to/file` or `sqlite://path/beside/this/file`"
    )]
    NoScheme,
    /// An SQLite file's address that names none, or more than a file.
    #[error("the store's address is not one of an SQLite file: {0}")]
    SqliteAddress(&'static str),
    /// A server's address that lacks something, or has too much.
    #[error("the store's address is not one of {store}: {fault}")]
    ServerAddress { store: &'static str, fault: &'static str },
    /// A key that says nothing of this kind of store.
    #[error("`{key}` has no meaning for {store}; leave it out")]
    KeyOfOther { key: &'static str, store: &'static str },
    /// One of two files that only make sense together.
    #[error("`cert_file` and `key_file` belong together; give both or none")]
    HalfIdentity,
    /// Files for a connection that is not protected.
    #[error("`tls` has `mode: off` and files for it; leave one or the other out")]
    TlsOffWithFiles,
    /// `tls` for an address that says that there is none.
    #[error("`tls` contradicts `redis://`, which is not protected; write `rediss://`, or leave `tls` out")]
    TlsOfPlainScheme,
    /// `tls` turned off for an address that says that there is some.
    #[error("`mode: off` contradicts `rediss://`, which is protected; write `redis://`, or leave `mode` out")]
    TlsOffOfScheme,
    /// A time zone that cannot be used.
    #[error("`{key}` cannot be this: `{value}`; {fault}")]
    Zone { key: &'static str, value: QuotedValue, fault: NoZone },
    /// A schema's name that would have to be quoted.
    #[error("`schema` cannot be this: `{0}`; write one name of letters, digits and `_`")]
    Schema(QuotedValue),
    /// A kind of store that this build leaves out.
    #[error("stores of this kind are left out of this build: `{scheme}`; build it with the cargo feature `{feature}`")]
    FeatureOff { scheme: &'static str, feature: &'static str },
    /// A kind of store that no build reads yet.
    #[error("stores of this kind are not read yet: `{scheme}`; this build reads {known}")]
    SchemeNotBuilt { scheme: &'static str, known: String },
    /// A kind of store that does not exist here.
    #[error("there is no such kind of store: `{scheme}`; this build reads {known}")]
    Scheme { scheme: QuotedValue, known: String },
    /// `work` and `cadence` say two things of one.
    #[error(
        "`work` and `cadence` exclude each other; leave `cadence` to say that a run falls due now and then, or `work` to say that there is always something to do"
    )]
    WorkTwice,
    /// What is not YAML, or not of the right shape.
    #[error("{0}")]
    Yaml(String),
}
