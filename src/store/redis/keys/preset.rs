//! The keys of a preset.

use super::KeyLayout;
use super::section::KEYS;
use crate::store::parameter::{Values, fill};
use crate::store::query::{PresetFacts, PresetQuery, PresetView, Query};
use crate::store::section::{KeySet, KeySpec, Node, Section, Shape};

const PRESET: [KeySpec; 2] = [KeySpec::text("grants"), KeySpec { name: "keys", shape: Shape::Section(KEYS) }];

pub(in crate::store::redis) const PRESET_KEYS: KeySet = KeySet::new(&PRESET, &KeySpec::names(&PRESET));

/// The section `keys` of a preset, with parameters in braces.
#[derive(Clone, Debug)]
pub(in crate::store::redis) struct PresetKeys(Section);

impl PresetKeys {
    /// Reads a preset's section, and checks it with the defaults of the parameters.
    pub(in crate::store::redis) fn of_preset(section: &Section, preset: &PresetFacts<'_>) -> Result<Self, String> {
        let keys = Self(section.section("keys").ok_or("`keys` is missing")?.clone());
        if let Some(taken) = preset.parameters.iter().find(|known| matches!(&*known.name, "key" | "name")) {
            return Err(format!("`{{{}}}` stands for the lease's in keys; name the parameter otherwise", taken.name));
        }
        let defaults = preset.parameters.iter().filter_map(|known| Some((known.name.clone(), known.default.clone()?)));
        let filled = keys.filled(&defaults.collect());
        let layout = KeyLayout::of_section(&filled).map_err(|faults| {
            let messages = faults.into_iter().map(|fault| fault.message);
            messages.collect::<Vec<_>>().join("; ")
        })?;
        match layout.columns().into_iter().find(|column| !preset.columns.has(*column)) {
            Some(undeclared) => Err(format!("such keys give `{undeclared}` too, which `columns` leaves out")),
            None => Ok(keys),
        }
    }

    fn filled(&self, values: &Values) -> Section {
        self.0.map_texts(&|text| in_text(text, values))
    }
}

impl PresetQuery for PresetKeys {
    fn noun(&self) -> &'static str {
        "keys"
    }

    fn texts(&self) -> Vec<&str> {
        self.0.texts().into_iter().map(|text| text.value.as_str()).collect()
    }

    fn query(&self, values: &Values) -> Option<Box<dyn Query>> {
        Some(Box::new(KeyLayout::of_section(&self.filled(values)).ok()?))
    }

    fn views(&self, grants: &str, values: &Values) -> Vec<PresetView> {
        let filled = self.filled(values);
        let line = |(key, node): (&str, &Node)| {
            let texts = node.texts().into_iter().map(|text| text.value.as_str()).collect::<Vec<_>>();
            format!("{key}: {}\n", texts.join(", "))
        };
        let query = filled.entries().map(line).collect();
        vec![PresetView { variant: None, grants: in_text(grants, values), query }]
    }
}

fn in_text(text: &str, values: &Values) -> String {
    fill(text, values.iter().map(|(name, value)| (&**name, value.to_string())))
}
