//! One data file made into a preset.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::lease::{Clock, Column, Columns, Kind};
use crate::yaml;

use super::parameter::{Parameter, Takes, Value, placeholders};
use super::reads::{Asks, Reads, Variant};
use super::{About, Dialect, Preset};

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
    #[serde(default)]
    supply: Vec<String>,
    caveats: Vec<String>,
    #[serde(default)]
    parameters: BTreeMap<String, RawParameter>,
    stores: BTreeMap<String, RawReads>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawParameter {
    takes: String,
    default: Option<String>,
    means: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawReads {
    grants: String,
    sql: String,
    probe: Option<String>,
    #[serde(default)]
    variants: BTreeMap<String, BTreeMap<String, String>>,
}

/// Reads a data file, which must be named like the preset in it.
///
/// # Errors
/// What is wrong with it, for whoever writes the file.
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
    let reads = raw.stores.into_iter().map(|(dialect, raw)| {
        let dialect = one_of(&dialect, Dialect::ALL, Dialect::as_str)?;
        reads(dialect, raw, &parameters).map_err(|wrong| format!("{}: {wrong}", dialect.as_str()))
    });
    let reads = reads.collect::<Result<Vec<_>, String>>()?;
    if reads.is_empty() {
        return Err("`stores` is empty; say how to read at least one".into());
    }
    if let Some(idle) = parameters.iter().find(|parameter| !reads.iter().any(|reads| reads.mentions(&parameter.name))) {
        return Err(format!("nothing has `{{{}}}` in it; use the parameter or take it out", idle.name));
    }
    Ok(Preset {
        kind: one_of(&raw.kind, Kind::ALL, Kind::as_str)?,
        clock: one_of(&raw.clock, Clock::ALL, Clock::as_str)?,
        columns,
        parameters,
        reads,
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
        },
    })
}

impl RawPreset {
    /// The first thing that should be said and is not.
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
    let takes = one_of(&raw.takes, Takes::ALL, Takes::as_str)?;
    let default = raw.default.map(|text| {
        Value::parse(takes, &text).map_err(|fault| format!("the default of `{name}` cannot be this; {fault}"))
    });
    Ok(Parameter { name: name.into(), takes, default: default.transpose()?, means: raw.means.into() })
}

fn reads(dialect: Dialect, raw: RawReads, parameters: &[Parameter]) -> Result<Reads, String> {
    if raw.grants.trim().is_empty() || raw.sql.trim().is_empty() {
        return Err("`grants` or `sql` is empty".into());
    }
    let texts = [&raw.grants, &raw.sql].into_iter().chain(&raw.probe);
    let mut named: BTreeSet<&str> = texts.flat_map(|text| placeholders(text)).collect();
    named.extend(raw.variants.values().flat_map(BTreeMap::values).flat_map(|text| placeholders(text)));
    let own: BTreeSet<&str> = raw.variants.values().flat_map(BTreeMap::keys).map(String::as_str).collect();
    for name in &named {
        let parameter = parameters.iter().find(|parameter| *parameter.name == **name);
        match parameter {
            _ if own.contains(name) => {}
            None => return Err(format!("`{{{name}}}` is neither a parameter nor given by the variants")),
            Some(parameter) if parameter.takes == Takes::Text => {
                return Err(format!("`{{{name}}}` takes any text, which must not get into SQL"));
            }
            Some(_) => {}
        }
    }
    if let Some(unused) = own.iter().find(|name| !named.contains(**name)) {
        return Err(format!("the variants give `{unused}`, which nothing asks for"));
    }
    for (variant, gives) in &raw.variants {
        if let Some(lacks) = own.iter().find(|name| !gives.contains_key(**name)) {
            return Err(format!("the variant `{variant}` does not give `{lacks}`, as others do"));
        }
    }
    let variants = raw.variants.into_iter().map(|(name, stands_for)| Variant { name: name.into(), stands_for });
    let asks = match raw.probe {
        None if variants.len() == 0 => Asks::Statement(raw.sql),
        Some(probe) if variants.len() > 0 => Asks::Probed { probe, sql: raw.sql, variants: variants.collect() },
        _ => return Err("`probe` and `variants` belong together: its answer names one of them".into()),
    };
    Ok(Reads { dialect, grants: raw.grants, asks })
}

fn one_of<T: Copy, const N: usize>(word: &str, all: [T; N], name: fn(T) -> &'static str) -> Result<T, String> {
    all.into_iter()
        .find(|value| name(*value) == word)
        .ok_or_else(|| format!("`{word}` is none of {}", all.map(name).join(", ")))
}
