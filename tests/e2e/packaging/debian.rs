//! What the Debian package carries is there, and of use.

use crate::harness::repository;
use crate::harness::run;

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

/// But for what is of no use where there is the package: sources, manifests, and what builds an image.
#[test]
fn a_link_of_the_packages_documents_leads_somewhere_in_the_package() {
    const ELSEWHERE: [&str; 8] = [
        "CONTRIBUTING.md",
        "LICENSE",
        "benches/",
        "deploy/Dockerfile",
        "deploy/helm/",
        "deploy/kubernetes/",
        "deploy/systemd/",
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
    for document in ["README.md", "alerts/README.md", "deploy/README.md", "deploy/grafana/README.md"] {
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
