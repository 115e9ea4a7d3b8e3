//! The configuration: whatever becomes of a file, it is taken or refused, soon, with a line and without a secret; and
//! what says the same in other words is the same configuration.

use std::path::Path;

use proptest::prelude::*;

use crate::config::{Config, ConfigError, Families, Source};
use crate::fixtures::fixtures;
use crate::fuzz::CONFIG;
use crate::fuzz::yaml::{bombs, files, in_time, points_at, secrets_kept};

const FAMILIES: Families<'_> = Families {
    all: &["lease_state", "lease_held_seconds", "lease_holders", "lease_epoch"],
    of_alerts: &["lease_state"],
};

fn parse(text: &str) -> Result<Config, ConfigError> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/config");
    Config::parse(text, "config.yml", &folder, FAMILIES)
}

#[test]
fn config_mutated_is_taken_or_refused_soon_with_a_line_and_without_a_secret() {
    CONFIG.run(prop_oneof![20 => files("config"), 1 => bombs()], |text| {
        match in_time(|| parse(&text))? {
            Ok(config) => prop_assert!(!config.sources.is_empty()),
            Err(error) => {
                prop_assert!(!error.problems().is_empty());
                let said = error.to_string();
                points_at(&said, "config.yml", &text)?;
                prop_assert!(
                    !said.contains(['\0', '\u{1b}', '\u{202e}', '\r']),
                    "it could command a terminal: {said:?}"
                );
                secrets_kept(&format!("{said}{error:?}{error:#?}"))?;
                let mut cause = std::error::Error::source(&error);
                while let Some(error) = cause {
                    secrets_kept(&format!("{error}{error:?}"))?;
                    cause = error.source();
                }
            }
        }
        Ok(())
    });
}

/// All that a configuration says, so that two can be compared.
fn said(config: &Config) -> Vec<String> {
    let of = |source: &Source| {
        let names = ["retention-daily", "retention-x", "nightly", "billing", "a", "planted/b"];
        let policies: Vec<_> = names.iter().map(|name| source.policies.of(name)).collect();
        format!(
            "{} {:?} {:?} {:?} {:?} {policies:?} {:?}",
            source.name,
            source.origin,
            source.rules,
            source.timeout,
            source.reuse_for,
            source.policies.expected()
        )
    };
    config.sources.iter().map(of).chain([format!("{:?} {}", config.dropped, config.token_key.is_some())]).collect()
}

/// One way to write the same in other words.
#[derive(Clone, Copy, Debug)]
enum Rewording {
    LineEndsOfWindows,
    Comments,
    EmptyLines,
    Marked,
    WithoutLastLineEnd,
}

impl Rewording {
    const ALL: [Self; 5] =
        [Self::LineEndsOfWindows, Self::Comments, Self::EmptyLines, Self::Marked, Self::WithoutLastLineEnd];

    fn of(self, text: &str) -> String {
        match self {
            Self::LineEndsOfWindows => text.replace("\r\n", "\n").replace('\n', "\r\n"),
            Self::Comments => format!("# é: [unclosed\n{text}\n# \"also: {{\n"),
            Self::EmptyLines => format!("\n\n{text}\n\n"),
            Self::Marked if text.contains("---") => text.to_owned(),
            Self::Marked => format!("---\n{text}\n...\n"),
            Self::WithoutLastLineEnd => text.trim_end_matches(['\n', '\r']).to_owned(),
        }
    }
}

#[test]
fn config_says_the_same_in_other_words() {
    let texts = || fixtures("config", "good-").into_iter().map(|path| std::fs::read_to_string(path).unwrap());
    let texts: Vec<String> = texts().collect();
    let rewordings = prop::collection::vec(prop::sample::select(&Rewording::ALL[..]), 1..4);
    CONFIG.run((prop::sample::select(texts), rewordings, any::<bool>()), |(text, rewordings, marked)| {
        let expected = parse(&text).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let reworded = rewordings.iter().fold(text, |text, rewording| rewording.of(&text));
        let reworded = if marked { format!("\u{feff}{reworded}") } else { reworded };
        let again = parse(&reworded).map_err(|error| TestCaseError::fail(format!("{error}\n{reworded}")))?;
        prop_assert_eq!(said(&again), said(&expected));
        prop_assert!(again.sources.iter().zip(&expected.sources).all(|(one, other)| one.is_read_like(other)));
        Ok(())
    });
}
