//! The files of the repository.

use std::path::{Path, PathBuf};

/// The path of a file of the repository. An empty path gives the repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The content of a file of the repository.
pub(crate) fn contents(path: &str) -> String {
    std::fs::read_to_string(repository(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}
