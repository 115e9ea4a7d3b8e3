//! `deploy/Dockerfile`, checked without building it.

use crate::harness::{contents, repository};

/// The rest of the only line with this beginning.
fn after<'a>(text: &'a str, beginning: &str) -> &'a str {
    let mut found = text.lines().filter_map(|line| line.trim().strip_prefix(beginning));
    let first = found.next().unwrap_or_else(|| panic!("no line begins with {beginning:?}"));
    assert_eq!(found.next(), None, "several lines begin with {beginning:?}");
    first
}

#[test]
fn the_image_is_built_with_the_rust_that_the_package_asks_for() {
    let (dockerfile, package) = (contents("deploy/Dockerfile"), contents("Cargo.toml"));
    let asked = after(&package, "rust-version = ").trim_matches('"');
    let built = after(&dockerfile, "ARG RUST_VERSION=");
    assert!(built == asked || built.starts_with(&format!("{asked}.")), "{built}, where {asked} is asked for");
}

/// The build context lists files by name and excludes everything else.
#[test]
fn build_context_has_only_the_files_that_the_build_needs() {
    let ignore = contents(".dockerignore");
    let rules: Vec<&str> = ignore.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(rules[0], "*");
    let let_in: Vec<&str> = rules[1..].iter().map(|rule| rule.strip_prefix('!').unwrap()).collect();
    assert_eq!(
        let_in,
        [
            "Cargo.toml",
            "Cargo.lock",
            "LICENSE",
            "build",
            "src",
            "templates",
            "protocol",
            "store-address",
            "benches",
            "tests/support"
        ]
    );
    let folder = repository("");
    assert!(let_in.iter().all(|name| folder.join(name).exists()));
}

#[test]
fn image_runs_as_an_unprivileged_user() {
    let dockerfile = contents("deploy/Dockerfile");
    let (_, last) = dockerfile.rsplit_once("FROM scratch").unwrap();
    assert_eq!(after(last, "USER "), "65532:65532");
    assert!(!last.contains("RUN "), "there is no shell in it");
}
