//! The web configuration: whatever becomes of a file, it is taken or refused, soon, with a line and without a secret.

use proptest::prelude::*;

use super::tests::{folder, parse};
use crate::fuzz::WEB_CONFIG;
use crate::fuzz::yaml::{bombs, files, in_time, points_at, secrets_kept};

#[test]
fn web_config_mutated_is_taken_or_refused_soon_with_a_line_and_without_a_secret() {
    let folder = folder();
    WEB_CONFIG.run(prop_oneof![20 => files("web-config"), 1 => bombs()], |text| {
        match in_time(|| parse(&text, "web.yml", folder.path()))? {
            Ok(config) => secrets_kept(&format!("{config:?}"))?,
            Err(error) => {
                let said = error.to_string();
                points_at(&said, "web.yml", &text)?;
                prop_assert!(!said.is_empty() && !said.contains(['\0', '\u{1b}', '\u{202e}', '\r']), "{said:?}");
                secrets_kept(&format!("{said}{error:?}"))?;
            }
        }
        Ok(())
    });
}
