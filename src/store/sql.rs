//! SQL: the query of a source, and the query of a preset.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use super::ReadError;
use super::parameter::{ParameterType, Value, Values, fill, placeholders};
use super::query::{PresetFacts, PresetQuery, PresetView, Query};
use super::section::{KeySet, KeySpec, Node, Section, Shape, StoreDiagnostics, line};

/// The key of a source that has its SQL.
pub(super) const QUERY: KeySpec = KeySpec::text("query");

const PRESET: [KeySpec; 4] = [
    KeySpec::text("grants"),
    KeySpec::text("sql"),
    KeySpec::text("probe"),
    KeySpec { name: "variants", shape: Shape::Map(&Shape::Map(&Shape::Text)) },
];

/// The keys of a preset's section.
pub(super) const PRESET_KEYS: KeySet = KeySet::new(&PRESET, &KeySpec::names(&PRESET));

/// Messages about queries, for every store with SQL.
pub(super) const WOULD_WRITE: &str = "the query would write; it must be one SELECT";
pub(super) const HAS_PARAMETERS: &str = "the query has parameters; nothing fills them";
pub(super) const SEVERAL_STATEMENTS: &str = "the query is more than one statement; it must be one SELECT";

/// One statement, or the one among several that fits the version of what is stored.
#[derive(Clone, PartialEq, Eq)]
pub enum Statement {
    /// This one.
    Fixed(Arc<str>),
    /// A statement that the result of another statement chooses.
    Probed {
        /// Returns one row with one text: the name of a variant.
        probe: Arc<str>,
        /// The statements by name.
        variants: Arc<[(Box<str>, Arc<str>)]>,
    },
}

impl Statement {
    /// The statement of a source's `query`; an empty one is a problem.
    pub(super) fn of_source(node: &Node, diagnostics: &mut StoreDiagnostics) -> Option<Self> {
        let Node::Text(text) = node else { return None };
        if text.value.trim().is_empty() {
            diagnostics.note(
                line(text),
                "the query is empty; write a statement that returns the columns of the reading contract, or use a \
                 `preset`",
            );
            return None;
        }
        Some(Self::Fixed(text.value.as_str().into()))
    }

    /// The statement that is run first, if there is one.
    #[must_use]
    pub const fn probe(&self) -> Option<&Arc<str>> {
        match self {
            Self::Fixed(_) => None,
            Self::Probed { probe, .. } => Some(probe),
        }
    }

    /// The statement, or the variant with the name that the probe returned.
    ///
    /// # Errors
    /// [`ReadError::SchemaMismatch`] if it names none.
    pub fn chosen(&self, variant: Option<&str>) -> Result<Arc<str>, ReadError> {
        let variants = match self {
            Self::Fixed(sql) => return Ok(Arc::clone(sql)),
            Self::Probed { variants, .. } => variants,
        };
        let found = variants.iter().find(|(name, _)| Some(&**name) == variant);
        found.map(|(_, sql)| Arc::clone(sql)).ok_or_else(|| {
            let known: Vec<_> = variants.iter().map(|(name, _)| &**name).collect();
            ReadError::SchemaMismatch(format!(
                "the tables are of none of the versions that the preset reads: {}",
                known.join(", ")
            ))
        })
    }
}

impl Query for Statement {}

/// A statement may hold anything, so it is left out.
impl fmt::Debug for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fixed(_) => "<statement>",
            Self::Probed { .. } => "<statements>",
        })
    }
}

/// The SQL of a preset.
#[derive(Clone, Debug)]
pub(super) struct PresetSql {
    sql: String,
    /// Returns the name of a variant. It is there if `variants` are.
    probe: Option<String>,
    /// For each version of what is stored: the texts for placeholders that are not parameters.
    variants: BTreeMap<String, BTreeMap<String, String>>,
}

