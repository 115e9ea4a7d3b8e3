//! One data file made into a preset.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use super::{About, Parameter, ParameterType, Preset, PresetStore, Value};
use crate::lease::{Clock, Column, Columns, LeaseKind};
use crate::store::kind::StoreKind;
use crate::store::kinds;
use crate::store::query::PresetFacts;
use crate::store::section::{Node, Section, Shape};
use crate::yaml;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPreset {
    name: String,
    description: String,
    kind: String,
    clock: String,
    zone: String,
    freshness: String,
    ttl: String,
    epoch: String,
    progress: String,
    due: String,
    columns: Vec<String>,
    /// The name of the only lease, if the query names one.
    #[serde(default)]
    lease: Option<String>,
    #[serde(default)]
    supply: Vec<String>,
    caveats: Vec<String>,
    #[serde(default)]
    limits: BTreeMap<String, String>,
    #[serde(default)]
    parameters: BTreeMap<String, RawParameter>,
    stores: RawStores,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawParameter {
    takes: String,
    default: Option<String>,
    example: Option<String>,
    means: String,
}

/// The section of each kind of store; `None` for a kind that is not in this build.
#[derive(Debug)]
struct RawStores(Vec<(String, Option<Section>)>);

impl<'de> Deserialize<'de> for RawStores {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StoresVisitor;

        impl<'de> Visitor<'de> for StoresVisitor {
            type Value = RawStores;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("kinds of store")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawStores, A::Error> {
                let mut stores = Vec::new();
                while let Some(name) = map.next_key::<String>()? {
                    let Some(kind) = kinds::named(&name) else {
                        map.next_value::<IgnoredAny>()?;
                        stores.push((name, None));
                        continue;
                    };
                    match map.next_value_seed(Shape::Section(kind.preset_keys()))? {
                        Node::Section(section) => stores.push((name, Some(section))),
                        Node::Text(_) | Node::List(_) => {}
                    }
                }
                Ok(RawStores(stores))
            }
        }

        deserializer.deserialize_map(StoresVisitor)
    }
}

/// Reads a data file, which must be named like the preset in it.
///
/// # Errors
/// A description of the problem, for the author of the file.
pub(super) fn read(name: &str, text: &str) -> Result<Preset, String> {
    let raw: RawPreset = yaml::read(text, &[]).map_err(|unreadable| unreadable.to_string())?;
    if raw.name != name {
        return Err(format!("the file is named {name} and its preset {}", raw.name));
    }
    if let Some(empty) = raw.empty() {
        return Err(format!("`{empty}` says nothing; say what is so, even if it is that there is none"));
    }
    let columns = raw
        .columns
        .iter()
        .map(|column| one_of(column, Column::ALL, Column::as_str))
        .collect::<Result<Columns, String>>()?;
    if !columns.has(Column::StoreNow) {
        return Err("without `store_now` no time can be judged".into());
    }
    let parameters = raw.parameters.into_iter().map(|(name, raw)| parameter(name, raw));
    let parameters = parameters.collect::<Result<Vec<_>, String>>()?;
    let facts = PresetFacts { columns, parameters: &parameters };
    let (mut stores, mut left_out) = (Vec::new(), Vec::new());
    for (name, section) in raw.stores.0 {
        match (kinds::named(&name).zip(section), kinds::left_out(&name)) {
            (Some((kind, section)), _) => stores.push(store(kind, &section, &facts)?),
            (None, Some(name)) => left_out.push(name),
            (None, None) => {
                let known = kinds::visible_kinds().map(StoreKind::name).collect::<Vec<_>>().join(", ");
                return Err(format!("`{name}` is none of {known}"));
            }
        }
    }
    stores.sort_by_key(|store| kinds::KINDS.iter().position(|kind| kind.name() == store.kind.name()));
    if stores.is_empty() && left_out.is_empty() {
        return Err("`stores` is empty; say how to read at least one".into());
    }
    let unused = parameters.iter().find(|parameter| !stores.iter().any(|store| store.uses(&parameter.name)));
    if let Some(unused) = unused.filter(|_| left_out.is_empty()) {
        return Err(format!("nothing has `{{{}}}` in it; use the parameter or take it out", unused.name));
    }
    Ok(Preset {
        kind: one_of(&raw.kind, LeaseKind::ALL, LeaseKind::as_str)?,
        clock: one_of(&raw.clock, Clock::ALL, Clock::as_str)?,
        columns,
        lease: raw.lease.map(Into::into),
        parameters,
        stores,
        left_out,
        name: raw.name,
        about: About {
            description: raw.description,
            zone: raw.zone,
            freshness: raw.freshness,
            ttl: raw.ttl,
            epoch: raw.epoch,
            progress: raw.progress,
            due: raw.due,
            supply: raw.supply,
            caveats: raw.caveats,
            limits: raw.limits.into_iter().collect(),
        },
    })
}

impl RawPreset {
    /// The first required key with an empty value.
    fn empty(&self) -> Option<&'static str> {
        let said = [
            ("description", &self.description),
            ("zone", &self.zone),
            ("freshness", &self.freshness),
            ("ttl", &self.ttl),
            ("epoch", &self.epoch),
            ("progress", &self.progress),
            ("due", &self.due),
        ];
        said.into_iter().find(|(_, text)| text.trim().is_empty()).map(|(key, _)| key)
    }
}

fn parameter(name: String, raw: RawParameter) -> Result<Parameter, String> {
    let plain = name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    if !plain || raw.means.trim().is_empty() {
        return Err(format!("the parameter `{name}` needs a name of small letters and `_`, and a meaning"));
    }
    let takes = one_of(&raw.takes, ParameterType::ALL, ParameterType::as_str)?;
    let value = |what: &str, text: Option<String>| {
        let value = text.map(|text| {
            Value::parse(takes, &text).map_err(|fault| format!("the {what} of `{name}` cannot be this; {fault}"))
        });
        value.transpose()
    };
    let (default, example) = (value("default", raw.default)?, value("example", raw.example)?);
    Ok(Parameter { name: name.into(), takes, default, example, means: raw.means.into() })
}

fn store(kind: &'static dyn StoreKind, section: &Section, facts: &PresetFacts<'_>) -> Result<PresetStore, String> {
    let grants = section.text("grants").map(|text| text.value.clone()).unwrap_or_default();
    if grants.trim().is_empty() {
        return Err(format!("{}: `grants` is empty; say what the exporter's user must be allowed", kind.name()));
    }
    let query = kind.preset_query(section, facts).map_err(|wrong| format!("{}: {wrong}", kind.name()))?;
    Ok(PresetStore { kind, grants, query })
}

fn one_of<T: Copy, const N: usize>(word: &str, all: [T; N], name: fn(T) -> &'static str) -> Result<T, String> {
    all.into_iter()
        .find(|value| name(*value) == word)
        .ok_or_else(|| format!("`{word}` is none of {}", all.map(name).join(", ")))
}
