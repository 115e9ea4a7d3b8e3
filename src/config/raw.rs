//! The file as it is written: only the names of keys and the shapes of values are checked.

use std::sync::LazyLock;

use serde::de::{Deserialize, Deserializer};
use serde_saphyr::Spanned;

use crate::store::kind::StoreKind;
use crate::store::kinds;
use crate::store::section::{KeySet, KeySpec, Section, Shape, Text};

/// Keys that are often expected in the wrong place or under another name, and what to write instead.
pub(super) const MISPLACED: [(&str, &str); 4] = [
    ("alerts", "alerts are turned on lease by lease; name them in an entry of `leases`"),
    ("password", "a password does not belong here; put it into a file of its own and name that with `password_file`"),
    ("token_key", "a key does not belong here; put it into a file of its own and name that with `token_key_file`"),
    ("url", "where a store is stands under `store`"),
];

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

/// A source: the keys that every source has, and those that its kind of store declares.
#[derive(Debug)]
pub(super) struct RawSource(pub(super) Section);

/// The keys that every source has, before and after those that say what to read.
const BEFORE_QUERY: [KeySpec; 4] = [
    KeySpec::text("name"),
    KeySpec::text("store"),
    KeySpec::text("preset"),
    KeySpec { name: "parameters", shape: Shape::Map(&Shape::Text) },
];
const AFTER_QUERY: [KeySpec; 6] = [
    KeySpec::text("kind"),
    KeySpec::text("clock"),
    KeySpec::text("timeout"),
    KeySpec::text("clock_skew"),
    KeySpec::text("reuse_for"),
    KeySpec::text("max_leases"),
];

/// Every key of a source, and the names that messages list, which leave out those of hidden kinds of store.
static SOURCE_KEYS: LazyLock<(Vec<KeySpec>, Vec<&'static str>)> = LazyLock::new(|| {
    let listed = || kinds::visible_kinds();
    let common = BEFORE_QUERY.into_iter().chain(listed().map(StoreKind::query_key)).chain(AFTER_QUERY);
    let listed = common.chain(listed().flat_map(StoreKind::keys).copied());
    let hidden = kinds::KINDS.iter().filter(|kind| kind.is_hidden());
    let hidden = hidden.flat_map(|kind| kind.keys().iter().copied().chain([kind.query_key()]));
    let (mut keys, mut names): (Vec<KeySpec>, Vec<&str>) = (Vec::new(), Vec::new());
    for key in listed {
        if !names.contains(&key.name) {
            names.push(key.name);
            keys.push(key);
        }
    }
    let left_out: Vec<_> = kinds::left_out_keys().filter(|key| !names.contains(&key.name)).collect();
    keys.extend(hidden.chain(left_out));
    (keys, names)
});

impl<'de> Deserialize<'de> for RawSource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (keys, names) = &*SOURCE_KEYS;
        Section::deserialize(KeySet::new(keys, names), deserializer).map(Self)
    }
}

/// Whether every source has this key.
pub(super) fn is_common(key: &str) -> bool {
    BEFORE_QUERY.iter().chain(&AFTER_QUERY).any(|common| common.name == key)
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

/// Requires a value if the key is given: `preset:` without a value is a mistake, not the default.
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

macro_rules! limits {
    ($($raw:ident),+) => {$(
        impl $raw {
            pub(super) const fn limits(&self) -> RawLimits<'_> {
                RawLimits {
                    stall_after: self.stall_after.as_ref(),
                    overdue_after: self.overdue_after.as_ref(),
                    work: self.work.as_ref(),
                    cadence: self.cadence.as_ref(),
                }
            }
        }
    )+};
}

limits!(RawDefaults, RawLease);
