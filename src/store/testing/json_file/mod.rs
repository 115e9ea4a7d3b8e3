//! A kind of store for tests: leases in a JSON file.
//!
//! It proves that a kind of store is one folder and one line in [`crate::store::kinds`].

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value as Json;
use tokio::time::Instant;

use crate::clock;
use crate::lease::ReadInterval;
use crate::store::column::{Value, columns};
use crate::store::kind::{StoreConfig, StoreKind};
use crate::store::query::{PresetFacts, PresetQuery, Query};
use crate::store::rows::Decoder;
use crate::store::section::{KeySet, KeySpec, Node, Section, StoreDiagnostics, StoreSection, line};
use crate::store::{ReadError, ReadResult, Scope, Store};

/// JSON files.
#[derive(Debug)]
pub(in crate::store) struct JsonFile;

/// Where the leases are in the file: a JSON pointer.
const POINTER: KeySpec = KeySpec::text("pointer");
/// Where the clock is in the file: a JSON pointer, `/now` by default.
const CLOCK_POINTER: KeySpec = KeySpec::text("clock_pointer");

#[derive(Clone, Debug, PartialEq)]
struct Pointer(String);

#[derive(Clone, Debug, PartialEq)]
struct Leases {
    path: PathBuf,
    leases: Pointer,
    clock: String,
}

impl Query for Pointer {}

impl StoreKind for JsonFile {
    fn name(&self) -> &'static str {
        "json-file"
    }

    fn is_hidden(&self) -> bool {
        true
    }

    fn has_users(&self) -> bool {
        false
    }

    fn query_key(&self) -> KeySpec {
        POINTER
    }

    fn keys(&self) -> &'static [KeySpec] {
        &[CLOCK_POINTER]
    }

    fn query(&self, node: &Node, _line: u64, diagnostics: &mut StoreDiagnostics) -> Option<Box<dyn Query>> {
        let Node::Text(text) = node else { return None };
        let pointer = if text.value.starts_with('/') {
            Ok(Pointer(text.value.clone()))
        } else {
            Err("`pointer` begins with `/`")
        };
        Some(Box::new(diagnostics.keep(line(text), pointer)?))
    }

    fn configure(&self, section: &mut StoreSection<'_>, query: Option<Box<dyn Query>>) -> Option<Arc<dyn StoreConfig>> {
        let base_dir = section.base_dir;
        let path = section.address(|text| Ok(base_dir.join(text.trim_start_matches("json-file://"))))?;
        let clock = section.parsed(CLOCK_POINTER.name, |text| match text.starts_with('/') {
            true => Ok(text.to_owned()),
            false => Err("`clock_pointer` begins with `/`".into()),
        });
        let clock = clock.unwrap_or_else(|| "/now".to_owned());
        Some(Arc::new(Leases { path, leases: query?.downcast()?, clock }))
    }

    fn preset_keys(&self) -> KeySet {
        KeySet::new(&[], &[])
    }

    fn preset_query(&self, _section: &Section, _preset: &PresetFacts<'_>) -> Result<Box<dyn PresetQuery>, String> {
        Err("no preset reads it".into())
    }

    fn example(&self) -> &'static [&'static str] {
        &["store: json-file://leases.json"]
    }
}

impl StoreConfig for Leases {
    fn kind(&self) -> &'static dyn StoreKind {
        &JsonFile
    }

    fn store(&self, scope: Scope) -> Box<dyn Store> {
        Box::new(JsonStore { config: self.clone(), scope })
    }
}

#[derive(Debug)]
struct JsonStore {
    config: Leases,
    scope: Scope,
}

impl Store for JsonStore {
    fn read(&mut self, _deadline: Instant) -> Pin<Box<dyn Future<Output = ReadResult> + Send + '_>> {
        Box::pin(async { self.read_file() })
    }
}

impl JsonStore {
    fn read_file(&self) -> ReadResult {
        const COLUMNS: [&str; 5] = ["store_now", "lease", "holder", "epoch", "expires_at"];
        let began = clock::monotonic();
        let text = std::fs::read_to_string(&self.config.path);
        let text = text.map_err(|_| ReadError::Unreachable("the file cannot be read".into()))?;
        let mismatch = |what: &str| ReadError::SchemaMismatch(what.to_owned());
        let file: Json = serde_json::from_str(&text).map_err(|_| mismatch("the file is not JSON"))?;
        let at = ReadInterval { start: began, end: clock::monotonic() };
        let now = file.pointer(&self.config.clock).ok_or_else(|| mismatch("there is no clock"))?;
        let leases = file.pointer(&self.config.leases.0).and_then(Json::as_array);
        let mut decoder = Decoder::new(columns(COLUMNS.into_iter())?, &self.scope);
        for lease in leases.ok_or_else(|| mismatch("there is no list of leases"))? {
            decoder.row(|at| if at == 0 { value(now) } else { value(&lease[COLUMNS[at]]) })?;
        }
        decoder.finish(at, clock::unix_seconds())
    }
}

fn value(json: &Json) -> Value<'_> {
    match json {
        Json::Null => Value::Null,
        Json::Number(number) => number.as_i64().map_or(Value::Other, |number| Value::Integer(number.into())),
        Json::String(text) => Value::Text(text.as_bytes()),
        Json::Bool(_) | Json::Array(_) | Json::Object(_) => Value::Other,
    }
}
