//! The list of all kinds of store.

use super::address::has_secret;
use super::kind::StoreKind;
use super::section::{KeySpec, Shape, StoreProblem};
use crate::diagnostic::QuotedValue;

/// A kind of store, which this build may leave out.
struct ListedKind {
    /// The name, which is that of the cargo feature.
    name: &'static str,
    schemes: &'static [&'static str],
    /// The keys of a source that not every kind has. A build without the kind accepts and ignores them, so that the user sees
    /// the error about the scheme.
    keys: &'static [&'static str],
    kind: Option<&'static dyn StoreKind>,
}

/// Declares the kinds of store, a line each: name, condition of the build (`all()` always holds), type, schemes, and the keys
/// of a source that not every kind has.
macro_rules! kinds {
    ($($name:literal if $built:meta: $kind:path, $schemes:expr, $keys:expr;)+) => {
        /// Every kind of store in this build, in the order in which messages list them.
        pub static KINDS: &[&dyn StoreKind] = &[$(#[cfg($built)] &$kind,)+];

        /// Every kind of store, in this build or not.
        static ALL_KINDS: &[ListedKind] = &[$(ListedKind {
            name: $name,
            schemes: $schemes,
            keys: $keys,
            kind: {
                #[cfg($built)]
                let kind: Option<&dyn StoreKind> = Some(&$kind);
                #[cfg(not($built))]
                let kind = None;
                kind
            },
        },)+];
    };
}

kinds! {
    "sqlite" if all(): super::sqlite::Sqlite, &["sqlite"], &[];
    "postgres" if feature = "postgres": super::postgres::Postgres, &["postgres", "postgresql"], &["tls", "schema", "time_zone"];
    "mysql" if feature = "mysql": super::mysql::Mysql, &["mysql", "mariadb"], &["tls", "time_zone", "session_time_zone"];
    "redis" if feature = "redis": super::redis::Redis, REDIS_SCHEMES, &["keys", "tls"];
    "json-file" if test: super::testing::json_file::JsonFile, if cfg!(test) { &["json-file"] } else { &[] }, &[];
}

const REDIS_SCHEMES: &[&str] = &[
    "redis",
    "rediss",
    "redis+sentinel",
    "rediss+sentinel",
    "valkey",
    "valkeys",
    "valkey+sentinel",
    "valkeys+sentinel",
];

/// Schemes of kinds that no build reads yet.
const PLANNED: [&str; 3] = ["etcd", "kubernetes", "kubernetes+https"];

/// The kinds that messages list.
pub fn visible_kinds() -> impl Iterator<Item = &'static dyn StoreKind> {
    KINDS.iter().copied().filter(|kind| !kind.is_hidden())
}

/// The kind of this name.
#[must_use]
pub fn named(name: &str) -> Option<&'static dyn StoreKind> {
    KINDS.iter().copied().find(|kind| kind.name() == name)
}

/// The name of a kind that this build leaves out.
pub(crate) fn left_out(name: &str) -> Option<&'static str> {
    ALL_KINDS.iter().find(|listed| listed.kind.is_none() && listed.name == name).map(|listed| listed.name)
}

/// The keys that only kinds declare that this build leaves out.
pub(crate) fn left_out_keys() -> impl Iterator<Item = KeySpec> {
    let left_out = ALL_KINDS.iter().filter(|listed| listed.kind.is_none());
    left_out.flat_map(|listed| listed.keys).map(|name| KeySpec { name, shape: Shape::Ignored })
}

/// The kind of store that an address names.
///
/// # Errors
/// There is no such kind, or the address looks as if a password were in it.
pub fn of_address(text: &str) -> Result<&'static dyn StoreKind, StoreProblem> {
    let scheme = match text.split_once("://") {
        Some((scheme, _)) => Some(scheme),
        // An address may be no more than a scheme, such as `kubernetes:`.
        None => text.strip_suffix(':').filter(|scheme| !scheme.contains(':')),
    };
    let listed = scheme.and_then(|scheme| ALL_KINDS.iter().find(|listed| listed.schemes.contains(&scheme)));
    let kind = listed.and_then(|listed| listed.kind);
    if kind.is_none_or(StoreKind::has_users) && has_secret(text) {
        return Err(SECRET_IN_ADDRESS.into());
    }
    let scheme = scheme.ok_or(
        "the store's address has no scheme; write it as `sqlite:///path/to/file` or `sqlite://path/beside/this/file`",
    )?;
    kind.ok_or_else(|| unknown(scheme, listed))
}

pub(super) const SECRET_IN_ADDRESS: &str =
    "the store's address has a secret in it, which is never needed there; take it out and use `password_file`";

fn unknown(scheme: &str, left_out: Option<&ListedKind>) -> StoreProblem {
    let known = || visible_kinds().map(|kind| format!("`{}`", kind.name())).collect::<Vec<_>>().join(", ");
    match left_out {
        Some(ListedKind { name, .. }) => format!(
            "stores of this kind are left out of this build: `{scheme}`; build it with the cargo feature `{name}`"
        ),
        None if PLANNED.contains(&scheme) => {
            format!("stores of this kind are not read yet: `{scheme}`; this build reads {}", known())
        }
        None => {
            let scheme = QuotedValue::new(scheme);
            format!("there is no such kind of store: `{scheme}`; this build reads {}", known())
        }
    }
    .into()
}
