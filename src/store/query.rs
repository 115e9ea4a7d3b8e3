//! Queries: what a source or a preset reads of a store.

use std::any::Any;
use std::fmt;
use std::time::Duration;

use super::parameter::{Parameter, Values};
use crate::lease::Columns;

/// The query of a source. Each kind of store has a type of query.
pub trait Query: Any + Send + Sync {
    /// Whether there is exactly one lease, which is named after the source.
    fn has_one_lease(&self) -> bool {
        false
    }

    /// How far the store's times can be off because of how it reports them.
    fn resolution(&self) -> Duration {
        Duration::ZERO
    }
}

impl dyn Query {
    /// The query as one type of query.
    #[must_use]
    pub fn downcast<T: Query>(self: Box<Self>) -> Option<T> {
        (self as Box<dyn Any>).downcast().ok().map(|query| *query)
    }
}

/// The facts that the query of a preset is checked against.
#[derive(Debug)]
pub struct PresetFacts<'a> {
    /// The columns that the preset declares.
    pub columns: Columns,
    /// The parameters of the preset.
    pub parameters: &'a [Parameter],
}

/// The query of a preset for one kind of store, with parameters in braces.
pub trait PresetQuery: fmt::Debug + Send + Sync {
    /// The noun for the query: `statement` or the like.
    fn noun(&self) -> &'static str;

    /// Every text in which a parameter can be.
    fn texts(&self) -> Vec<&str>;

    /// The query, with values for the parameters.
    fn query(&self, values: &Values) -> Option<Box<dyn Query>>;

    /// The query and its grants as a person reads them, for each version of what is stored.
    fn views(&self, grants: &str, values: &Values) -> Vec<PresetView>;

    /// The statement that finds the version, if there are several.
    fn probe(&self, _values: &Values) -> Option<String> {
        None
    }
}

/// The grants and the query of a preset for one version of what is stored, as users read them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresetView {
    /// The version's name, if there are several.
    pub variant: Option<Box<str>>,
    /// The least rights that the exporter's user needs.
    pub grants: String,
    /// The query.
    pub query: String,
}
