//! The commands of the workflows exist, and actions are pinned.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::harness::repository;

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

fn release() -> Value {
    serde_saphyr::from_str(&std::fs::read_to_string(repository(".github/workflows/release.yml")).unwrap()).unwrap()
}

#[test]
fn token_of_the_forge_is_sent_only_to_the_forge() {
    let mut given = 0;
    for line in workflows().iter().flat_map(|text| text.lines()).filter(|line| line.contains("github.token")) {
        given += 1;
        // What `gh` reads, and nothing else.
        assert_eq!(line.trim(), "GH_TOKEN: ${{ github.token }}");
    }
    assert!(given >= 2, "{given}");
    for (name, job) in release()["jobs"].as_object().unwrap() {
        for step in job["steps"].as_array().unwrap() {
            let logs_in = step["run"].as_str().is_some_and(|run| run.contains("docker login"));
            assert_eq!(logs_in, step["env"]["PASSWORD"] == "${{ secrets.IMAGE_REGISTRY_PASSWORD }}", "{name}: {step}");
            assert!(!logs_in || step["env"]["GH_TOKEN"].is_null(), "{name}: {step}");
        }
    }
}

#[test]
fn release_is_attested_before_publication_and_the_image_built_after_it() {
    let release = release();
    let jobs = &release["jobs"];
    let needs = |job: &str, other: &str| jobs[job]["needs"].as_array().unwrap().iter().any(|needed| needed == other);
    assert!(
        needs("attest", "test") && needs("attest", "build") && needs("publish", "attest") && needs("image", "publish")
    );
    let steps: Vec<String> = jobs["attest"]["steps"].as_array().unwrap().iter().map(Value::to_string).collect();
    let first = |text: &str| steps.iter().position(|step| step.contains(text)).unwrap_or_else(|| panic!("no {text}"));
    assert!(first("sha256sums.txt") < first("attest-build-provenance"));
    assert!(first("attest-build-provenance") < first("upload-artifact"));
    let image = jobs["image"]["steps"].to_string();
    assert!(image.contains("gh release download") && image.contains("sha256sum --check --strict"), "{image}");
    assert!(!image.contains("cargo"), "{image}");
}

#[test]
fn advisories_are_checked_where_they_can_be_fetched() {
    let ci: Value =
        serde_saphyr::from_str(&std::fs::read_to_string(repository(".github/workflows/ci.yml")).unwrap()).unwrap();
    let jobs: Vec<_> = ci["jobs"].as_object().unwrap().values().map(Value::to_string).collect();
    let check = "cargo deny --locked check advisories";
    assert_eq!(jobs.iter().filter(|job| job.contains(check)).count(), 1, "{jobs:?}");
    let run = std::fs::read_to_string(repository(".ci/run")).unwrap();
    assert!(run.contains("check bans licenses sources") && !run.contains("advisories"), "{run}");
    // The same version of it everywhere.
    let versions = |text: &str| text.split("cargo-deny@").skip(1).map(|rest| rest[..6].to_owned()).collect::<Vec<_>>();
    let (of_ci, of_run) = (versions(&jobs.concat()), versions(&run));
    assert!(!of_ci.is_empty() && of_ci == of_run, "{of_ci:?} {of_run:?}");
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
