//! Problems found in a configuration file: each with its line, all of them reported at once.

use std::fmt;

use crate::file::FileError;

/// A problem, and the line that it is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic<P> {
    /// The line, from 1; `None` if the problem is of the file as a whole.
    pub line: Option<u64>,
    /// The problem.
    pub problem: P,
}

/// The problems and warnings found in one file so far.
#[derive(Clone, Debug)]
pub struct Diagnostics<P> {
    problems: Vec<Diagnostic<P>>,
    warnings: Vec<Diagnostic<Box<str>>>,
}

/// A file that cannot be used, with every problem found in it, in the order of lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidFile<P> {
    file: String,
    problems: Vec<Diagnostic<P>>,
}

/// A setting that is valid and probably not intended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    file: String,
    diagnostic: Diagnostic<Box<str>>,
}

impl<P> Diagnostic<P> {
    /// Line 0 stands for the file as a whole.
    fn new(line: u64, problem: P) -> Self {
        Self { line: (line > 0).then_some(line), problem }
    }
}

impl<P> Default for Diagnostics<P> {
    fn default() -> Self {
        Self { problems: Vec::new(), warnings: Vec::new() }
    }
}

impl<P> Diagnostics<P> {
    /// Adds a problem on a line; line 0 stands for the file as a whole.
    pub fn note(&mut self, line: u64, problem: impl Into<P>) {
        self.problems.push(Diagnostic::new(line, problem.into()));
    }

    /// Adds a warning about a line.
    pub fn warn(&mut self, line: u64, text: impl fmt::Display) {
        self.warnings.push(Diagnostic::new(line, text.to_string().into()));
    }

    /// The value of a result. Its error is added as a problem on the line.
    pub fn keep<T, E: Into<P>>(&mut self, line: u64, result: Result<T, E>) -> Option<T> {
        result.map_err(|problem| self.note(line, problem)).ok()
    }

    /// Adds all problems and warnings of another collection.
    pub fn append<Q: Into<P>>(&mut self, other: Diagnostics<Q>) {
        let problem = |Diagnostic { line, problem }: Diagnostic<Q>| Diagnostic { line, problem: problem.into() };
        self.problems.extend(other.problems.into_iter().map(problem));
        self.warnings.extend(other.warnings);
    }

    /// The number of problems found so far.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.problems.len()
    }

    /// Whether no problem has been found so far. Warnings do not count.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.problems.is_empty()
    }

    /// The warnings about a file of this name.
    #[must_use]
    pub fn warnings(&self, file: &str) -> Vec<Warning> {
        let warning = |diagnostic: &Diagnostic<_>| Warning { file: file.to_owned(), diagnostic: diagnostic.clone() };
        self.warnings.iter().map(warning).collect()
    }

    /// The value made of the file of this name.
    ///
    /// # Errors
    /// Problems were found.
    pub fn finish<T>(mut self, file: &str, value: T) -> Result<T, InvalidFile<P>> {
        if self.problems.is_empty() {
            return Ok(value);
        }
        self.problems.sort_by_key(|diagnostic| diagnostic.line);
        Err(InvalidFile { file: file.to_owned(), problems: self.problems })
    }
}

impl<P> InvalidFile<P> {
    /// A file with one problem, on a line or of the file as a whole.
    pub fn new(file: &str, line: Option<u64>, problem: P) -> Self {
        Self { file: file.to_owned(), problems: vec![Diagnostic { line, problem }] }
    }

    /// The problems, at least one.
    #[must_use]
    pub fn problems(&self) -> &[Diagnostic<P>] {
        &self.problems
    }
}

impl<P: fmt::Display> fmt::Display for InvalidFile<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, Diagnostic { line, problem }) in self.problems.iter().enumerate() {
            f.write_str(if at > 0 { "\n" } else { "" })?;
            match line {
                Some(line) => write!(f, "{}:{line}: {problem}", self.file)?,
                None => write!(f, "{}: {problem}", self.file)?,
            }
        }
        Ok(())
    }
}

impl<P: fmt::Debug + fmt::Display> std::error::Error for InvalidFile<P> {}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Diagnostic { line, problem } = &self.diagnostic;
        write!(f, "{}:{}: warning: {problem}", self.file, line.unwrap_or_default())
    }
}

/// Why a file that a configuration names cannot be used: the predicate of a sentence about the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileFault {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] FileError),
    /// The file is too short for a key.
    #[error("has less than 16 bytes, which is easy to guess; make one with `head -c 32 /dev/urandom | base64`")]
    TooShort,
    /// The file is not text.
    #[error("is not UTF-8; save it as such")]
    NotText,
}

impl FileFault {
    /// How the path of a missing file is resolved, if a configuration names the file.
    pub(crate) const fn hint(self) -> &'static str {
        match self {
            Self::Read(FileError::Absent) => "; relative paths start at the configuration's folder",
            _ => "",
        }
    }
}

/// A value quoted in a message: shortened, with control characters escaped, and hidden if it may hold a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotedValue(Box<str>);

impl QuotedValue {
    const MAX_CHARS: usize = 60;
    /// The longest path that Linux takes.
    const MAX_PATH_CHARS: usize = 4096;

    pub(crate) fn new(value: &str) -> Self {
        Self::up_to(Self::MAX_CHARS, value)
    }

    /// The path of a file, which is quoted whole.
    pub(crate) fn path(value: &str) -> Self {
        Self::up_to(Self::MAX_PATH_CHARS, value)
    }

    fn up_to(max_chars: usize, value: &str) -> Self {
        if value.contains("://") || value.contains(['@', '=']) {
            return Self("(not shown)".into());
        }
        let mut chars = value.chars();
        let mut quoted: String = chars.by_ref().take(max_chars).flat_map(char::escape_debug).collect();
        if chars.next().is_some() {
            quoted.push('…');
        }
        Self(quoted.into())
    }
}

impl fmt::Display for QuotedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_quoted_short_and_never_if_it_may_hold_a_secret() {
        for (value, quoted) in [
            ("documents", "documents"),
            ("two\nlines", "two\\nlines"),
            ("postgres://u:planted@h/db", "(not shown)"),
            ("u:planted@h", "(not shown)"),
            ("password=planted", "(not shown)"),
        ] {
            assert_eq!(QuotedValue::new(value).to_string(), quoted);
        }
        assert_eq!(QuotedValue::path(&"é".repeat(61)).to_string(), "é".repeat(61));
        assert_eq!(QuotedValue::path("u:planted@h").to_string(), "(not shown)");
        assert_eq!(QuotedValue::new(&"é".repeat(61)).to_string(), format!("{}…", "é".repeat(60)));
    }

    #[test]
    fn problems_are_reported_in_the_order_of_lines_and_those_of_the_whole_file_first() {
        let mut found = Diagnostics::<String>::default();
        assert!(found.clone().finish("a.yml", ()).is_ok());
        found.note(3, "third");
        assert_eq!(found.keep::<(), _>(1, Err("first")), None);
        found.note(0, "whole");
        found.warn(2, "odd");
        assert_eq!(found.warnings("a.yml")[0].to_string(), "a.yml:2: warning: odd");
        let error = found.finish("a.yml", ()).unwrap_err();
        assert_eq!(error.to_string(), "a.yml: whole\na.yml:1: first\na.yml:3: third");
    }
}
