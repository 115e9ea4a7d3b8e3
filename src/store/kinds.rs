//! The list of all kinds of store.

use super::address::has_secret;
use super::kind::StoreKind;
use super::section::{KeySpec, Shape, StoreProblem};
use crate::diagnostic::QuotedValue;

/// Every kind of store in this build, in the order in which messages list them.
pub static KINDS: &[&dyn StoreKind] = &[
    &super::sqlite::Sqlite,
    #[cfg(feature = "postgres")]
    &super::postgres::Postgres,
    #[cfg(feature = "mysql")]
    &super::mysql::Mysql,
    #[cfg(feature = "redis")]
    &super::redis::Redis,
    #[cfg(test)]
    &super::json_file::JsonFile,
];

/// A kind of store that this build leaves out.
struct LeftOut {
    /// Its name, which is that of the cargo feature.
    name: &'static str,
    schemes: &'static [&'static str],
    /// The keys of a source that only this kind declares. They are accepted, so that the scheme is what is reported.
    keys: &'static [&'static str],
}

const LEFT_OUT: &[LeftOut] = &[
    #[cfg(not(feature = "postgres"))]
    LeftOut { name: "postgres", schemes: &["postgres", "postgresql"], keys: &["tls", "schema", "time_zone"] },
    #[cfg(not(feature = "mysql"))]
    LeftOut { name: "mysql", schemes: &["mysql", "mariadb"], keys: &["tls", "time_zone", "session_time_zone"] },
    #[cfg(not(feature = "redis"))]
    LeftOut {
        name: "redis",
        schemes: &[
            "redis",
            "rediss",
            "redis+sentinel",
            "rediss+sentinel",
            "valkey",
            "valkeys",
            "valkey+sentinel",
            "valkeys+sentinel",
        ],
        keys: &["keys", "tls"],
    },
];

/// Schemes of kinds that no build reads yet.
const PLANNED: [&str; 3] = ["etcd", "kubernetes", "kubernetes+https"];

/// The kinds that messages list.
pub fn listed() -> impl Iterator<Item = &'static dyn StoreKind> {
    KINDS.iter().copied().filter(|kind| !kind.is_hidden())
}

/// The kind of this name.
#[must_use]
pub fn named(name: &str) -> Option<&'static dyn StoreKind> {
    KINDS.iter().copied().find(|kind| kind.name() == name)
}

/// The name of a kind that this build leaves out.
pub(crate) fn left_out(name: &str) -> Option<&'static str> {
    LEFT_OUT.iter().map(|kind| kind.name).find(|left_out| *left_out == name)
}

/// The keys that only kinds declare that this build leaves out.
pub(crate) fn left_out_keys() -> impl Iterator<Item = KeySpec> {
    LEFT_OUT.iter().flat_map(|kind| kind.keys).map(|name| KeySpec { name, shape: Shape::Ignored })
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
    let kind = KINDS.iter().copied().find(|kind| scheme.is_some_and(|scheme| kind.schemes().contains(&scheme)));
    if kind.is_none_or(StoreKind::has_users) && has_secret(text) {
        return Err(SECRET_IN_ADDRESS.into());
    }
    let scheme = scheme.ok_or(
        "the store's address has no scheme; write it as `sqlite:///path/to/file` or `sqlite://path/beside/this/file`",
    )?;
    kind.ok_or_else(|| unknown(scheme))
}

pub(super) const SECRET_IN_ADDRESS: &str =
    "the store's address has a secret in it, which is never needed there; take it out and use `password_file`";

fn unknown(scheme: &str) -> StoreProblem {
    let known = || listed().map(|kind| format!("`{}`", kind.name())).collect::<Vec<_>>().join(", ");
    match LEFT_OUT.iter().find(|kind| kind.schemes.contains(&scheme)) {
        Some(LeftOut { name, .. }) => format!(
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
