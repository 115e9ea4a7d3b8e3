//! How a preset reads one kind of store.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::store::Statement;

use super::Dialect;
use super::parameter::{Value, Values, filled, placeholders};

/// How a preset reads one kind of store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reads {
    pub(super) dialect: Dialect,
    pub(super) grants: String,
    pub(super) asks: Asks,
}

/// What is asked of the store, with parameters in braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asks {
    /// A statement.
    Statement(String),
    /// A statement whose gaps are filled by what the answer of another names.
    Probed {
        /// Gives one row with one text: the name of a variant.
        probe: String,
        /// The statement.
        sql: String,
        /// What fills its gaps, by the version of what is stored.
        variants: Vec<Variant>,
    },
}

/// One version of what a scheduler stores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Variant {
    pub(super) name: Box<str>,
    /// What stands for each gap that only variants fill.
    pub(super) stands_for: BTreeMap<String, String>,
}

/// What a preset needs and asks of one version of one kind of store, as a person reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The version's name, where there are several.
    pub variant: Option<Box<str>>,
    /// The least that the exporter's user must be allowed.
    pub grants: String,
    /// What is asked.
    pub asks: String,
}

impl Reads {
    /// Whether a parameter means anything here.
    pub(super) fn mentions(&self, parameter: &str) -> bool {
        self.texts().any(|text| placeholders(text).any(|name| name == parameter))
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        let (sql, probe, variants) = match &self.asks {
            Asks::Statement(sql) => (sql, None, &[][..]),
            Asks::Probed { probe, sql, variants } => (sql, Some(probe), &**variants),
        };
        let fragments = variants.iter().flat_map(|variant| variant.stands_for.values());
        [&self.grants, sql].into_iter().chain(probe).chain(fragments).map(String::as_str)
    }

    /// The statement itself, with its gaps open.
    pub(super) fn sql(&self) -> &str {
        match &self.asks {
            Asks::Statement(sql) | Asks::Probed { sql, .. } => sql,
        }
    }

    /// What to ask with these values.
    pub(super) fn statement(&self, values: &Values) -> Statement {
        match &self.asks {
            Asks::Statement(sql) => Statement::Fixed(with(values, sql).into()),
            Asks::Probed { probe, sql, variants } => {
                let variants = variants.iter().map(|variant| {
                    let sql = Arc::from(with(values, &variant.fill(sql)));
                    (variant.name.clone(), sql)
                });
                Statement::Probed { probe: with(values, probe).into(), variants: variants.collect() }
            }
        }
    }

    /// What it needs and asks with these values, for each version.
    pub(super) fn views(&self, values: &Values) -> Vec<View> {
        match &self.asks {
            Asks::Statement(sql) => {
                vec![View { variant: None, grants: with(values, &self.grants), asks: with(values, sql) }]
            }
            Asks::Probed { sql, variants, .. } => {
                let view = |variant: &Variant| View {
                    variant: Some(variant.name.clone()),
                    grants: with(values, &variant.fill(&self.grants)),
                    asks: with(values, &variant.fill(sql)),
                };
                variants.iter().map(view).collect()
            }
        }
    }

    /// The statement whose answer names the version, where there are several.
    pub(super) fn probe(&self, values: &Values) -> Option<String> {
        match &self.asks {
            Asks::Statement(_) => None,
            Asks::Probed { probe, .. } => Some(with(values, probe)),
        }
    }
}

impl Variant {
    fn fill(&self, text: &str) -> String {
        filled(text, self.stands_for.iter().map(|(name, fragment)| (name.as_str(), fragment.clone())))
    }
}

fn with(values: &Values, text: &str) -> String {
    filled(text, values.iter().map(|(name, value)| (&**name, Value::in_sql(value))))
}
