//! The parameters that a source gives to a preset.

use crate::preset::{FilledPreset, Parameter, Preset, Value};
use crate::store::section::{Node, Section, Text, line};
use crate::suggestion::did_you_mean;

use super::problem::{Diagnostics, Problem};
use crate::diagnostic::QuotedValue;

/// The preset with these values, for a source on line `at`; `None` if a value is wrong or missing, which is noted.
pub(super) fn filled(
    preset: &'static Preset,
    store: &'static str,
    given: Option<&Section>,
    at: u64,
    diagnostics: &mut Diagnostics,
) -> Option<FilledPreset<'static>> {
    let before = diagnostics.count();
    let known: Vec<&'static Parameter> = preset.parameters_of(store).collect();
    let values = given.into_iter().flat_map(Section::entries).filter_map(|(name, node)| {
        let Node::Text(text) = node else { return None };
        let value = match known.iter().find(|parameter| *parameter.name == *name) {
            Some(parameter) => value(parameter, text).map(|value| (&*parameter.name, value)),
            None => Err(unknown(preset, store, name, &known)),
        };
        diagnostics.keep(line(text), value)
    });
    let filled = preset.with(values.collect::<Vec<_>>());
    for missing in known
        .iter()
        .filter(|known| known.default.is_none() && given.is_none_or(|given| given.get(&known.name).is_none()))
    {
        diagnostics
            .note(at, Problem::MissingParameter { preset: preset.name(), name: &missing.name, means: &missing.means });
    }
    (diagnostics.count() == before).then_some(filled)
}

fn value(parameter: &'static Parameter, text: &Text) -> Result<Value, Problem> {
    let problem = |fault| Problem::Parameter { name: &parameter.name, value: QuotedValue::new(&text.value), fault };
    Value::parse(parameter.takes, &text.value).map_err(problem)
}

fn unknown(preset: &'static Preset, store: &'static str, name: &str, known: &[&'static Parameter]) -> Problem {
    if let Some(other) = preset.parameter(name) {
        return Problem::KeyOfOtherStore { key: other.name.to_string(), store };
    }
    let names = || known.iter().map(|parameter| &*parameter.name);
    let instead = match did_you_mean(name, names()) {
        Some(suggestion) => suggestion,
        None if known.is_empty() => "it has none, so leave `parameters` out".to_owned(),
        None => format!("it has {}", names().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")),
    };
    Problem::NoSuchParameter { preset: preset.name(), name: QuotedValue::new(name), instead }
}
