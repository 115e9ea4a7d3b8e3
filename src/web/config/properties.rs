//! Broken web configuration files.

use proptest::prelude::*;

use super::tests::{folder, parse};
use crate::testing::cases;
use crate::testing::yaml::{check_positions, check_secrets_hidden, mutated_files, read_in_time, resource_bombs};

#[test]
fn mutated_file_is_accepted_or_refused_in_time_with_a_position_and_without_a_secret() {
    let folder = folder();
    let texts = prop_oneof![20 => mutated_files("web-config"), 1 => resource_bombs()];
    proptest!(cases(3_000), |(text in texts)| {
        match read_in_time(|| parse(&text, "web.yml", folder.path()))? {
            Ok(config) => check_secrets_hidden(&format!("{config:?}"))?,
            Err(error) => {
                let message = error.to_string();
                check_positions(&message, "web.yml", &text)?;
                prop_assert!(!message.is_empty() && !message.contains(['\0', '\u{1b}', '\u{202e}', '\r']), "{message:?}");
                check_secrets_hidden(&format!("{message}{error:?}"))?;
            }
        }
    });
}
