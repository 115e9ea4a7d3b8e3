//! Files named by verdict, `good-….yml` and `bad-….yml`, and the text beside each bad one that says what is wrong with it.

use std::path::{Path, PathBuf};

/// The files of a folder under `tests/` whose names begin so.
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

/// Compares what was said of a bad file with the text beside it. With `UPDATE_GOLDEN=1` that is written anew.
pub(crate) fn assert_expected(path: &Path, said: &str) {
    let expected = path.with_extension("expected");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&expected, said).unwrap();
    }
    let expected = std::fs::read_to_string(&expected).unwrap_or_default();
    assert_eq!(said, expected, "{}", path.display());
}
