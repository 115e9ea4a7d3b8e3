//! What a source says of a preset's parameters.

use std::collections::BTreeMap;

use crate::preset::{Dialect, Filled, Parameter, Preset, Value};
use crate::suggestion::did_you_mean;

use super::problem::{Diagnostics, Problem};
use super::raw::Text;
use crate::diagnostic::QuotedValue;

/// The preset with these values, for a source that begins on `line`; `None` where one of them is wrong or missing, which
/// is then noted.
pub(super) fn filled(
    preset: &'static Preset,
    dialect: Dialect,
    given: &BTreeMap<String, Text>,
    line: u64,
    faults: &mut Diagnostics,
) -> Option<Filled<'static>> {
    let before = faults.count();
    let known: Vec<&'static Parameter> = preset.parameters_of(dialect).collect();
    let values = given.iter().filter_map(|(name, text)| {
        let value = match known.iter().find(|parameter| *parameter.name == **name) {
            Some(parameter) => value(parameter, text).map(|value| (&*parameter.name, value)),
            None => Err(unknown(preset, dialect, name, &known)),
        };
        faults.keep(text.referenced.line(), value)
    });
    let filled = preset.with(values.collect::<Vec<_>>());
    for missing in known.iter().filter(|known| known.default.is_none() && !given.contains_key(&*known.name)) {
        faults.note(
            line,
            Problem::MissingParameter { preset: preset.name(), name: &missing.name, means: &missing.means },
        );
    }
    (faults.count() == before).then_some(filled)
}

/// Takes note of parameters where there is no preset.
pub(super) fn note_without_preset(given: &BTreeMap<String, Text>, faults: &mut Diagnostics) {
    if let Some(line) = given.values().map(|text| text.referenced.line()).min() {
        faults.note(line, Problem::ParametersOfQuery);
    }
}

fn value(parameter: &'static Parameter, text: &Text) -> Result<Value, Problem> {
    let problem = |fault| Problem::Parameter { name: &parameter.name, value: QuotedValue::new(&text.value), fault };
    Value::parse(parameter.takes, &text.value).map_err(problem)
}

fn unknown(preset: &'static Preset, dialect: Dialect, name: &str, known: &[&'static Parameter]) -> Problem {
    if let Some(other) = preset.parameter(name) {
        return Problem::KeyOfOther { key: &other.name, store: dialect.as_str() };
    }
    let names = || known.iter().map(|parameter| &*parameter.name);
    let instead = match did_you_mean(name, names()) {
        Some(suggestion) => suggestion,
        None if known.is_empty() => "it has none, so leave `parameters` out".to_owned(),
        None => format!("it has {}", names().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")),
    };
    Problem::NoSuchParameter { preset: preset.name(), name: QuotedValue::new(name), instead }
}
