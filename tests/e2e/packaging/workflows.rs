//! What the workflows run is there, and stays what it was.

use std::os::unix::fs::PermissionsExt as _;

use super::unit::repository;

fn workflows() -> Vec<String> {
    let files = std::fs::read_dir(repository(".github/workflows")).unwrap();
    let workflows: Vec<_> = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    assert!(workflows.len() >= 2, "CI and release");
    workflows
}

#[test]
fn every_action_is_pinned_by_its_whole_commit_and_says_its_version() {
    let workflows = workflows();
    let actions: Vec<_> =
        workflows.iter().flat_map(|text| text.lines()).filter(|line| line.contains("uses:")).collect();
    assert!(!actions.is_empty());
    for action in actions {
        let (commit, version) = action.split_once('@').and_then(|(_, pin)| pin.split_once(" # v")).unwrap_or_default();
        assert!(commit.len() == 40 && commit.chars().all(|digit| digit.is_ascii_hexdigit()), "{action}");
        assert!(version.split('.').count() == 3, "{action}");
    }
}

#[test]
fn every_script_that_a_workflow_runs_is_there_to_be_run() {
    let workflows = workflows();
    let words = workflows.iter().flat_map(|text| text.split([' ', '\n', '(', ')']));
    let scripts: Vec<_> = words.filter(|word| word.starts_with(".ci/") && !word.ends_with('/')).collect();
    assert!(scripts.len() > 5, "{scripts:?}");
    for script in scripts.into_iter().filter(|script| !script.contains('`')) {
        let path = repository(script);
        assert!(path.metadata().is_ok_and(|file| file.permissions().mode() & 0o111 == 0o111), "{script}");
    }
}
