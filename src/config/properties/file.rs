//! Configuration files: broken ones, and equivalent ones.

use std::path::Path;

use proptest::prelude::*;

use crate::config::{Config, ConfigError, Families, Source};
use crate::fixtures::fixtures;
use crate::testing::cases;
use crate::testing::yaml::{check_positions, check_secrets_hidden, mutated_files, read_in_time, resource_bombs};

const FAMILIES: Families<'_> = Families {
    all: &["lease_state", "lease_held_seconds", "lease_holders", "lease_epoch"],
    of_alerts: &["lease_state"],
};

fn parse(text: &str) -> Result<Config, ConfigError> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/config");
    Config::parse(text, "config.yml", &folder, FAMILIES)
}

/// The content of a configuration as text, so that two configurations can be compared.
fn content(config: &Config) -> Vec<String> {
    let source_content = |source: &Source| {
        let names = ["retention-daily", "retention-x", "nightly", "billing", "a", "planted/b"];
        let policies: Vec<_> = names.iter().map(|name| source.policies.policy(name)).collect();
        format!(
            "{} {:?} {:?} {:?} {:?} {policies:?} {:?}",
            source.name,
            source.origin,
            source.rules,
            source.timeout,
            source.reuse_for,
            source.policies.expected_leases()
        )
    };
    config
        .sources
        .iter()
        .map(source_content)
        .chain([format!("{:?} {}", config.dropped, config.token_key.is_some())])
        .collect()
}

/// A change of a file that does not change its meaning.
#[derive(Clone, Copy, Debug)]
enum Rewrite {
    CrLf,
    Comments,
    EmptyLines,
    DocumentMarkers,
    NoFinalNewline,
}

impl Rewrite {
    const ALL: [Self; 5] = [Self::CrLf, Self::Comments, Self::EmptyLines, Self::DocumentMarkers, Self::NoFinalNewline];

    fn apply(self, text: &str) -> String {
        match self {
            Self::CrLf => text.replace("\r\n", "\n").replace('\n', "\r\n"),
            Self::Comments => format!("# é: [unclosed\n{text}\n# \"also: {{\n"),
            Self::EmptyLines => format!("\n\n{text}\n\n"),
            Self::DocumentMarkers if text.contains("---") => text.to_owned(),
            Self::DocumentMarkers => format!("---\n{text}\n...\n"),
            Self::NoFinalNewline => text.trim_end_matches(['\n', '\r']).to_owned(),
        }
    }
}

proptest! {
    #![proptest_config(cases(6_000))]

    #[test]
    fn mutated_file_is_accepted_or_refused_in_time_with_a_position_and_without_a_secret(
        text in prop_oneof![20 => mutated_files("config"), 1 => resource_bombs()]
    ) {
        match read_in_time(|| parse(&text))? {
            Ok(config) => prop_assert!(!config.sources.is_empty()),
            Err(error) => {
                prop_assert!(!error.problems().is_empty());
                let message = error.to_string();
                check_positions(&message, "config.yml", &text)?;
                prop_assert!(
                    !message.contains(['\0', '\u{1b}', '\u{202e}', '\r']),
                    "control characters reach the terminal: {message:?}"
                );
                check_secrets_hidden(&format!("{message}{error:?}{error:#?}"))?;
                let mut cause = std::error::Error::source(&error);
                while let Some(error) = cause {
                    check_secrets_hidden(&format!("{error}{error:?}"))?;
                    cause = error.source();
                }
            }
        }
    }
}

#[test]
fn equivalent_files_give_the_same_configuration() {
    let read = |path| std::fs::read_to_string(path).unwrap();
    let texts: Vec<String> = fixtures("config", "good-").into_iter().map(read).collect();
    let rewrites = prop::collection::vec(prop::sample::select(&Rewrite::ALL[..]), 1..4);
    proptest!(cases(6_000), |(text in prop::sample::select(texts), rewrites in rewrites, byte_order_mark in any::<bool>())| {
        let expected = parse(&text).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let rewritten = rewrites.iter().fold(text, |text, rewrite| rewrite.apply(&text));
        let rewritten = if byte_order_mark { format!("\u{feff}{rewritten}") } else { rewritten };
        let config = parse(&rewritten).map_err(|error| TestCaseError::fail(format!("{error}\n{rewritten}")))?;
        prop_assert_eq!(content(&config), content(&expected));
        prop_assert!(config.sources.iter().zip(&expected.sources).all(|(one, other)| one.is_read_like(other)));
    });
}
