//! The file as it is written. Nothing of it can be shown, because it may hold a private key.

use std::collections::BTreeMap;

use serde_saphyr::Spanned;

use crate::yaml::{self, Unreadable};

/// A text and the line that it stands on.
pub(super) type Text = Spanned<String>;

/// Keys that people look for in the wrong place or under another name, and what to do instead.
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

/// Reads a file's text. One that says nothing is taken: a file that is there but empty is how some tools turn it all off.
pub(super) fn read(text: &str) -> Result<RawWebConfig, Unreadable> {
    let says_nothing = |line: &str| matches!(line.trim(), "" | "---" | "{}") || line.trim_start().starts_with('#');
    if text.lines().all(says_nothing) {
        return Ok(RawWebConfig::default());
    }
    yaml::read(text, &MISPLACED)
}

/// A text that is given and not blank, which stands for not given.
pub(super) fn given(text: Option<Text>) -> Option<Text> {
    text.filter(|text| !text.value.trim().is_empty())
}
