//! How a release and its image get to where they are had, and that this can be done again. What asks the forge and the
//! registry is played by a script that writes down what it was asked.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::harness::process::{Finished, Process};
use crate::harness::repository;
use crate::harness::store::folder;

/// Runs a script of a release with a stand-in for a program, and gives what that was asked, line by line.
fn with_stand_in(name: &str, answers: &str, script: &str, arguments: &[&str]) -> (Finished, Vec<String>) {
    let folder = folder();
    let (program, asked) = (folder.path().join(name), folder.path().join("asked"));
    let text = format!("#!/bin/sh\necho \"$*\" >>{}\ncase \"$*\" in\n{answers}\nesac\n", asked.display());
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(repository(".ci/release").join(script));
    command.args(arguments).env("PATH", path).current_dir(folder.path());
    let finished = Process::start(command).finish();
    let asked = fs::read_to_string(asked).unwrap_or_default().lines().map(str::to_owned).collect();
    (finished, asked)
}

/// Publishes a tag where the forge answers so, and gives what was changed there.
fn publish(tag: &str, view: &str, published: &str) -> (Finished, Vec<String>) {
    let dist = folder();
    fs::write(dist.path().join("archive"), "").unwrap();
    let answers = format!("'release view '*) {view} ;;\n'release list '*) printf '{published}' ;;");
    let arguments = [tag, "notes.md", dist.path().to_str().unwrap()];
    let (finished, mut asked) = with_stand_in("gh", &answers, "publish", &arguments);
    asked.retain(|line| !line.starts_with("release view ") && !line.starts_with("release list "));
    let asked = asked.into_iter().map(|line| line.replace(arguments[2], "DIST")).collect();
    (finished, asked)
}

const NOT_FOUND: &str = "echo 'release not found' >&2; exit 1";
const CREATE: &str = "release create v1.2.3 --verify-tag --draft --title 1.2.3 --notes-file notes.md";
const UPLOAD: &str = "release upload v1.2.3 --clobber -- DIST/archive";
const LATEST: &str = "release edit v1.2.3 --draft=false --prerelease=false --latest";

#[test]
fn a_release_is_a_draft_until_all_its_files_are_there() {
    let (finished, asked) = publish("v1.2.3", NOT_FOUND, "v1.2.2\\nv1.1.9\\n");
    assert_eq!(finished.code, Some(0), "{}", finished.all());
    assert_eq!(asked, [CREATE, UPLOAD, LATEST]);
}

#[test]
fn draft_of_an_aborted_run_is_finished_and_a_published_release_is_not_changed() {
    let (finished, asked) = publish("v1.2.3", "echo true", "");
    assert_eq!((finished.code, asked), (Some(0), vec![UPLOAD.to_owned(), LATEST.to_owned()]));
    let (finished, asked) = publish("v1.2.3", "echo false", "v1.2.3\\n");
    assert_eq!((finished.code, asked), (Some(0), vec![]));
}

#[test]
fn unreachable_forge_is_not_treated_as_a_forge_without_releases() {
    let (finished, asked) = publish("v1.2.3", "echo 'error connecting' >&2; exit 1", "");
    assert_eq!((finished.code, asked), (Some(1), vec![]));
    assert!(finished.stderr.contains("error connecting"), "{}", finished.stderr);
}

#[test]
fn latest_release_is_the_highest_version_without_candidates() {
    let (_, asked) = publish("v1.2.3", NOT_FOUND, "v1.10.0\\nv1.2.2\\n");
    assert_eq!(asked[2], "release edit v1.2.3 --draft=false --prerelease=false --latest=false");
    let (_, asked) = publish("v1.2.3-rc.1", NOT_FOUND, "");
    assert_eq!(asked[2], "release edit v1.2.3-rc.1 --draft=false --prerelease --latest=false");
}

#[test]
fn an_image_is_pushed_once_for_a_version_and_stays_what_it_is() {
    let push = |found: &str| {
        let answers = format!("*--format*) echo sha256:abc ;;\n'buildx imagetools inspect '*) {found} ;;");
        let (finished, asked) = with_stand_in("docker", &answers, "push", &["host/us/lease-exporter", "1.2.3"]);
        assert_eq!((finished.code, finished.stdout.trim()), (Some(0), "sha256:abc"), "{}", finished.all());
        asked
    };
    let asked = push("exit 1");
    let name = "host/us/lease-exporter:1.2.3";
    assert!(asked.contains(&format!("tag lease-exporter:arm64 {name}-arm64")), "{asked:?}");
    assert!(asked.contains(&format!("buildx imagetools create --tag {name} {name}-amd64 {name}-arm64")), "{asked:?}");
    let asked = push("exit 0");
    assert!(asked.iter().all(|line| line.starts_with("buildx imagetools inspect ")), "{asked:?}");
}

/// Every path that the last stage takes from the first is there when the first is replaced.
#[test]
fn the_image_of_a_release_is_made_of_its_archive() {
    let (dist, made) = (folder(), folder());
    let packed = dist.path().join("lease-exporter-1.2.3.linux-arm64");
    fs::create_dir(&packed).unwrap();
    for name in ["lease-exporter", "LICENSE", "NOTICES", "README.md"] {
        fs::write(packed.join(name), format!("the {name} of the archive")).unwrap();
    }
    let archive = dist.path().join("lease-exporter-1.2.3.linux-arm64.tar.gz");
    let mut tar = Command::new("tar");
    tar.arg("-czf").arg(archive).arg("-C").arg(dist.path()).arg(packed.file_name().unwrap());
    assert!(tar.status().unwrap().success());
    let mut image = Command::new(repository(".ci/release/image"));
    image.args(["1.2.3", "arm64"]).arg(dist.path()).arg(made.path());
    let finished = Process::start(image).finish();
    assert_eq!(finished.code, Some(0), "{}", finished.all());

    let dockerfile = fs::read_to_string(repository("deploy/Dockerfile")).unwrap();
    let taken: Vec<&str> = dockerfile
        .lines()
        .filter(|line| line.starts_with("COPY --from=builder "))
        .map(|line| line.split(' ').find(|word| word.starts_with("/image/")).unwrap())
        .collect();
    assert_eq!(taken.len(), 4);
    for path in taken {
        assert!(made.path().join(path.trim_start_matches('/')).exists(), "{path}");
    }
    let said = |path: &str| fs::read_to_string(made.path().join("image").join(Path::new(path))).unwrap();
    assert_eq!(said("lease-exporter"), "the lease-exporter of the archive");
    assert_eq!(said("licenses/NOTICES"), "the NOTICES of the archive");
}

#[test]
fn the_notices_name_what_is_linked_in_with_its_licence_and_nothing_that_only_tests() {
    let finished = Process::start(Command::new(repository(".ci/release/notices"))).finish();
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let (packages, texts) = finished.stdout.split_once("\n====").unwrap();
    for package in ["tokio", "rusqlite", "sqlx-postgres", "redis", "ring"] {
        assert!(packages.lines().any(|line| line.starts_with(&format!("{package} "))), "{package}");
    }
    for package in ["criterion", "proptest", "cc", "lease-exporter"] {
        assert!(
            !packages.lines().any(|line| line.starts_with(&format!("{package} ")) && line.contains(": ")),
            "{package}"
        );
    }
    assert!(texts.contains("Permission is hereby granted, free of charge"));
}
