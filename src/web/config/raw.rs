//! The file as written, before it is checked. It has no `Debug`, because it may contain a private key.

use std::collections::BTreeMap;

use serde_saphyr::Spanned;

use super::problem::{Problem, Problems};
use crate::diagnostic::QuotedValue;
use crate::yaml::{self, Unreadable};

pub(super) type Text = Spanned<String>;

/// Keys of other configuration files that users write here, and the hint for each.
const MISPLACED: [(&str, &str); 7] = [
    ("ca_file", "clients' certificates are checked by `client_ca_file`"),
    ("password", "users and the bcrypt hashes of their passwords stand under `basic_auth_users`"),
    ("password_file", "users and the bcrypt hashes of their passwords stand under `basic_auth_users`"),
    ("username", "users and the bcrypt hashes of their passwords stand under `basic_auth_users`"),
    ("tls_config", "that is Prometheus's side; an exporter's is `tls_server_config`"),
    ("basic_auth", "that is Prometheus's side; an exporter's is `basic_auth_users`"),
    ("sources", "sources stand in the file of --config.file; this is the one of --web.config.file"),
];

#[derive(Default, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawWebConfig {
    pub(super) tls_server_config: Option<Spanned<RawTls>>,
    pub(super) http_server_config: Option<RawHttp>,
    pub(super) basic_auth_users: Option<BTreeMap<String, Text>>,
    pub(super) rate_limit: Option<Spanned<RawRate>>,
}

#[derive(Default, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawTls {
    pub(super) cert: Option<Text>,
    pub(super) key: Option<Text>,
    pub(super) client_ca: Option<Text>,
    pub(super) cert_file: Option<Text>,
    pub(super) key_file: Option<Text>,
    pub(super) client_auth_type: Option<Text>,
    pub(super) client_ca_file: Option<Text>,
    pub(super) client_allowed_sans: Option<Vec<Text>>,
    pub(super) cipher_suites: Option<Vec<Text>>,
    pub(super) curve_preferences: Option<Vec<Text>>,
    pub(super) min_version: Option<Text>,
    pub(super) max_version: Option<Text>,
    pub(super) prefer_server_cipher_suites: Option<Text>,
}

#[derive(Default, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawHttp {
    pub(super) http2: Option<Text>,
    pub(super) headers: Option<BTreeMap<String, Text>>,
}

#[derive(Default, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawRate {
    pub(super) interval: Option<Text>,
    pub(super) burst: Option<Text>,
}

/// Parses the text of a file. An empty file is accepted: some tools write one to turn everything off.
pub(super) fn parse(text: &str) -> Result<RawWebConfig, Unreadable> {
    let is_blank = |line: &str| matches!(line.trim(), "" | "---" | "{}") || line.trim_start().starts_with('#');
    if text.lines().all(is_blank) {
        return Ok(RawWebConfig::default());
    }
    yaml::read(text, &MISPLACED)
}

/// The text, unless it is blank, which counts as not given.
pub(super) fn non_blank(text: &Option<Text>) -> Option<&Text> {
    text.as_ref().filter(|text| !text.value.trim().is_empty())
}

/// Parses a boolean in the words of YAML 1.1, which other exporters accept. Returns `None` if it is not given or invalid.
pub(super) fn boolean(key: &'static str, text: &Option<Text>, problems: &mut Problems) -> Option<bool> {
    let text = non_blank(text)?;
    let word = text.value.trim();
    // YAML 1.1 has `true`, `True` and `TRUE`, and not `tRUE`.
    let lower = word.to_ascii_lowercase();
    let is_yaml_case = word.get(1..) == lower.get(1..) || word == word.to_ascii_uppercase();
    match lower.as_str() {
        "true" | "yes" | "on" | "y" if is_yaml_case => Some(true),
        "false" | "no" | "off" | "n" if is_yaml_case => Some(false),
        _ => {
            let problem = Problem::Choice { key, value: QuotedValue::new(word), known: "true or false" };
            problems.note(text.referenced.line(), problem);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_boolean_words_of_yaml_1_1_are_accepted_and_no_others() {
        let read = |word: &str| {
            let mut problems = Problems::default();
            let text: Text = crate::yaml::read(word, &[]).unwrap();
            let flag = boolean("http2", &Some(text), &mut problems);
            assert_eq!(flag.is_none(), !problems.is_empty(), "{word}");
            flag
        };
        for word in ["true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y"] {
            assert_eq!(read(word), Some(true), "{word}");
        }
        for word in ["false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "n", "N"] {
            assert_eq!(read(word), Some(false), "{word}");
        }
        for word in ["maybe", "tRUE", "yES", "1", "0", "yes please", "ye"] {
            assert_eq!(read(word), None, "{word}");
        }
    }
}
