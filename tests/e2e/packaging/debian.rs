//! The files of the Debian package are there and usable.

use std::fs;
use std::process::Command;

use crate::harness::process::{Process, program};
use crate::harness::store::folder;
use crate::harness::{contents, repository, run};

/// The files and patterns that `Cargo.toml` packs, and the folders that it packs them into.
fn assets() -> Vec<(String, String)> {
    let manifest = std::fs::read_to_string(repository("Cargo.toml")).unwrap();
    let assets = manifest.split("\nassets = [\n").nth(1).unwrap().split("\n]").next().unwrap().to_owned();
    let is_asset = |line: &&str| !line.trim_start().starts_with('#');
    let asset = |line: &str| {
        let mut quoted = line.split('"').skip(1).step_by(2).map(str::to_owned);
        quoted.next().zip(quoted.next()).unwrap_or_else(|| panic!("{line}"))
    };
    assets.lines().filter(is_asset).map(asset).collect()
}

#[test]
fn every_file_that_the_package_is_to_carry_is_there() {
    let assets = assets();
    assert!(assets.len() > 5, "{assets:?}");
    for (asset, _) in assets.iter().filter(|(asset, _)| !asset.starts_with("target/release/")) {
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
fn the_completions_and_manual_pages_that_the_package_is_to_carry_are_made() {
    let folder = folder();
    let mut manual = Command::new(repository(".ci/release/manual"));
    manual.arg(program()).arg(folder.path());
    let made = Process::start(manual).finish();
    assert_eq!(made.code, Some(0), "{}", made.all());
    let assets = assets();
    let is_made = |asset: &&str| asset.starts_with("completions/") || asset.starts_with("man/");
    let made = assets.iter().filter_map(|(asset, _)| asset.strip_prefix("target/release/")).filter(is_made);
    let mut carried = 0;
    for asset in made {
        carried += 1;
        let (of, name) = asset.split_once('/').unwrap();
        // `.ci/release/package` compresses the pages.
        let ending = name.trim_start_matches('*').trim_end_matches(".gz");
        let files = fs::read_dir(folder.path().join(of)).unwrap().flatten();
        let mut files = files.filter(|file| file.file_name().to_string_lossy().ends_with(ending));
        assert!(files.any(|file| file.metadata().unwrap().len() > 500), "{asset}");
    }
    assert_eq!(carried, 4, "{assets:?}");
    let archived = contents(".ci/release/package");
    assert!(archived.contains("'*/completions/*' '*/man/*'"), "the package is made of what the archive holds");
}

/// But for what is of no use where there is the package: sources, manifests, and what builds an image.
#[test]
fn a_link_of_the_packages_documents_leads_somewhere_in_the_package() {
    const ELSEWHERE: [&str; 9] = [
        "CONTRIBUTING.md",
        "LICENSE",
        "benches/",
        "deploy/Dockerfile",
        "deploy/helm/",
        "deploy/kubernetes/",
        "deploy/systemd/",
        "protocol/",
        "src/",
    ];
    let doc = "usr/share/doc/lease-exporter/";
    let carried: Vec<(String, String)> =
        assets().into_iter().filter_map(|(asset, to)| Some((asset, to.strip_prefix(doc)?.to_owned()))).collect();
    let is_carried = |link: &str| {
        carried.iter().any(|(asset, to)| {
            let (folder, name) = asset.rsplit_once('/').unwrap_or(("", asset));
            let matches = |rest: &str| match name.split_once('*') {
                None => rest == name,
                Some((_, ending)) => !rest.contains('/') && rest.ends_with(ending),
            };
            // A link to a folder is as good as a link into it.
            let leads =
                link.strip_prefix(to.as_str()).is_some_and(matches) || (link.ends_with('/') && to.starts_with(link));
            leads && folder == to.trim_end_matches('/')
        })
    };
    let mut links = 0;
    let mut documents = vec!["README.md".to_owned()];
    for folder in ["alerts", "deploy", "deploy/grafana", "docs", "docs/stores"] {
        let files = fs::read_dir(repository(folder)).unwrap().map(|file| file.unwrap().file_name());
        let names = files.map(|name| name.into_string().unwrap()).filter(|name| name.ends_with(".md"));
        documents.extend(names.map(|name| format!("{folder}/{name}")));
    }
    assert!(documents.len() >= 15, "{documents:?}");
    for document in &documents {
        assert!(is_carried(document), "{document}");
        let text = std::fs::read_to_string(repository(document)).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()) {
            if link.is_empty() || link.contains("://") {
                continue;
            }
            let mut path: Vec<&str> = document.split('/').collect();
            path.pop();
            for part in link.split('/') {
                match part {
                    ".." => drop(path.pop()),
                    part => path.push(part),
                }
            }
            let path = path.join("/");
            if !ELSEWHERE.iter().any(|elsewhere| path.starts_with(elsewhere)) {
                links += 1;
                assert!(is_carried(&path), "{document}: {link}");
            }
        }
    }
    assert!(links > 8, "{links}");
}

#[test]
fn the_packages_example_is_well_formed() {
    let checked = run(&["check", &format!("--config.file={}", repository("deploy/debian/exporter.yml").display())]);
    assert_eq!(checked.code, Some(0), "{}", checked.all());
}
