//! Presets: what well-known schedulers store where. One data file each, and their loader.
//!
//! Every `.yml` file in this folder is a preset; `CONTRIBUTING.md` describes its keys.

mod file;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

use std::sync::{Arc, LazyLock};

use crate::lease::{Clock, Columns, LeaseKind};
use crate::store::kind::StoreKind;
use crate::store::parameter::{Values, placeholders};
use crate::store::query::{PresetQuery, PresetView, Query};

pub use crate::store::parameter::{Parameter, ParameterType, Value, ValueFault};

#[cfg(test)]
use crate::store::parameter;

/// The data of one scheduler, and how to read it.
#[derive(Debug)]
pub struct Preset {
    name: String,
    /// The kind of its leases.
    pub kind: LeaseKind,
    /// Whose clock wrote the times.
    pub clock: Clock,
    /// The columns of the reading contract that it returns.
    pub columns: Columns,
    /// The name of the only lease, if the query names one.
    pub lease: Option<Arc<str>>,
    /// The description for users.
    pub about: About,
    /// The parameters, which users set to fit their tables and keys.
    pub parameters: Vec<Parameter>,
    stores: Vec<PresetStore>,
    /// The kinds of store that it reads and this build leaves out.
    left_out: Vec<&'static str>,
}

/// How a preset reads one kind of store.
#[derive(Debug)]
struct PresetStore {
    kind: &'static dyn StoreKind,
    grants: String,
    query: Box<dyn PresetQuery>,
}

/// The description of a preset for users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// The description in one line.
    pub description: String,
    /// The zone of times without a zone.
    pub zone: String,
    /// When a holder's time is up.
    pub freshness: String,
    /// How long that is after a renewal.
    pub ttl: String,
    /// Where the epoch comes from, and whether it can go backwards.
    pub epoch: String,
    /// The meaning of progress.
    pub progress: String,
    /// The meaning of due work: the work of the leader, not that of the workers.
    pub due: String,
    /// The settings that users must supply, because the store does not have them.
    pub supply: Vec<String>,
    /// The limits of its results.
    pub caveats: Vec<String>,
    /// Example limits of leases, by the keys of an entry of `leases`.
    pub limits: Vec<(String, String)>,
}

/// Every data file with its name without `.yml`, from the build script.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/presets.rs"));

/// A test proves that every file can be read. A file that cannot be read would be missing here.
static PRESETS: LazyLock<Vec<Preset>> =
    LazyLock::new(|| FILES.iter().filter_map(|(name, text)| file::read(name, text).ok()).collect());

impl Preset {
    /// Every preset, by name.
    #[must_use]
    pub fn all() -> &'static [Self] {
        &PRESETS
    }

    /// The preset of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::all().iter().find(|preset| preset.name == name)
    }

    /// The name in configurations.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names of the kinds of store that it can read.
    pub fn stores(&self) -> impl Iterator<Item = &'static str> {
        self.stores.iter().map(|store| store.kind.name()).chain(self.left_out.iter().copied())
    }

    /// The kinds of store that it can read in this build.
    pub fn kinds(&self) -> impl Iterator<Item = &'static dyn StoreKind> {
        self.stores.iter().map(|store| store.kind)
    }

    /// The parameter of this name.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|parameter| *parameter.name == *name)
    }

    /// The parameters that are used for the kind of store of this name.
    pub fn parameters_of(&self, store: &str) -> impl Iterator<Item = &Parameter> {
        let store = self.store(store);
        self.parameters.iter().filter(move |parameter| store.is_some_and(|store| store.uses(&parameter.name)))
    }

    /// The preset with these values for its parameters, and the defaults of the others.
    #[must_use]
    pub fn with<'a>(&'a self, given: impl IntoIterator<Item = (&'a str, Value)>) -> FilledPreset<'a> {
        let defaults = self.parameters.iter().filter_map(|parameter| {
            let default = parameter.default.clone()?;
            Some((parameter.name.clone(), default))
        });
        let mut values: Values = defaults.collect();
        let given: Values = given.into_iter().map(|(name, value)| (name.into(), value)).collect();
        values.extend(given.clone());
        FilledPreset { preset: self, given, values }
    }

    /// The text of the query for the kind of store of this name, with the defaults of the parameters; `None` if the preset
    /// cannot read it. If what is stored has several versions, it is the query for the first of them.
    #[must_use]
    pub fn query_text(&self, store: &str) -> Option<String> {
        self.with([]).views(store).into_iter().next().map(|view| view.query)
    }

    fn store(&self, name: &str) -> Option<&PresetStore> {
        self.stores.iter().find(|store| store.kind.name() == name)
    }
}

impl PresetStore {
    fn uses(&self, parameter: &str) -> bool {
        let texts = self.query.texts().into_iter().chain([&*self.grants]);
        texts.flat_map(placeholders).any(|name| name == parameter)
    }
}

/// A preset with values for its parameters.
#[derive(Clone, Debug)]
pub struct FilledPreset<'a> {
    preset: &'a Preset,
    given: Values,
    values: Values,
}

impl FilledPreset<'_> {
    /// The preset itself.
    #[must_use]
    pub const fn preset(&self) -> &Preset {
        self.preset
    }

    /// The value of a parameter in an example: the given one, else the one meant for examples, else the default.
    #[must_use]
    pub fn example<'b>(&'b self, parameter: &'b Parameter) -> Option<&'b Value> {
        let given = self.given.get(&parameter.name);
        given.or(parameter.example.as_ref()).or(parameter.default.as_ref())
    }

    /// The query for the kind of store of this name; `None` if the preset cannot read it.
    #[must_use]
    pub fn query(&self, store: &str) -> Option<Box<dyn Query>> {
        self.preset.store(store)?.query.query(&self.values)
    }

    /// The noun for the query: `statement` or the like.
    #[must_use]
    pub fn noun(&self, store: &str) -> &'static str {
        self.preset.store(store).map_or("query", |store| store.query.noun())
    }

    /// The query and its grants as a person reads them, for each version of what is stored.
    #[must_use]
    pub fn views(&self, store: &str) -> Vec<PresetView> {
        let store = self.preset.store(store);
        store.map(|store| store.query.views(&store.grants, &self.values)).unwrap_or_default()
    }

    /// The statement that finds the version, if there are several.
    #[must_use]
    pub fn probe(&self, store: &str) -> Option<String> {
        self.preset.store(store)?.query.probe(&self.values)
    }
}
