//! The file as it is written. Nothing here is checked but the names of keys and the shapes of values, and nothing
//! outside this folder sees it.

use std::collections::BTreeMap;

use serde::de::{Deserialize, Deserializer};
use serde_saphyr::Spanned;

use crate::store::keys::WrittenKeys;

/// Keys that people look for in the wrong place or under another name, and what to do instead.
pub(super) const MISPLACED: [(&str, &str); 4] = [
    ("alerts", "alerts are turned on lease by lease; name them in an entry of `leases`"),
    ("password", "a password does not belong here; put it into a file of its own and name that with `password_file`"),
    ("token_key", "a key does not belong here; put it into a file of its own and name that with `token_key_file`"),
    ("url", "where a store is stands under `store`"),
];

/// A text and the line that it stands on.
pub(super) type Text = Spanned<String>;

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawConfig {
    #[serde(default)]
    pub(super) sources: Vec<Spanned<RawSource>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) token_key_file: Option<Text>,
    #[serde(default)]
    pub(super) defaults: RawDefaults,
    #[serde(default)]
    pub(super) leases: Vec<Spanned<RawLease>>,
    #[serde(default)]
    pub(super) metrics: RawMetrics,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSource {
    #[serde(default, deserialize_with = "given")]
    pub(super) name: Option<Text>,
    #[serde(default, deserialize_with = "given")]
    pub(super) store: Option<Text>,
    #[serde(default, deserialize_with = "given")]
    pub(super) preset: Option<Text>,
    #[serde(default)]
    pub(super) parameters: BTreeMap<String, Text>,
    #[serde(default, deserialize_with = "given")]
    pub(super) query: Option<Text>,
    #[serde(default)]
    pub(super) keys: Option<Spanned<WrittenKeys<Text>>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) kind: Option<Text>,
    #[serde(default, deserialize_with = "given")]
    pub(super) clock: Option<Text>,
    #[serde(default, deserialize_with = "given")]
    pub(super) timeout: Option<Text>,
    #[serde(default, deserialize_with = "given")]
    pub(super) clock_skew: Option<Text>,
    #[serde(default, deserialize_with = "given")]
    pub(super) reuse_for: Option<Text>,
    #[serde(default, deserialize_with = "given")]
    pub(super) max_leases: Option<Text>,
    #[serde(default, deserialize_with = "given")]
    pub(super) password_file: Option<Text>,
    #[serde(default)]
    pub(super) tls: Option<Spanned<RawTls>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) schema: Option<Text>,
    #[serde(default, deserialize_with = "given")]
    pub(super) time_zone: Option<Text>,
    #[serde(default, deserialize_with = "given")]
    pub(super) session_time_zone: Option<Text>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTls {
    #[serde(default, deserialize_with = "given")]
    pub(super) mode: Option<Text>,
    #[serde(default, deserialize_with = "given")]
    pub(super) ca_file: Option<Text>,
    #[serde(default, deserialize_with = "given")]
    pub(super) cert_file: Option<Text>,
    #[serde(default, deserialize_with = "given")]
    pub(super) key_file: Option<Text>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawDefaults {
    #[serde(default, deserialize_with = "given")]
    pub(super) stall_after: Option<Text>,
    #[serde(default, deserialize_with = "given")]
    pub(super) overdue_after: Option<Text>,
    #[serde(default, deserialize_with = "given")]
    pub(super) work: Option<Text>,
    #[serde(default, deserialize_with = "given")]
    pub(super) cadence: Option<Text>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLease {
    #[serde(default, rename = "match")]
    pub(super) matches: Option<RawMatch>,
    #[serde(default, deserialize_with = "given")]
    pub(super) stall_after: Option<Text>,
    #[serde(default, deserialize_with = "given")]
    pub(super) overdue_after: Option<Text>,
    #[serde(default, deserialize_with = "given")]
    pub(super) work: Option<Text>,
    #[serde(default, deserialize_with = "given")]
    pub(super) cadence: Option<Text>,
    #[serde(default)]
    pub(super) alerts: Vec<Text>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMatch {
    #[serde(default, deserialize_with = "given")]
    pub(super) source: Option<Text>,
    #[serde(default, deserialize_with = "given")]
    pub(super) lease: Option<Text>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMetrics {
    #[serde(default)]
    pub(super) drop: Vec<Text>,
}

/// A key that is there has a value: `preset:` with nothing after it is a mistake, not the default.
fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// The limits that both `defaults` and an entry of `leases` may give.
#[derive(Clone, Copy)]
pub(super) struct RawLimits<'a> {
    pub(super) stall_after: Option<&'a Text>,
    pub(super) overdue_after: Option<&'a Text>,
    pub(super) work: Option<&'a Text>,
    pub(super) cadence: Option<&'a Text>,
}

impl RawDefaults {
    pub(super) const fn limits(&self) -> RawLimits<'_> {
        RawLimits {
            stall_after: self.stall_after.as_ref(),
            overdue_after: self.overdue_after.as_ref(),
            work: self.work.as_ref(),
            cadence: self.cadence.as_ref(),
        }
    }
}

impl RawLease {
    pub(super) const fn limits(&self) -> RawLimits<'_> {
        RawLimits {
            stall_after: self.stall_after.as_ref(),
            overdue_after: self.overdue_after.as_ref(),
            work: self.work.as_ref(),
            cadence: self.cadence.as_ref(),
        }
    }
}
