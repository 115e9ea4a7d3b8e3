//! The files under `alerts/`, and copies of them.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{contents, repository};

/// The recording rules.
pub(super) const RULES: &str = "lease.rules.yaml";
/// The alerting rules.
pub(super) const ALERTS: &str = "lease.alerts.yaml";

/// The folder `alerts/`.
pub(super) fn folder() -> PathBuf {
    repository("alerts")
}

/// A file under `alerts/` as text.
pub(super) fn text(name: &str) -> String {
    contents(&format!("alerts/{name}"))
}

/// Any file as text.
pub(super) fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// YAML as a tree.
pub(super) fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap()
}

/// The rules of all groups in a file.
pub(super) fn rules(file: &Value) -> Vec<Value> {
    let groups = file["groups"].as_array().unwrap();
    groups.iter().flat_map(|group| group["rules"].as_array().unwrap().clone()).collect()
}

/// The names of files in a folder under `alerts/` that end so, in order.
pub(super) fn listed(under: &str, ending: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder().join(under)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name.ends_with(ending)).collect();
    names.sort();
    assert!(!names.is_empty(), "nothing in alerts/{under} ends with {ending}");
    names
}

/// Rules of one's own beside a copy of the shipped tests.
pub(super) struct Copy(TempDir);

impl Copy {
    /// A copy with these two files in place of the shipped ones.
    pub(super) fn new(rules: &str, alerts: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("tests")).unwrap();
        for name in listed("tests", ".yaml") {
            let name = Path::new("tests").join(name);
            std::fs::copy(self::folder().join(&name), folder.path().join(&name)).unwrap();
        }
        std::fs::write(folder.path().join(RULES), rules).unwrap();
        std::fs::write(folder.path().join(ALERTS), alerts).unwrap();
        Self(folder)
    }

    /// Its folder.
    pub(super) fn folder(&self) -> &Path {
        self.0.path()
    }
}
