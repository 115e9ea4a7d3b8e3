//! The files of the repository.

use std::path::{Path, PathBuf};

/// Where a file of the repository is; of an empty path, the repository itself.
pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A file of the repository as text, which has to be there.
pub(crate) fn contents(path: &str) -> String {
    std::fs::read_to_string(repository(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}
