//! Test files `good-….yml` and `bad-….yml`. Each bad file has a `.expected` file with its error message.

use std::path::{Path, PathBuf};

/// The files of a folder under `tests/` whose names begin with `verdict`.
pub(crate) fn fixtures(folder: &str, verdict: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = entries
        .filter(|path| path.extension().is_some_and(|extension| extension == "yml"))
        .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(verdict))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "no fixtures named {verdict}*.yml");
    paths
}

/// Compares the error message of a bad file with its `.expected` file. `UPDATE_GOLDEN=1` rewrites that file.
pub(crate) fn assert_expected(path: &Path, message: &str) {
    let expected = path.with_extension("expected");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&expected, message).unwrap();
    }
    let expected = std::fs::read_to_string(&expected).unwrap_or_default();
    assert_eq!(message, expected, "{}", path.display());
}
