//! Addresses of stores with a secret in them: wherever it stands and however it is written, nothing that is said of the
//! address repeats it.

use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use crate::config::address::Address;
use crate::config::{Config, Families};
use crate::fuzz::ADDRESS;
use crate::scheduler::StoreAddress;

/// Letters of a secret, as generators of passwords choose them. It begins so that no text of ours has it.
fn secret() -> impl Strategy<Value = String> {
    prop_oneof![
        "zQ[a-zA-Z0-9]{6,20}",
        "zQ[a-zA-Z0-9!$%&()*+,./:;<=>?@^_{|}~#\\[\\]-]{6,20}[a-z]",
        "zQ[ -~]{6,20}[a-z]",
        "zQ\\PC{4,12}[a-z]",
    ]
}

/// As a URL writes it.
fn escaped(text: &str) -> String {
    text.bytes()
        .map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).into() } else { format!("%{byte:02X}") })
        .collect()
}

/// A secret and an address with it. `{s}` is where it stands.
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

/// The secret, and what it is in the forms that something may have made of it.
fn kept(secret: &str, said: &str) -> TestCaseResult {
    let parts =
        [secret.to_owned(), escaped(secret), secret.escape_debug().to_string(), secret.escape_default().to_string()];
    // As far as the letters go that no syntax takes apart.
    let begins: String = secret.chars().take_while(char::is_ascii_alphanumeric).collect();
    for part in parts.into_iter().chain((begins.len() >= 6).then_some(begins)) {
        prop_assert!(!said.contains(&part), "{part} is in {said}");
    }
    Ok(())
}

#[test]
fn address_with_a_secret_is_refused_without_it() {
    ADDRESS.run(addresses(), |(secret, text)| {
        match Address::parse(&text, Path::new("/etc/lease-exporter")) {
            Err(problem) => kept(&secret, &format!("{problem}{problem:?}{problem:#?}"))?,
            // A path of a file may have anything in it, and is never shown.
            Ok(Address::Sqlite(_)) => {}
            Ok(address) => prop_assert!(false, "taken: {address:?}"),
        }
        if let Err(fault) = StoreAddress::parse(&text, None) {
            kept(&secret, &format!("{fault}{fault:?}"))?;
        }
        Ok(())
    });
}

#[test]
fn address_with_a_secret_in_a_configuration_is_shown_by_nothing() {
    let families = Families { all: &[], of_alerts: &[] };
    let key = prop::sample::select(&[
        "store",
        "name",
        "preset",
        "query",
        "kind",
        "schema",
        "time_zone",
        "password_file",
        "nosuch",
    ]);
    ADDRESS.run((addresses(), key, 0_u8..4), |((secret, text), key, quotes)| {
        let value = match quotes {
            0 => text.clone(),
            1 => format!("'{}'", text.replace('\'', "''")),
            2 => serde_json::to_string(&text).unwrap(),
            _ => format!("|\n      {text}"),
        };
        let file = format!("sources:\n  - name: jobs\n    {key}: {value}\n    preset: reference\n");
        let file = if key == "name" { file.replace("name: jobs\n    ", "") } else { file };
        match Config::parse(&file, "config.yml", Path::new(""), families) {
            Ok(config) => {
                kept(&secret, &format!("{config:?}{config:#?}"))?;
                for source in &config.sources {
                    kept(&secret, &format!("{source:?}{}", source.store))?;
                }
            }
            Err(error) => kept(&secret, &format!("{error}{error:?}{error:#?}"))?,
        }
        Ok(())
    });
}
