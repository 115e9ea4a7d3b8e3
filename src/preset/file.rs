//! One data file made into a preset.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::lease::{Clock, Column, Columns, Kind};
use crate::store::keys::WrittenKeys;
use crate::yaml;

use super::parameter::{Parameter, Takes, Value, placeholders};
use super::reads::{Asks, Reads, Variant, with_values};
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
    /// The name of the only lease, where there is one that the statement names.
    #[serde(default)]
    lease: Option<String>,
    #[serde(default)]
    supply: Vec<String>,
    caveats: Vec<String>,
    #[serde(default)]
    limits: BTreeMap<String, String>,
    #[serde(default)]
    parameters: BTreeMap<String, RawParameter>,
    stores: BTreeMap<String, RawReads>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawParameter {
    takes: String,
    default: Option<String>,
    example: Option<String>,
    means: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawReads {
    grants: String,
    sql: Option<String>,
    probe: Option<String>,
    #[serde(default)]
    variants: Variants,
    keys: Option<WrittenKeys<String>>,
}

/// What each version gives for each gap.
type Variants = BTreeMap<String, BTreeMap<String, String>>;

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
        reads(dialect, raw, columns, &parameters).map_err(|wrong| format!("{}: {wrong}", dialect.as_str()))
    });
    let mut reads = reads.collect::<Result<Vec<_>, String>>()?;
    reads.sort_by_key(|reads| Dialect::ALL.into_iter().position(|dialect| dialect == reads.dialect));
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
        lease: raw.lease.map(Into::into),
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
            limits: raw.limits.into_iter().collect(),
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
    let value = |what: &str, text: Option<String>| {
        let value = text.map(|text| {
            Value::parse(takes, &text).map_err(|fault| format!("the {what} of `{name}` cannot be this; {fault}"))
        });
        value.transpose()
    };
    let (default, example) = (value("default", raw.default)?, value("example", raw.example)?);
    Ok(Parameter { name: name.into(), takes, default, example, means: raw.means.into() })
}

fn reads(dialect: Dialect, raw: RawReads, columns: Columns, parameters: &[Parameter]) -> Result<Reads, String> {
    let RawReads { grants, sql, probe, variants, keys } = raw;
    if grants.trim().is_empty() {
        return Err("`grants` is empty; say what the exporter's user must be allowed".into());
    }
    let asks = match (dialect, keys, sql) {
        (Dialect::Redis, Some(keys), None) if probe.is_none() && variants.is_empty() => {
            Asks::Keys(of_keys(keys, columns, parameters)?)
        }
        (Dialect::Redis, ..) => return Err("`keys` is what is read there, and nothing else".into()),
        (_, None, Some(sql)) if !sql.trim().is_empty() => of_sql(&grants, sql, probe, variants, parameters)?,
        _ => return Err("`sql` is what is read there, and no `keys`".into()),
    };
    Ok(Reads { dialect, grants, asks })
}

fn of_keys(
    keys: WrittenKeys<String>,
    columns: Columns,
    parameters: &[Parameter],
) -> Result<WrittenKeys<String>, String> {
    if let Some(taken) = parameters.iter().find(|parameter| matches!(&*parameter.name, "key" | "name")) {
        return Err(format!("`{{{}}}` stands for the lease's in keys; name the parameter otherwise", taken.name));
    }
    let defaults = parameters.iter().filter_map(|parameter| Some((parameter.name.clone(), parameter.default.clone()?)));
    let written = with_values(&keys, &defaults.collect());
    let layout = written.layout().map_err(|faults| {
        let faults = faults.iter().map(|(_, fault)| fault.to_string());
        faults.collect::<Vec<_>>().join("; ")
    })?;
    if let Some(unsaid) = layout.columns().into_iter().find(|column| !columns.has(*column)) {
        return Err(format!("such keys give `{unsaid}` too, which `columns` leaves out"));
    }
    Ok(keys)
}

fn of_sql(
    grants: &str,
    sql: String,
    probe: Option<String>,
    variants: Variants,
    parameters: &[Parameter],
) -> Result<Asks, String> {
    let fragments = variants.values().flat_map(BTreeMap::values).map(String::as_str);
    let texts = [grants, &sql].into_iter().chain(probe.as_deref()).chain(fragments);
    let named: BTreeSet<&str> = texts.flat_map(placeholders).collect();
    let own: BTreeSet<&str> = variants.values().flat_map(BTreeMap::keys).map(String::as_str).collect();
    for name in named.iter().filter(|name| !own.contains(**name)) {
        match parameters.iter().find(|parameter| *parameter.name == **name) {
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
    for (variant, gives) in &variants {
        if let Some(lacks) = own.iter().find(|name| !gives.contains_key(**name)) {
            return Err(format!("the variant `{variant}` does not give `{lacks}`, as others do"));
        }
    }
    let variants = variants.into_iter().map(|(name, stands_for)| Variant { name: name.into(), stands_for });
    match probe {
        None if variants.len() == 0 => Ok(Asks::Statement(sql)),
        Some(probe) if variants.len() > 0 => Ok(Asks::Probed { probe, sql, variants: variants.collect() }),
        _ => Err("`probe` and `variants` belong together: its answer names one of them".into()),
    }
}

fn one_of<T: Copy, const N: usize>(word: &str, all: [T; N], name: fn(T) -> &'static str) -> Result<T, String> {
    all.into_iter()
        .find(|value| name(*value) == word)
        .ok_or_else(|| format!("`{word}` is none of {}", all.map(name).join(", ")))
}
