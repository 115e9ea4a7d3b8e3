//! Links between documents.

use std::collections::BTreeMap;

use super::markdown::{documents, prose};
use crate::harness::repository;

/// The anchor that GitHub gives a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_')).collect::<String>().replace(' ', "-")
}

fn anchors(document: &str) -> Vec<String> {
    let text = prose(document);
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let mut seen = BTreeMap::new();
    let unique = headings.map(|line| {
        let anchor = anchor(line.trim_start_matches('#'));
        let times = seen.entry(anchor.clone()).or_insert(0);
        *times += 1;
        if *times == 1 { anchor } else { format!("{anchor}-{}", *times - 1) }
    });
    unique.collect()
}

#[test]
fn every_link_between_documents_leads_to_a_file_and_a_heading() {
    let root = repository("");
    let mut links = 0;
    for document in documents() {
        let folder = root.join(&document).parent().unwrap().to_owned();
        for link in prose(&document).split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") {
                continue;
            }
            links += 1;
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { root.join(&document) } else { folder.join(file) };
            let target = target.canonicalize().unwrap_or_else(|error| panic!("{document}: {link}: {error}"));
            if !heading.is_empty() {
                let path = target.strip_prefix(root.canonicalize().unwrap()).unwrap().to_str().unwrap().to_owned();
                assert!(anchors(&path).iter().any(|anchor| anchor == heading), "{document}: {link}");
            }
        }
    }
    assert!(links > 100, "{links}");
}

#[test]
fn every_document_can_be_reached_from_the_readme() {
    let root = repository("").canonicalize().unwrap();
    let mut reached = vec!["README.md".to_owned()];
    let mut at = 0;
    while at < reached.len() {
        let document = reached[at].clone();
        let folder = root.join(&document).parent().unwrap().to_owned();
        for link in prose(&document).split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()) {
            let Ok(target) = folder.join(link).canonicalize() else { continue };
            let path = target.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
            if path.ends_with(".md") && !reached.contains(&path) {
                reached.push(path);
            }
        }
        at += 1;
    }
    let lost: Vec<_> = documents().into_iter().filter(|document| !reached.contains(document)).collect();
    assert_eq!(lost, [""; 0]);
}

#[test]
fn every_path_that_contributing_names_is_there() {
    let text = prose("CONTRIBUTING.md");
    let quoted = text.split('`').skip(1).step_by(2);
    let folders =
        ["src/", "tests/", "docs/", "alerts/", "deploy/", "benches/", "protocol/", "templates/", "build/", ".ci/"];
    let paths: Vec<_> = quoted.filter(|word| folders.iter().any(|folder| word.starts_with(folder))).collect();
    assert!(paths.len() > 40, "{paths:?}");
    for path in paths.into_iter().map(|path| path.split([' ', '*']).next().unwrap()) {
        assert!(repository(path).exists(), "{path}");
    }
}
