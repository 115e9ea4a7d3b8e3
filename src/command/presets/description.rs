//! The description of a preset.

use std::fmt::Write as _;

use crate::command::terminal::wrap;
use crate::lease::{Clock, Column, LeaseKind};
use crate::preset::{FilledPreset, Parameter, ParameterType, Preset};
use crate::store::kind::StoreKind;
use crate::store::query::PresetView;

/// The width of lines, as in help texts.
const WIDTH: usize = 100;
/// The column of the values.
const INDENT: usize = 12;

/// The preset, and how it reads these kinds of store.
pub(super) fn of(filled: &FilledPreset<'_>, kinds: &[&dyn StoreKind]) -> String {
    let preset = filled.preset();
    let mut text = format!("{}\n\n", wrapped(&format!("{}: {}", preset.name(), preset.about.description), 0));
    facts(&mut text, preset);
    list(&mut text, "You must supply", &preset.about.supply);
    list(&mut text, "Know before you believe it", &preset.about.caveats);
    parameters(&mut text, preset, kinds);
    for kind in kinds {
        reading(&mut text, filled, *kind);
    }
    example(&mut text, filled, kinds);
    text
}

fn facts(text: &mut String, preset: &Preset) {
    let about = &preset.about;
    let kind = match preset.kind {
        LeaseKind::Standing => "a leader that should always be there",
        LeaseKind::Registry => "at least one of many holders that beat side by side",
        LeaseKind::Claim => "held only while a run lasts",
    };
    let clock = match preset.clock {
        Clock::Store => "times are written by the store's clock",
        Clock::Holder => "each holder writes its own time, so ages are spans of clock_skew",
    };
    let columns: Vec<_> = Column::ALL.into_iter().filter(|column| preset.columns.has(*column)).collect();
    let columns = columns.into_iter().map(Column::as_str).collect::<Vec<_>>().join(", ");
    for (heading, value) in [
        ("kind", &*format!("{}: {kind}", preset.kind)),
        ("clock", &format!("{}: {clock}", preset.clock)),
        ("zone", &about.zone),
        ("held", &about.freshness),
        ("ttl", &about.ttl),
        ("epoch", &about.epoch),
        ("progress", &about.progress),
        ("due", &about.due),
        ("columns", &columns),
    ] {
        let _ = writeln!(text, "{heading:INDENT$}{}", wrapped(value, INDENT));
    }
}

fn list(text: &mut String, heading: &str, items: &[String]) {
    if items.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{heading}:");
    for item in items {
        let _ = writeln!(text, "  - {}", wrapped(item, 4));
    }
}

fn parameters(text: &mut String, preset: &Preset, kinds: &[&dyn StoreKind]) {
    let of = |kind: &&dyn StoreKind| preset.parameters_of(kind.name()).collect::<Vec<_>>();
    let used: Vec<_> = kinds.iter().flat_map(of).collect();
    let parameters: Vec<_> = preset.parameters.iter().filter(|parameter| used.contains(parameter)).collect();
    if parameters.is_empty() {
        return;
    }
    text.push_str("\nParameters, for the source's `parameters`:\n");
    for Parameter { name, takes, default, means, .. } in parameters {
        let default = default.as_ref().map_or("required".to_owned(), |default| format!("{default} if not given"));
        let description = format!("{name} ({}, {default}): {means}", takes.as_str());
        let _ = writeln!(text, "  - {}", wrapped(&description, 4));
    }
}

fn reading(text: &mut String, filled: &FilledPreset<'_>, kind: &dyn StoreKind) {
    let store = kind.name();
    if let Some(probe) = filled.probe(store) {
        let _ = writeln!(text, "\n{store}, which version is there:\n{}", indented(&probe));
    }
    for PresetView { variant, grants, query } in filled.views(store) {
        let version = variant.map_or(String::new(), |variant| format!(", {variant}"));
        let grants = format!("{}{grants}", kind.before_grants());
        let _ =
            writeln!(text, "\n{store}{version}, rights to grant{}:\n{}", placeholder_hint(&grants), indented(&grants));
        let _ = writeln!(text, "\n{store}{version}, {}:\n{}", filled.noun(store), indented(&query));
    }
}

/// The hint about the placeholders in the grants, if there are any.
fn placeholder_hint(grants: &str) -> String {
    let words = ["PASSWORD", "THE_DATABASE", "THE_SCHEMA"];
    let words: Vec<_> = words.into_iter().filter(|word| grants.contains(word)).collect();
    if words.is_empty() { String::new() } else { format!(" (put yours for {})", words.join(", ")) }
}

fn example(text: &mut String, filled: &FilledPreset<'_>, kinds: &[&dyn StoreKind]) {
    let preset = filled.preset();
    let Some(kind) = kinds.first() else { return };
    text.push_str("\nExample:\n  sources:\n    - name: app\n");
    let (address, others) = kind.example().split_first().map_or(("", [].as_slice()), |(first, rest)| (*first, rest));
    let _ = writeln!(text, "      {address}\n      preset: {}", preset.name());
    for line in others {
        let _ = writeln!(text, "      {line}");
    }
    let parameters: Vec<_> = preset.parameters_of(kind.name()).collect();
    if !parameters.is_empty() {
        text.push_str("      parameters:\n");
    }
    for parameter in parameters {
        let value = match (filled.example(parameter), parameter.takes) {
            (Some(value), ParameterType::Text) => format!("\"{value}\""),
            (Some(value), _) => value.to_string(),
            (None, _) => "…".to_owned(),
        };
        let _ = writeln!(text, "        {}: {value}", parameter.name);
    }
    if !preset.about.limits.is_empty() {
        text.push_str("  leases:\n    - match: { source: app, lease: \"*\" }\n");
    }
    for (key, value) in &preset.about.limits {
        let _ = writeln!(text, "      {key}: {value}");
    }
}

/// The text in lines of up to [`WIDTH`], each after the first indented.
fn wrapped(text: &str, indent: usize) -> String {
    wrap(text, WIDTH - indent).join(&format!("\n{:indent$}", ""))
}

fn indented(text: &str) -> String {
    let lines = text.trim_end().lines();
    lines.map(|line| if line.is_empty() { String::new() } else { format!("  {line}") }).collect::<Vec<_>>().join("\n")
}
