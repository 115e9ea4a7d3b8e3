//! What the Debian package carries is there, and of use.

use super::unit::repository;
use crate::harness::run;

/// The files and patterns that `Cargo.toml` packs.
fn assets() -> Vec<String> {
    let manifest = std::fs::read_to_string(repository("Cargo.toml")).unwrap();
    let assets = manifest.split("\nassets = [\n").nth(1).unwrap().split("\n]").next().unwrap().to_owned();
    assets.lines().map(|line| line.split('"').nth(1).unwrap_or_else(|| panic!("{line}")).to_owned()).collect()
}

#[test]
fn every_file_that_the_package_is_to_carry_is_there() {
    let assets = assets();
    assert!(assets.len() > 5, "{assets:?}");
    for asset in assets.iter().filter(|asset| *asset != "target/release/lease-exporter") {
        let path = repository(asset);
        let found = match asset.rsplit_once('*') {
            None => path.is_file(),
            Some((_, ending)) => std::fs::read_dir(path.parent().unwrap())
                .is_ok_and(|files| files.flatten().any(|file| file.file_name().to_string_lossy().ends_with(ending))),
        };
        assert!(found, "there is no {asset}");
    }
}

#[test]
fn the_packages_example_is_well_formed() {
    let checked = run(&["check", &format!("--config.file={}", repository("deploy/debian/exporter.yml").display())]);
    assert_eq!(checked.code, Some(0), "{}", checked.all());
}
