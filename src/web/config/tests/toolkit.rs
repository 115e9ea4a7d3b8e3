//! Compatibility of the file format with the exporter-toolkit.
//!
//! The fixtures cover the test files of the toolkit and more. Files named `good-` are accepted by both, `bad-` rejected by both,
//! `refused-here-` rejected by this exporter alone, and `taken-here-` rejected by the toolkit alone. If the results differ, the first
//! line of the file is its name in the table of `docs/http.md`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::{WebConfig, WebConfigError, folder, parse};
use crate::fixtures::{assert_expected, fixtures};

const FOLDER: &str = "web-config/toolkit";

/// Reads a fixture, in which a line `<<NAME>>` includes that file.
fn read(path: &Path, folder: &Path) -> Result<WebConfig, WebConfigError> {
    let whole = |line: &str| {
        let name = line.trim().strip_prefix("<<").and_then(|name| name.strip_suffix(">>"));
        let indent = &line[..line.len() - line.trim_start().len()];
        match name.map(|name| fs::read_to_string(folder.join(name)).unwrap()) {
            Some(content) => content.lines().map(|line| format!("{indent}{line}\n")).collect(),
            None => format!("{line}\n"),
        }
    };
    let text: String = fs::read_to_string(path).unwrap().lines().map(whole).collect();
    parse(&text, path.file_name().unwrap().to_str().unwrap(), folder)
}

#[test]
fn every_file_that_the_toolkit_accepts_is_accepted_unless_documented() {
    let folder = folder();
    for path in ["good-", "taken-here-"].into_iter().flat_map(|verdict| fixtures(FOLDER, verdict)) {
        if let Err(error) = read(&path, folder.path()) {
            panic!("{error}");
        }
    }
}

/// `UPDATE_GOLDEN=1` writes the expected texts.
#[test]
fn every_file_that_the_toolkit_rejects_is_rejected_and_all_rejections_have_the_expected_text() {
    let folder = folder();
    for path in ["bad-", "refused-here-"].into_iter().flat_map(|verdict| fixtures(FOLDER, verdict)) {
        let shown = read(&path, folder.path()).expect_err(&path.display().to_string()).to_string();
        assert!(!shown.contains("planted") && !shown.contains("$2y$"), "{shown}");
        assert_expected(&path, &format!("{shown}\n"));
    }
}

#[test]
fn the_documented_differences_to_the_toolkit_are_complete() {
    let of = |verdict: &str| -> BTreeSet<String> {
        let first =
            |path| fs::read_to_string(path).unwrap().lines().next().unwrap().strip_prefix("# ").unwrap().to_owned();
        fixtures(FOLDER, verdict).into_iter().map(first).collect()
    };
    let document = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/http.md")).unwrap();
    let table =
        document.split("\n| a web configuration with | the exporter-toolkit | this exporter |\n").nth(1).unwrap();
    let rows = table.lines().skip(1).map_while(|row| row.strip_prefix("| "));
    let (mut refused, mut taken) = (BTreeSet::new(), BTreeSet::new());
    for row in rows {
        let cells: Vec<&str> = row.trim_end_matches(" |").split(" | ").collect();
        let [what, there, here] = cells[..] else { panic!("not three cells: {row}") };
        let is_refused = |cell: &str| cell.starts_with("refuses");
        assert_ne!(is_refused(there), is_refused(here), "{row}");
        let verdict = if is_refused(here) { &mut refused } else { &mut taken };
        verdict.insert(what.to_owned());
    }
    assert_eq!(refused, of("refused-here-"));
    assert_eq!(taken, of("taken-here-"));
}
