//! What can be wrong with a configuration, all of it to be put right by whoever wrote the file.

use std::fmt;

use super::duration::DurationFault;
use super::glob::GlobFault;
use crate::file::FileError;
use crate::preset::ValueFault;
use crate::store::NoZone;
use crate::store::keys::KeyFault;
use crate::yaml::Unreadable;

/// Everything that is wrong with one file, in the order of its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    file: String,
    faults: Vec<Fault>,
}

impl ConfigError {
    pub(super) fn new(file: &str, mut faults: Vec<Fault>) -> Self {
        faults.sort_by_key(|fault| fault.line);
        Self { file: file.into(), faults }
    }

    /// The faults, at least one.
    #[must_use]
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, fault) in self.faults.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            match fault.line {
                Some(line) => write!(f, "{}:{line}: {}", self.file, fault.problem)?,
                None => write!(f, "{}: {}", self.file, fault.problem)?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The line, from 1; `None` where the file as a whole is at fault.
    pub line: Option<u64>,
    /// What is wrong.
    pub problem: Problem,
}

/// Something that can be used as it is, and is hardly what was meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    file: String,
    line: u64,
    doubt: Doubt,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: warning: {}", self.file, self.line, self.doubt)
    }
}

/// What is hardly meant, and what to write instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Doubt {
    /// A clock that stands still during a transaction.
    #[error(
        "the query returns `{0}` as `store_now`, which is when its transaction began and not when its rows were read; \
         write `clock_timestamp()` or `statement_timestamp()`"
    )]
    TransactionClock(&'static str),
}

