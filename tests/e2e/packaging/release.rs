//! Tags and release notes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::process::{Finished, Process, program};
use crate::harness::repository;
use crate::harness::store::folder;

const CHANGELOG: &str = "# Changes\n\n## Unreleased\n\n- FEATURE: not yet.\n\n## 1.2.3 / 2026-12-24\n\n- FEATURE: new.\n\n  \
    How to move.\n- BUGFIX: whole.\n\n## 1.2.2 / 2026-12-01\n\n- FEATURE: old.\n\n## 1.2.1 / 2026-11-30\n\n## 1.2.0\n\n- FEATURE: no date.\n";

fn script(name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(repository(".ci/release").join(name));
    command.args(arguments);
    command
}

fn notes(version: &str) -> Finished {
    let folder = folder();
    let changelog = folder.path().join("CHANGELOG.md");
    fs::write(&changelog, CHANGELOG).unwrap();
    Process::start(script("notes", &[version, changelog.to_str().unwrap()])).finish()
}

#[test]
fn release_notes_are_the_section_of_the_changelog() {
    let notes = notes("1.2.3");
    assert_eq!(notes.code, Some(0), "{}", notes.all());
    assert_eq!(notes.stdout.trim_end(), "- FEATURE: new.\n\n  How to move.\n- BUGFIX: whole.");
}

#[test]
fn version_without_date_or_content_in_the_changelog_has_no_notes() {
    for version in ["1.2.1", "1.2.0", "1.2", "9.9.9", "Unreleased"] {
        let notes = notes(version);
        assert_eq!((notes.code, notes.stdout.as_str()), (Some(1), ""), "{version}: {}", notes.all());
        assert!(notes.stderr.contains(&format!("nothing under `## {version} / YYYY-MM-DD`")), "{}", notes.stderr);
    }
}

/// A repository whose package has this version and whose changelog has this text, with the scripts in it.
fn release(folder: &Path, version: &str, changelog: &str) -> PathBuf {
    let scripts = folder.join(".ci/release");
    fs::create_dir_all(&scripts).unwrap();
    fs::create_dir_all(folder.join("src")).unwrap();
    for name in ["check-tag", "notes"] {
        fs::copy(repository(".ci/release").join(name), scripts.join(name)).unwrap();
    }
    fs::write(folder.join("Cargo.toml"), format!("[package]\nname = \"lease-exporter\"\nversion = \"{version}\"\n"))
        .unwrap();
    fs::write(
        folder.join("Cargo.lock"),
        format!("version = 4\n\n[[package]]\nname = \"lease-exporter\"\nversion = \"{version}\"\n"),
    )
    .unwrap();
    fs::write(folder.join("src/lib.rs"), "").unwrap();
    fs::write(folder.join("CHANGELOG.md"), changelog).unwrap();
    scripts.join("check-tag")
}

fn check_tag(tag: &str, version: &str, changelog: &str) -> Finished {
    let folder = folder();
    let mut command = Command::new(release(folder.path(), version, changelog));
    command.arg(tag);
    Process::start(command).finish()
}

#[test]
fn a_tag_releases_the_version_that_cargo_and_the_changelog_name() {
    let checked = check_tag("v1.2.3", "1.2.3", CHANGELOG);
    assert_eq!((checked.code, checked.stdout.trim()), (Some(0), "1.2.3"), "{}", checked.all());
}

#[test]
fn a_tag_that_cargo_or_the_changelog_contradicts_releases_nothing() {
    let contradicted = [
        ("1.2.3", "1.2.3", CHANGELOG, "is no release"),
        ("v1.2", "1.2.3", CHANGELOG, "is no release"),
        ("v1.2.3", "1.2.4", CHANGELOG, "the tag says 1.2.3, Cargo.toml 1.2.4"),
        ("v1.2.1", "1.2.1", CHANGELOG, "nothing under `## 1.2.1"),
        ("v1.2.3", "1.2.3", "# Changes\n\n## Unreleased\n\n- FEATURE: new.\n", "nothing under `## 1.2.3"),
    ];
    for (tag, version, changelog, said) in contradicted {
        let checked = check_tag(tag, version, changelog);
        assert_eq!((checked.code, checked.stdout.as_str()), (Some(1), ""), "{tag}: {}", checked.all());
        assert!(checked.stderr.contains(said), "{tag}: {}", checked.stderr);
    }
}

#[test]
fn a_binary_that_needs_a_library_is_not_called_static() {
    let checked = Process::start(script("check-static", &[program().to_str().unwrap()])).finish();
    assert_eq!(checked.code, Some(1), "{}", checked.all());
    assert!(checked.stderr.contains("libc.so"), "{}", checked.stderr);
}