impl PresetSql {
    /// Reads a preset's section and checks every placeholder in it.
    pub(super) fn of_preset(section: &Section, preset: &PresetFacts<'_>) -> Result<Self, String> {
        let text = |key| section.text(key).map(|text| text.value.clone());
        let sql = text("sql").filter(|sql| !sql.trim().is_empty()).ok_or("`sql` is missing or empty")?;
        let variants = section.section("variants").into_iter().flat_map(Section::entries).map(|(name, node)| {
            let Node::Section(gives) = node else { return (name.to_owned(), BTreeMap::new()) };
            let gives =
                gives.entries().filter_map(|(name, _)| Some((name.to_owned(), gives.text(name)?.value.clone())));
            (name.to_owned(), gives.collect())
        });
        let query = Self { sql, probe: text("probe"), variants: variants.collect() };
        query.check(
            &text("grants").unwrap_or_default(),
            preset.parameters.iter().map(|known| (&*known.name, known.takes)).collect(),
        )?;
        Ok(query)
    }

    fn check(&self, grants: &str, parameters: BTreeMap<&str, ParameterType>) -> Result<(), String> {
        let named: BTreeSet<&str> = self.texts().into_iter().chain([grants]).flat_map(placeholders).collect();
        let own: BTreeSet<&str> = self.variants.values().flat_map(BTreeMap::keys).map(String::as_str).collect();
        for name in named.iter().filter(|name| !own.contains(**name)) {
            match parameters.get(name) {
                None => return Err(format!("`{{{name}}}` is neither a parameter nor given by the variants")),
                Some(ParameterType::Text) => {
                    return Err(format!("`{{{name}}}` takes any text, which must not get into SQL"));
                }
                Some(_) => {}
            }
        }
        if let Some(unused) = own.iter().find(|name| !named.contains(**name)) {
            return Err(format!("the variants give `{unused}`, which nothing asks for"));
        }
        for (variant, gives) in &self.variants {
            if let Some(lacks) = own.iter().find(|name| !gives.contains_key(**name)) {
                return Err(format!("the variant `{variant}` does not give `{lacks}`, as others do"));
            }
        }
        if self.probe.is_some() == self.variants.is_empty() {
            return Err("`probe` and `variants` belong together: its answer names one of them".into());
        }
        Ok(())
    }

    /// A text of each variant by its name, or once without a name if there are no variants.
    fn per_variant(&self, text: &str, values: &Values) -> Vec<(Option<Box<str>>, String)> {
        if self.variants.is_empty() {
            return vec![(None, in_sql(text, values))];
        }
        let text = |(name, gives): (&String, &BTreeMap<String, String>)| {
            let text = fill(text, gives.iter().map(|(name, fragment)| (name.as_str(), fragment.clone())));
            (Some(name.as_str().into()), in_sql(&text, values))
        };
        self.variants.iter().map(text).collect()
    }
}

impl PresetQuery for PresetSql {
    fn noun(&self) -> &'static str {
        "statement"
    }

    fn texts(&self) -> Vec<&str> {
        let fragments = self.variants.values().flat_map(BTreeMap::values);
        [&self.sql].into_iter().chain(&self.probe).chain(fragments).map(String::as_str).collect()
    }

    fn query(&self, values: &Values) -> Option<Box<dyn Query>> {
        let statements = self.per_variant(&self.sql, values);
        Some(Box::new(match &self.probe {
            None => Statement::Fixed(statements.into_iter().next()?.1.into()),
            Some(probe) => Statement::Probed {
                probe: in_sql(probe, values).into(),
                variants: statements.into_iter().filter_map(|(name, sql)| Some((name?, sql.into()))).collect(),
            },
        }))
    }

    fn views(&self, grants: &str, values: &Values) -> Vec<PresetView> {
        let (queries, grants) = (self.per_variant(&self.sql, values), self.per_variant(grants, values));
        let view = |((variant, query), (_, grants))| PresetView { variant, grants, query };
        queries.into_iter().zip(grants).map(view).collect()
    }

    fn probe(&self, values: &Values) -> Option<String> {
        self.probe.as_ref().map(|probe| in_sql(probe, values))
    }
}

fn in_sql(text: &str, values: &Values) -> String {
    fill(text, values.iter().map(|(name, value)| (&**name, Value::in_sql(value))))
}