/// One thing that is wrong: what, the value if it can hold no secret, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum Problem {
    /// An alert that does not exist.
    #[error("there is no such alert: `{value}`; the alerts are {known}")]
    Alert { value: Shown, known: String },
    /// A way of giving `kind`, `clock` or `work` that does not exist.
    #[error("`{key}` cannot be this: `{value}`; write {known}")]
    Choice { key: &'static str, value: Shown, known: &'static str },
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
    Keys { value: Option<Shown>, fault: KeyFault },
    /// A length of time that cannot be used.
    #[error("`{key}` cannot be this: `{value}`; {fault}")]
    Duration { key: &'static str, value: Shown, fault: DurationFault },
    /// There is no configuration file of the name given.
    #[error("there is no such file; a relative path starts at the working directory")]
    NoFile,
    /// The file itself.
    #[error("the file {0}")]
    File(FileFault),
    /// A file that the configuration names, as it names it.
    #[error("the file that `{key}` names, {path}, {fault}{}", fault.hint())]
    NamedFile { key: &'static str, path: Shown, fault: FileFault },
    /// What the preset already says.
    #[error("the preset `{preset}` has `{key}: {value}`; leave `{key}` out")]
    FixedByPreset { preset: &'static str, key: &'static str, value: &'static str },
    /// A parameter that the preset does not have.
    #[error("the preset `{preset}` has no parameter `{name}`; {instead}")]
    NoSuchParameter { preset: &'static str, name: Shown, instead: String },
    /// A parameter's value that cannot be used.
    #[error("`{name}` cannot be this: `{value}`; {fault}")]
    Parameter { name: &'static str, value: Shown, fault: ValueFault },
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
    NoSuchSource { value: Shown, known: String },
    /// A number that cannot be used.
    #[error("`{key}` cannot be this: `{value}`; write a whole number from 1 to {most}")]
    Number { key: &'static str, value: Shown, most: usize },
    /// A metric that does not exist.
    #[error("there is no such metric: `{value}`; {close}")]
    Metric { value: Shown, close: String },
    /// A metric is dropped that the alerts need which are named for some lease.
    #[error("the alert rules need `{value}`: keep it, or name no alert under `leases`")]
    AlertsNeed { value: Shown },
    /// A key that must be there.
    #[error("the key `{0}` is missing; add it")]
    Missing(&'static str),
    /// A source's name with characters that it may not have.
    #[error("a source cannot have this name: `{0}`; use up to 100 letters, digits, `_`, `.` and `-`")]
    Name(Shown),
    /// A second source of one name.
    #[error("another source has this name: `{value}`, on line {earlier}; give this one another")]
    NameTaken { value: Shown, earlier: u64 },
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
    Preset { value: Shown, known: String },
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
    Zone { key: &'static str, value: Shown, fault: NoZone },
    /// A schema's name that would have to be quoted.
    #[error("`schema` cannot be this: `{0}`; write one name of letters, digits and `_`")]
    Schema(Shown),
    /// A kind of store that this build leaves out.
    #[error("stores of this kind are left out of this build: `{scheme}`; build it with the cargo feature `{feature}`")]
    FeatureOff { scheme: &'static str, feature: &'static str },
    /// A kind of store that no build reads yet.
    #[error("stores of this kind are not read yet: `{scheme}`; this build reads {known}")]
    SchemeNotBuilt { scheme: &'static str, known: String },
    /// A kind of store that does not exist here.
    #[error("there is no such kind of store: `{scheme}`; this build reads {known}")]
    Scheme { scheme: Shown, known: String },
    /// `work` and `cadence` say two things of one.
    #[error(
        "`work` and `cadence` exclude each other; leave `cadence` to say that a run falls due now and then, or `work` to say that there is always something to do"
    )]
    WorkTwice,
    /// What is not YAML, or not of the right shape.
    #[error("{0}")]
    Yaml(#[from] YamlFault),
}

/// What the reader of YAML says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct YamlFault(pub(super) Unreadable);

/// Why a file cannot be used, as the predicate of a sentence about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileFault {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] FileError),
    /// It is too short for a key.
    #[error("has less than 16 bytes, which is easy to guess; make one with `head -c 32 /dev/urandom | base64`")]
    TooShort,
    /// It is not text.
    #[error("is not UTF-8; save it as such")]
    NotText,
}

impl FileFault {
    /// Where a file that is not there was looked for, if a configuration names it.
    pub(crate) const fn hint(self) -> &'static str {
        match self {
            Self::Read(FileError::Absent) => "; relative paths start at the configuration's folder",
            _ => "",
        }
    }
}

/// A value as an error may repeat it: short, without control characters, and not at all where it looks like something
/// that holds a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown(Box<str>);

impl Shown {
    const LONGEST: usize = 60;
    /// The longest path that Linux takes.
    const LONGEST_PATH: usize = 4096;

    pub(crate) fn new(value: &str) -> Self {
        Self::up_to(Self::LONGEST, value)
    }

    /// The path of a file, which is no use in part.
    pub(crate) fn path(value: &str) -> Self {
        Self::up_to(Self::LONGEST_PATH, value)
    }

    fn up_to(longest: usize, value: &str) -> Self {
        if value.contains("://") || value.contains(['@', '=']) {
            return Self("(not shown)".into());
        }
        let mut letters = value.chars();
        let mut shown: String = letters.by_ref().take(longest).flat_map(char::escape_debug).collect();
        if letters.next().is_some() {
            shown.push('…');
        }
        Self(shown.into())
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The faults found so far, and what is doubted.
#[derive(Debug, Default)]
pub(super) struct Faults {
    faults: Vec<Fault>,
    doubts: Vec<(u64, Doubt)>,
}

impl Faults {
    /// Takes note of what is wrong on a line; line 0 is the file as a whole.
    pub(super) fn note(&mut self, line: u64, problem: Problem) {
        self.faults.push(Fault { line: (line > 0).then_some(line), problem });
    }

    /// Takes note of what is hardly meant on a line.
    pub(super) fn doubt(&mut self, line: u64, doubt: Doubt) {
        self.doubts.push((line, doubt));
    }

    /// What is hardly meant in a file of this name.
    pub(super) fn warnings(&self, file: &str) -> Vec<Warning> {
        self.doubts.iter().map(|&(line, doubt)| Warning { file: file.to_owned(), line, doubt }).collect()
    }

    /// How many there are so far.
    pub(super) const fn count(&self) -> usize {
        self.faults.len()
    }

    /// The value, or takes note of why there is none.
    pub(super) fn keep<T>(&mut self, line: u64, result: Result<T, Problem>) -> Option<T> {
        result.map_err(|problem| self.note(line, problem)).ok()
    }

    /// The value, if nothing was wrong.
    pub(super) fn or<T>(self, file: &str, value: T) -> Result<T, ConfigError> {
        if self.faults.is_empty() { Ok(value) } else { Err(ConfigError::new(file, self.faults)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_shown_short_and_never_where_it_may_hold_a_secret() {
        for (value, shown) in [
            ("documents", "documents"),
            ("two\nlines", "two\\nlines"),
            ("postgres://u:planted@h/db", "(not shown)"),
            ("u:planted@h", "(not shown)"),
            ("password=planted", "(not shown)"),
        ] {
            assert_eq!(Shown::new(value).to_string(), shown);
        }
        assert_eq!(Shown::path(&"é".repeat(61)).to_string(), "é".repeat(61));
        assert_eq!(Shown::path("u:planted@h").to_string(), "(not shown)");
        assert_eq!(Shown::new(&"é".repeat(61)).to_string(), format!("{}…", "é".repeat(60)));
    }
}
