//! `lease-exporter presets`: how the leases of well-known schedulers are read.

mod description;

use std::fmt::Write as _;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser as _};

use super::Failure;
use super::exit::Exit;
use super::manual::Manual;
use super::print::print;
use crate::preset::{FilledPreset, Preset, Value};
use crate::store::kind::StoreKind;
use crate::store::kinds;

pub(super) const MANUAL: Manual = Manual {
    examples: &[
        ("lease-exporter presets", "the presets, a line each"),
        ("lease-exporter presets quartz --store=postgres --parameter=table_prefix=APP_", "one, for tables of your own"),
    ],
    environment: &[],
    exits: &[(Exit::Ok, "it was printed")],
};

/// Print the presets, or what one of them reads and needs.
///
/// Without a name, prints one line for each preset. With a name, prints what it means to hold the lease, whose clock
/// counts, which work is due and what you must supply; and for each kind of store the rights to grant, the query and an
/// example to start from.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = MANUAL.help())]
pub(super) struct Arguments {
    /// The preset to print
    #[arg(value_parser = presets())]
    name: Option<&'static Preset>,

    /// Print this kind of store alone, of those that the preset reads
    #[arg(long, value_name = "KIND", requires = "name", value_parser = kinds())]
    store: Option<&'static dyn StoreKind>,

    /// Print it with this value of a parameter, such as table_prefix=APP_; may be given several times
    #[arg(long = "parameter", value_name = "NAME=VALUE", requires = "name", value_parser = parse_parameter)]
    parameters: Vec<(String, String)>,
}

fn presets() -> impl clap::builder::TypedValueParser<Value = &'static Preset> {
    let value = |preset: &'static Preset| PossibleValue::new(preset.name()).help(&*preset.about.description);
    PossibleValuesParser::new(Preset::all().iter().map(value))
        .try_map(|name| Preset::named(&name).ok_or("there is no such preset"))
}

fn parse_parameter(text: &str) -> Result<(String, String), &'static str> {
    let (name, value) = text.split_once('=').ok_or("write it as NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

fn kinds() -> impl clap::builder::TypedValueParser<Value = &'static dyn StoreKind> {
    PossibleValuesParser::new(kinds::visible_kinds().map(StoreKind::name))
        .try_map(|name| kinds::named(&name).ok_or("there is no such kind of store"))
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let text = match arguments.name {
        None => list(),
        Some(preset) => description::of(&filled(preset, &arguments.parameters)?, &read(preset, arguments.store)?),
    };
    print(text)?;
    Ok(Exit::Ok)
}

/// The preset with these values of its parameters.
fn filled(preset: &'static Preset, given: &[(String, String)]) -> Result<FilledPreset<'static>, Failure> {
    let values = given.iter().map(|(name, text)| {
        let parameter = preset.parameter(name).ok_or_else(|| {
            let known: Vec<_> = preset.parameters.iter().map(|known| format!("`{}`", known.name)).collect();
            let known =
                if known.is_empty() { "it has none".to_owned() } else { format!("it has {}", known.join(", ")) };
            Failure::Configuration(format!("the preset `{}` has no parameter {name:?}; {known}", preset.name()))
        })?;
        let value = Value::parse(parameter.takes, text);
        let value = value
            .map_err(|fault| Failure::Configuration(format!("the parameter `{name}` cannot be {text:?}; {fault}")))?;
        Ok((&*parameter.name, value))
    });
    Ok(preset.with(values.collect::<Result<Vec<_>, Failure>>()?))
}

/// The kinds of store to print, at least one.
fn read(preset: &Preset, only: Option<&'static dyn StoreKind>) -> Result<Vec<&'static dyn StoreKind>, Failure> {
    let is_wanted = |kind: &&dyn StoreKind| only.is_none_or(|only| only.name() == kind.name());
    let read: Vec<_> = preset.kinds().filter(is_wanted).collect();
    match only {
        Some(only) if read.is_empty() => Err(Failure::Configuration(format!(
            "the preset `{}` does not read {}; it reads {}",
            preset.name(),
            only.name(),
            stores(preset)
        ))),
        _ => Ok(read),
    }
}

fn stores(preset: &Preset) -> String {
    preset.stores().collect::<Vec<_>>().join(", ")
}

fn list() -> String {
    let head = ["NAME", "KIND", "CLOCK", "STORES", "IS"].map(str::to_owned);
    let rows = Preset::all().iter().map(|preset| {
        let (kind, clock) = (preset.kind.as_str().to_owned(), preset.clock.as_str().to_owned());
        [preset.name().to_owned(), kind, clock, stores(preset), preset.about.description.clone()]
    });
    let rows: Vec<_> = std::iter::once(head).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or_default();
    let [name, kind, clock, stores] = [0, 1, 2, 3].map(width);
    let mut text = String::new();
    for row in &rows {
        let _ = writeln!(text, "{:name$}  {:kind$}  {:clock$}  {:stores$}  {}", row[0], row[1], row[2], row[3], row[4]);
    }
    text.push_str("\n`lease-exporter presets NAME` prints what one reads and needs.\n");
    text
}
