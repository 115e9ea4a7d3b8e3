//! One data file made into a preset.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::lease::{Clock, Column, Columns, Kind};
use crate::yaml;

use super::{Dialect, Preset, Reads};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPreset {
    name: String,
    description: String,
    kind: String,
    clock: String,
    columns: Vec<String>,
    due: String,
    caveats: Vec<String>,
    stores: BTreeMap<String, RawReads>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawReads {
    grants: String,
    sql: String,
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
    let columns = raw
        .columns
        .iter()
        .map(|column| one_of(column, Column::ALL, Column::as_str))
        .collect::<Result<Columns, String>>()?;
    if !columns.has(Column::StoreNow) {
        return Err("without `store_now` no time can be judged".into());
    }
    let reads = raw.stores.into_iter().map(|(dialect, RawReads { grants, sql })| {
        Ok(Reads { dialect: one_of(&dialect, Dialect::ALL, Dialect::as_str)?, grants, sql })
    });
    Ok(Preset {
        kind: one_of(&raw.kind, Kind::ALL, Kind::as_str)?,
        clock: one_of(&raw.clock, Clock::ALL, Clock::as_str)?,
        columns,
        reads: reads.collect::<Result<_, String>>()?,
        name: raw.name,
        description: raw.description,
        due: raw.due,
        caveats: raw.caveats,
    })
}

fn one_of<T: Copy, const N: usize>(word: &str, all: [T; N], name: fn(T) -> &'static str) -> Result<T, String> {
    all.into_iter()
        .find(|value| name(*value) == word)
        .ok_or_else(|| format!("`{word}` is none of {}", all.map(name).join(", ")))
}
