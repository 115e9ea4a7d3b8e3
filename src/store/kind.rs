//! The traits of a kind of store and of a configured store.

use std::any::Any;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::query::{PresetFacts, PresetQuery, Query};
use super::section::{KeySet, KeySpec, Node, Section, StoreDiagnostics, StoreSection};
use super::{Scope, Statement, Store, sql};

/// A kind of store. All that is specific to it is behind this trait, in one folder. The defaults are those of a store with
/// SQL.
pub trait StoreKind: fmt::Debug + Send + Sync {
    /// The name in preset files and messages. The cargo feature that builds the kind has the same name.
    fn name(&self) -> &'static str;

    /// Whether messages leave it out of their lists, as they do with a kind that only tests have.
    fn is_hidden(&self) -> bool {
        false
    }

    /// Whether its addresses can have a user and a password.
    fn has_users(&self) -> bool {
        true
    }

    /// The key of a source that says what to read, unless a preset does.
    fn query_key(&self) -> KeySpec {
        sql::QUERY
    }

    /// The keys that this kind adds to those that every source has.
    fn keys(&self) -> &'static [KeySpec];

    /// The query that `query_key` describes; `None` if there is a problem, which is noted. `line` is that of the source.
    fn query(&self, node: &Node, _line: u64, diagnostics: &mut StoreDiagnostics) -> Option<Box<dyn Query>> {
        Some(Box::new(Statement::of_source(node, diagnostics)?))
    }

    /// The store that a source configures; `None` after an error, which is added to the diagnostics, or without a query.
    fn configure(&self, section: &mut StoreSection<'_>, query: Option<Box<dyn Query>>) -> Option<Arc<dyn StoreConfig>>;

    /// The keys of its section of a preset file. One is `grants`.
    fn preset_keys(&self) -> KeySet {
        sql::PRESET_KEYS
    }

    /// The query of a preset, from the section of this kind of store.
    ///
    /// # Errors
    /// The problems of the section, for the author of the preset.
    fn preset_query(&self, section: &Section, preset: &PresetFacts<'_>) -> Result<Box<dyn PresetQuery>, String> {
        Ok(Box::new(sql::PresetSql::of_preset(section, preset)?))
    }

    /// The statements that an administrator runs before the grants of a preset, so that the exporter's user exists and names without a
    /// schema or database resolve. Words in capitals are to be replaced.
    fn before_grants(&self) -> &'static str {
        ""
    }

    /// The keys of an example source that reach such a store, a line each.
    fn example(&self) -> &'static [&'static str];
}

/// A configured store: where it is, what to read there, and how its times are to be understood.
pub trait StoreConfig: Any + DynEq + fmt::Debug + Send + Sync {
    /// The kind of the store.
    fn kind(&self) -> &'static dyn StoreKind;

    /// The store. Nothing is opened yet.
    fn store(&self, scope: Scope) -> Box<dyn Store>;

    /// The files with secrets that it names, each with the key that names it.
    fn secret_files(&self) -> Vec<(&'static str, &Path)> {
        Vec::new()
    }
}

/// Equality with a value of a type that is not known. Every type with equality has it.
pub trait DynEq {
    /// Whether the other value has the same type and is equal.
    fn equals(&self, other: &dyn Any) -> bool;
}

impl<T: Any + PartialEq> DynEq for T {
    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref() == Some(self)
    }
}

impl PartialEq for dyn StoreConfig {
    fn eq(&self, other: &Self) -> bool {
        self.equals(other)
    }
}

impl dyn StoreConfig {
    /// The configuration as that of one kind.
    #[must_use]
    pub fn downcast_ref<T: StoreConfig>(&self) -> Option<&T> {
        (self as &dyn Any).downcast_ref()
    }
}

/// The kind of store alone: a source's name is what tells people which source is meant.
impl fmt::Display for dyn StoreConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.kind().name())
    }
}
