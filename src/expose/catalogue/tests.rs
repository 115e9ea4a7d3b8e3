//! The catalogue and the documents list the same families.

use std::collections::BTreeSet;
use std::path::Path;

use super::*;

fn file(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// The text between backticks at the beginning of a table's row, without labels.
fn named_in_table(text: &str, heading: &str) -> BTreeSet<String> {
    let section = text.split(heading).nth(1).unwrap().split("\n## ").next().unwrap();
    let first_cells = section.lines().filter(|line| line.starts_with("| `")).filter_map(|line| line.split('|').nth(1));
    let quoted = first_cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    quoted.map(|name| name.split('{').next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn the_documents_list_exactly_the_existing_metrics() {
    let there_are = family_names().chain(crate::self_metrics::SelfMetrics::NAMES).map(str::to_owned).collect();
    assert_eq!(named_in_table(&file("docs/metrics.md"), "\n## Families\n"), there_are);
}

#[test]
fn the_documents_list_exactly_the_existing_states_reasons_and_columns() {
    let sets: [(&str, &str, BTreeSet<String>); 3] = [
        ("docs/states.md", "\n## States\n", State::ALL.iter().map(State::to_string).collect()),
        ("docs/states.md", "\n## Reasons\n", Reason::ALL.iter().map(Reason::to_string).collect()),
        (
            "docs/query-contract.md",
            "\n## Columns\n",
            crate::lease::Column::ALL.iter().map(|column| column.to_string()).collect(),
        ),
    ];
    for (document, heading, there_are) in sets {
        assert_eq!(named_in_table(&file(document), heading), there_are, "{document}: {heading}");
    }
}

#[test]
fn names_follow_the_conventions() {
    let all: Vec<_> = family_names().collect();
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    for family in CATALOGUE {
        assert!(family.name.starts_with("lease_"), "{}", family.name);
        assert_eq!(family.name.ends_with("_total"), family.family_type() == FamilyType::Counter, "{}", family.name);
        assert_eq!(family.name.ends_with("_seconds"), family.unit() == Some("seconds"), "{}", family.name);
        assert_eq!(family.name.ends_with("_info"), family.family_type() == FamilyType::Info, "{}", family.name);
        assert!(family.help.ends_with('.') && !family.help.contains(['\n', '\\']), "{}", family.name);
    }
}

#[test]
fn the_rendered_self_metrics_are_those_that_are_named() {
    let own = crate::self_metrics::SelfMetrics::new().unwrap();
    own.web_config().unwrap().succeeded(Some(2e9));
    let text = own.text(crate::expose::Format::Text);
    let heads: BTreeSet<_> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
        .filter(|name| !name.starts_with("process_"))
        .collect();
    assert_eq!(heads, crate::self_metrics::SelfMetrics::NAMES.into_iter().collect());
}

#[test]
fn every_metric_named_in_the_documents_exists() {
    let there_are: BTreeSet<_> =
        family_names().chain(crate::self_metrics::SelfMetrics::NAMES).map(str::to_owned).collect();
    for document in ["README.md", "docs/metrics.md", "docs/http.md", "docs/operating.md", "docs/configuration.md"] {
        let text = file(document);
        let words =
            text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| word.starts_with("lease_"));
        for word in words.filter(|word| *word != "lease_exporter" && *word != "lease_ttl") {
            assert!(there_are.contains(word), "{document}: {word}");
        }
    }
}
