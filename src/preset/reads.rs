//! How a preset reads one kind of store.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::store::Statement;
use crate::store::keys::{KeyLayout, WrittenKeys};

use super::Dialect;
use super::parameter::{Value, Values, filled, placeholders};

/// How a preset reads one kind of store.
#[derive(Clone, Debug)]
pub(super) struct Reads {
    pub(super) dialect: Dialect,
    pub(super) grants: String,
    pub(super) asks: Asks,
}

/// What is asked of the store, with parameters in braces.
#[derive(Clone, Debug)]
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
    /// Keys.
    Keys(WrittenKeys<String>),
}

/// One version of what a scheduler stores.
#[derive(Clone, Debug)]
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
        let mut texts = vec![&*self.grants];
        match &self.asks {
            Asks::Statement(sql) => texts.push(sql),
            Asks::Probed { probe, sql, variants } => {
                texts.extend([&**sql, probe]);
                texts.extend(variants.iter().flat_map(|variant| variant.stands_for.values()).map(String::as_str));
            }
            Asks::Keys(keys) => texts.extend(lines(keys).map(|(_, text)| &**text)),
        }
        texts.into_iter().flat_map(placeholders).any(|name| name == parameter)
    }

    /// The statement itself, with its gaps open.
    pub(super) fn sql(&self) -> Option<&str> {
        match &self.asks {
            Asks::Statement(sql) | Asks::Probed { sql, .. } => Some(sql),
            Asks::Keys(_) => None,
        }
    }

    /// What to ask with these values, of a store that speaks SQL.
    pub(super) fn statement(&self, values: &Values) -> Option<Statement> {
        match &self.asks {
            Asks::Statement(sql) => Some(Statement::Fixed(with(values, sql).into())),
            Asks::Probed { probe, sql, variants } => {
                let variants = variants.iter().map(|variant| {
                    let sql = Arc::from(with(values, &variant.fill(sql)));
                    (variant.name.clone(), sql)
                });
                Some(Statement::Probed { probe: with(values, probe).into(), variants: variants.collect() })
            }
            Asks::Keys(_) => None,
        }
    }

    /// Where to look with these values, in a store of keys.
    pub(super) fn layout(&self, values: &Values) -> Option<KeyLayout> {
        match &self.asks {
            Asks::Keys(keys) => with_values(keys, values).layout().ok(),
            Asks::Statement(_) | Asks::Probed { .. } => None,
        }
    }

    /// What it needs and asks with these values, for each version.
    pub(super) fn views(&self, values: &Values) -> Vec<View> {
        let only = |asks: String| vec![View { variant: None, grants: with(values, &self.grants), asks }];
        match &self.asks {
            Asks::Statement(sql) => only(with(values, sql)),
            Asks::Keys(keys) => {
                let keys = with_values(keys, values);
                only(lines(&keys).map(|(key, text)| format!("{key}: {text}\n")).collect())
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
            Asks::Statement(_) | Asks::Keys(_) => None,
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

/// The keys with these values in them, as a configuration would write them.
pub(super) fn with_values(keys: &WrittenKeys<String>, values: &Values) -> WrittenKeys<String> {
    keys.map(|text| filled(text, values.iter().map(|(name, value)| (&**name, value.to_string()))))
}

/// Each of the keys that is given, by what it is.
fn lines(keys: &WrittenKeys<String>) -> impl Iterator<Item = (&'static str, &String)> {
    let lines = [
        ("lock", &keys.lock),
        ("hash", &keys.hash),
        ("ttl", &keys.ttl),
        ("epoch", &keys.epoch),
        ("progress", &keys.progress),
        ("due_set", &keys.due_set),
        ("due_list", &keys.due_list),
        ("progress_by_due", &keys.progress_by_due),
    ];
    lines.into_iter().filter_map(|(key, text)| Some((key, text.as_ref()?)))
}
