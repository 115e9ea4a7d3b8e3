//! Store addresses that contain a secret. No error, debug output or display shows it, wherever it stands in the address.

use std::path::Path;

use lease_protocol::StoreAddress;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use crate::config::{Config, Families};
use crate::store::kinds::of_address;
use crate::testing::cases;

/// A secret as a password generator makes it. No message of the exporter contains `zQ`, with which it begins.
fn secret() -> impl Strategy<Value = String> {
    prop_oneof![
        "zQ[a-zA-Z0-9]{6,20}",
        "zQ[a-zA-Z0-9!$%&()*+,./:;<=>?@^_{|}~#\\[\\]-]{6,20}[a-z]",
        "zQ[ -~]{6,20}[a-z]",
        "zQ\\PC{4,12}[a-z]",
    ]
}

/// Percent-encodes all special characters.
fn escaped(text: &str) -> String {
    text.bytes()
        .map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).into() } else { format!("%{byte:02X}") })
        .collect()
}

/// A secret and an address that contains it. In the forms, `{s}` is the secret and `{x}` the scheme.
fn addresses() -> impl Strategy<Value = (String, String)> {
    let scheme = prop::sample::select(&[
        "postgres",
        "postgresql",
        "mysql",
        "mariadb",
        "redis",
        "rediss",
        "redis+sentinel",
        "valkeys+sentinel",
        "sqlite",
        "etcd",
        "kubernetes",
        "POSTGRES",
        "jdbc:postgresql",
        "http",
        "",
    ]);
    let form = prop::sample::select(&[
        "{x}://u:{s}@h/db",
        "{x}://u:{s}@h:5432/db",
        "{x}://:{s}@h/0",
        "{x}://u:{s}@[::1]/db",
        "{x}://u:{s}@h",
        "{x}:u:{s}@h/db",
        "{x}://u:{s}@h1,h2:2/main/0",
        "{x}://u:{s}@%2Frun%2Fx/db",
        "{x}://u:{s}@",
        "{x}://{s}:@h/db",
        "{x}:///u:{s}@h/db",
        "{x}://h/db?password={s}",
        "{x}://h/db?sslpassword={s}&x=y",
        "{x}://h/db?user=u&Password={s}",
        "{x}://h/db#secret={s}",
        "{x}://h/db?auth={s}",
        "{x}://h/db?access_token={s}",
        "{x}:/u:{s}@h",
        "{x}//u:{s}@h/db",
        "u:{s}@h/db",
        "host=h user=u password={s} dbname=d",
        "Server=h;Uid=u;Pwd={s};",
        "password={s}",
        "{x}:{x}://u:{s}@h/db",
        "{x}://u:{s}@u:{s}@h/db",
        " {x}://u:{s}@h/db",
        "{x}://u:{s}@h/db?x={s}",
        "{x}://u:{s}@h:port/db",
        "{x}://u:{s}@h/%ff",
        "{x}://u:{s}@h/a/b/c",
        "{x}://h/{s}?password={s}",
    ]);
    (scheme, form, secret(), any::<bool>()).prop_map(|(scheme, form, secret, as_url)| {
        let written = if as_url { escaped(&secret) } else { secret.clone() };
        (secret, form.replace("{x}", scheme).replace("{s}", &written))
    })
}

/// Checks that a message shows the secret in no form, escaped or not.
fn check_hidden(secret: &str, message: &str) -> TestCaseResult {
    let parts =
        [secret.to_owned(), escaped(secret), secret.escape_debug().to_string(), secret.escape_default().to_string()];
    // The beginning, which no parser takes apart.
    let beginning: String = secret.chars().take_while(char::is_ascii_alphanumeric).collect();
    for part in parts.into_iter().chain((beginning.len() >= 6).then_some(beginning)) {
        prop_assert!(!message.contains(&part), "{part} is in {message}");
    }
    Ok(())
}

/// A value in one of the quoting styles of YAML.
fn quoted(text: &str, style: u8) -> String {
    match style {
        0 => text.to_owned(),
        1 => format!("'{}'", text.replace('\'', "''")),
        2 => serde_json::to_string(text).unwrap(),
        _ => format!("|\n      {text}"),
    }
}

const KEYS: &[&str] = &["store", "name", "preset", "query", "kind", "schema", "time_zone", "password_file", "nosuch"];

proptest! {
    #![proptest_config(cases(10_000))]

    #[test]
    fn address_with_a_secret_is_refused_without_showing_it((secret, text) in addresses()) {
        match of_address(&text) {
            Err(problem) => check_hidden(&secret, &format!("{problem}{problem:?}{problem:#?}"))?,
            // The path of a file may contain anything and is never shown.
            Ok(kind) => prop_assert!(!kind.has_users(), "accepted: {kind:?}"),
        }
        if let Err(fault) = StoreAddress::parse(&text, None) {
            check_hidden(&secret, &format!("{fault}{fault:?}"))?;
        }
    }

    #[test]
    fn address_with_a_secret_under_any_key_is_shown_by_no_message(
        (secret, text) in addresses(), key in prop::sample::select(KEYS), style in 0_u8..4
    ) {
        let value = quoted(&text, style);
        let file = format!("sources:\n  - name: jobs\n    {key}: {value}\n    preset: reference\n");
        let file = if key == "name" { file.replace("name: jobs\n    ", "") } else { file };
        match Config::parse(&file, "config.yml", Path::new(""), Families { all: &[], of_alerts: &[] }) {
            Ok(config) => {
                check_hidden(&secret, &format!("{config:?}{config:#?}"))?;
                for source in &config.sources {
                    check_hidden(&secret, &format!("{source:?}{}", source.store))?;
                }
            }
            Err(error) => check_hidden(&secret, &format!("{error}{error:?}{error:#?}"))?,
        }
    }
}
