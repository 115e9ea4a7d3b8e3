//! The blocks of the documents that are made from the program. `UPDATE_GOLDEN=1` writes them.
//!
//! A block begins with `<!-- generated: NAME -->` and ends with `<!-- end -->`.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use lease_exporter::expose::page::Advice;
use lease_exporter::expose::{CATALOGUE, FamilyType, Format};
use lease_exporter::lease::{
    Alert, Anomaly, Authority, Clock, Column, LeaseKind, ProgressState, ReadFailure, Reason, RecordFault, State,
};
use lease_exporter::preset::{Parameter, Preset};
use lease_exporter::self_metrics::SelfMetrics;

use super::markdown::documents;
use crate::harness::{contents, repository, run};

const BEGIN: &str = "\n<!-- generated: ";
const END: &str = "<!-- end -->";

/// The name of a generated block, and the function that writes it.
type Block = (&'static str, fn() -> String);

const BLOCKS: [Block; 12] = [
    ("states", states),
    ("reasons", reasons),
    ("authority", || values(&Authority::ALL.map(|value| (value.as_str(), value.description())))),
    ("progress", || values(&ProgressState::ALL.map(|value| (value.as_str(), value.description())))),
    ("advice", advice),
    ("metrics", metrics),
    ("key metrics", key_metrics),
    ("label values", label_values),
    ("rejected rows", || values(&RecordFault::ALL.map(|value| (value.as_str(), value.description())))),
    ("flags", flags),
    ("exit codes", exit_codes),
    ("presets", presets),
];

/// The metrics of the README.
const KEY_METRICS: [&str; 10] = [
    "lease_state",
    "lease_state_reason",
    "lease_age_seconds",
    "lease_epoch",
    "lease_last_progress_age_seconds",
    "lease_stall_after_seconds",
    "lease_due",
    "lease_oldest_due_age_seconds",
    "lease_renewals_since_progress",
    "lease_source_up",
];

#[test]
fn every_generated_block_is_what_the_program_says() {
    let mut made = BTreeSet::new();
    for document in documents() {
        let text = contents(&document);
        let mut expected = String::new();
        let mut rest = text.as_str();
        while let Some((before, block)) = rest.split_once(BEGIN) {
            let (name, block) = block.split_once(" -->\n").unwrap_or_else(|| panic!("{document}: no name"));
            let (_, after) = block.split_once(END).unwrap_or_else(|| panic!("{document}: {name} has no end"));
            let (name, generate) =
                BLOCKS.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("{document}: {name}"));
            made.insert(*name);
            let _ = write!(expected, "{before}{BEGIN}{name} -->\n{}{END}", generate());
            rest = after;
        }
        expected.push_str(rest);
        if std::env::var_os("UPDATE_GOLDEN").is_some() && expected != text {
            std::fs::write(repository(&document), &expected).unwrap();
        }
        assert_eq!(contents(&document), expected, "{document} differs; `make golden` rewrites it");
    }
    let known: BTreeSet<_> = BLOCKS.iter().map(|(name, _)| *name).collect();
    assert_eq!(made, known, "every block is in some document");
}

/// A table with a head and rows of as many cells.
fn table<const N: usize>(head: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let mut text = format!("| {} |\n|{}\n", head.join(" | "), "---|".repeat(N));
    for row in rows {
        let _ = writeln!(text, "| {} |", row.map(|cell| cell.replace('\n', " ")).join(" | "));
    }
    text
}

fn code(text: &str) -> String {
    format!("`{}`", text.replace('|', "\\|"))
}

/// Plain text as Markdown: what stands between backticks stays as it is.
fn escaped(text: &str) -> String {
    let part = |(number, part): (usize, &str)| {
        if number % 2 == 1 { part.to_owned() } else { part.replace('*', "\\*").replace('<', "&lt;") }
    };
    text.split('`').enumerate().map(part).collect::<Vec<_>>().join("`").replace('|', "\\|")
}

fn sentence(text: &str) -> String {
    let text = escaped(text.trim());
    if text.ends_with(['.', ':']) { text } else { format!("{text}.") }
}

fn values(values: &[(&str, &str)]) -> String {
    table(["value", "meaning"], values.iter().map(|(value, meaning)| [code(value), (*meaning).to_owned()]))
}

fn states() -> String {
    let row = |state: State| [code(state.as_str()), state.description().to_owned()];
    table(["state", "meaning"], State::ALL.map(row))
}

fn reasons() -> String {
    let row = |reason: Reason| [code(reason.as_str()), code(reason.state().as_str()), reason.description().to_owned()];
    table(["reason", "state", "meaning"], Reason::ALL.map(row))
}

/// The advice for each reason; reasons with the same advice share a row.
fn advice() -> String {
    let mut rows: Vec<(Vec<Reason>, Advice)> = Vec::new();
    for reason in Reason::ALL {
        let Some(advice) = Advice::on(reason) else { continue };
        match rows.iter_mut().find(|(_, row)| row.steps == advice.steps && row.runbook == advice.runbook) {
            Some((reasons, _)) => reasons.push(reason),
            None => rows.push((vec![reason], advice)),
        }
    }
    let rows = rows.into_iter().map(|(reasons, Advice { steps, runbook })| {
        let reasons = reasons.iter().map(|reason| code(reason.as_str())).collect::<Vec<_>>().join(" ");
        let steps = steps.iter().map(|step| escaped(step)).collect::<Vec<_>>().join(" ");
        [reasons, steps, format!("[{runbook}](../alerts/runbooks/{runbook}.md)")]
    });
    table(["reason", "what to do", "runbook"], rows)
}

/// The name, type, labels and help of every family.
fn families() -> Vec<[String; 4]> {
    let type_name = |family_type: FamilyType| match family_type {
        FamilyType::Gauge => "gauge",
        FamilyType::Counter => "counter",
        FamilyType::Info => "info",
    };
    let of_catalogue = CATALOGUE.iter().map(|family| {
        let label = family.label().map(code).unwrap_or_default();
        [code(family.name), type_name(family.family_type()).to_owned(), label, family.help.to_owned()]
    });
    of_catalogue.chain(own_families()).collect()
}

/// The families of the exporter itself, as it exposes them.
fn own_families() -> Vec<[String; 4]> {
    let own = SelfMetrics::new().unwrap();
    own.web_config().unwrap().succeeded(Some(2e9));
    let text = own.text(Format::Text);
    let families = SelfMetrics::NAMES.map(|name| {
        let line = |kind: &str| {
            let beginning = format!("# {kind} {name} ");
            text.lines().find_map(|line| line.strip_prefix(&beginning)).unwrap_or_else(|| panic!("{beginning}"))
        };
        let sample = text.lines().find(|line| line.starts_with(&format!("{name}{{"))).unwrap_or_default();
        let labels = sample.split('{').nth(1).unwrap_or_default().split(',').filter_map(|pair| pair.split_once('='));
        let labels = labels.map(|(label, _)| code(label)).collect::<Vec<_>>().join(" ");
        let of_type = if name.ends_with("_info") { "info" } else { line("TYPE") };
        [code(name), of_type.to_owned(), labels, line("HELP").to_owned()]
    });
    families.to_vec()
}

fn metrics() -> String {
    table(["metric", "type", "labels", "meaning"], families())
}

fn key_metrics() -> String {
    let families = families();
    let rows = KEY_METRICS.map(|name| {
        let [_, _, labels, help] = families.iter().find(|family| family[0] == code(name)).unwrap();
        let label = labels.trim_matches('`');
        let name = if label.is_empty() { name.to_owned() } else { format!("{name}{{{label}}}") };
        [code(&name), help.clone()]
    });
    table(["metric", "meaning"], rows)
}

fn label_values() -> String {
    let sets: [(&str, Vec<(&str, &str)>); 4] = [
        ("lease_anomalies_total{anomaly}", Anomaly::ALL.map(|value| (value.as_str(), value.description())).to_vec()),
        ("lease_alert_enabled{alert}", Alert::ALL.map(|value| (value.as_str(), value.description())).to_vec()),
        ("lease_source_info{kind}", LeaseKind::ALL.map(|value| (value.as_str(), value.description())).to_vec()),
        (
            "lease_source_read_failures_total{reason}",
            ReadFailure::ALL.map(|value| (value.as_str(), value.description())).to_vec(),
        ),
    ];
    let rows = sets.into_iter().flat_map(|(metric, values)| {
        values.into_iter().map(move |(value, meaning)| [code(metric), code(value), meaning.to_owned()])
    });
    table(["metric", "value", "meaning"], rows)
}

/// The options of the program, as its short help names them.
fn flags() -> String {
    let help = run(&["-h"]).stdout;
    let options = help.split("\nOptions:\n").nth(1).unwrap();
    let mut rows: Vec<[String; 2]> = Vec::new();
    for line in options.lines().take_while(|line| !line.is_empty()) {
        let text = line.trim();
        if text.starts_with('-') {
            rows.push([code(text), String::new()]);
        } else {
            let meaning = &mut rows.last_mut().unwrap()[1];
            let _ = write!(meaning, "{}{text}", if meaning.is_empty() { "" } else { " " });
        }
    }
    let is_own = |row: &[String; 2]| row[0].contains("--help") || row[0].contains("--version");
    let rows = rows.into_iter().filter(|row| !is_own(row)).map(|[flag, meaning]| [flag, escaped(&meaning)]);
    table(["flag", "meaning"], rows)
}

fn exit_codes() -> String {
    let commands = ["", "status", "check", "demo"];
    let rows = commands.into_iter().flat_map(|command| {
        let help = run(&[command, "--help"][usize::from(command.is_empty())..]).stdout;
        let codes = help.split("\nExit codes:\n").nth(1).unwrap().to_owned();
        let codes: Vec<_> = codes.lines().map_while(|line| line.trim().split_once(' ')).map(row_of(command)).collect();
        codes
    });
    let rows: Vec<_> = rows.collect();
    assert!(rows.len() > 10, "{rows:?}");
    table(["command", "code", "meaning"], rows)
}

fn row_of(command: &str) -> impl Fn((&str, &str)) -> [String; 3] {
    let command = if command.is_empty() { "any".to_owned() } else { code(command) };
    move |(code, meaning)| [command.clone(), code.to_owned(), sentence(meaning)]
}

fn presets() -> String {
    let stores = |preset: &Preset| preset.stores().collect::<Vec<_>>().join(", ");
    let row = |preset: &Preset| {
        let description = sentence(&preset.about.description);
        let (kind, clock) = (preset.kind.as_str().to_owned(), preset.clock.as_str().to_owned());
        [code(preset.name()), description, kind, clock, stores(preset)]
    };
    let mut text = table(["preset", "reads", "kind", "clock", "stores"], Preset::all().iter().map(row));
    for preset in Preset::all() {
        let _ = write!(text, "\n## {}\n\n{}\n", preset.name(), facts(preset));
        points(&mut text, "You must supply:", preset.about.supply.iter().map(|point| sentence(point)));
        points(&mut text, "Know before you rely on it:", preset.about.caveats.iter().map(|point| sentence(point)));
        points(&mut text, "Parameters:", preset.parameters.iter().map(parameter));
    }
    text
}

fn facts(preset: &Preset) -> String {
    let about = &preset.about;
    let clock = match preset.clock {
        Clock::Store => "Times are written by the store's clock.",
        Clock::Holder => "Each holder writes its own time, so ages are known to within `clock_skew`.",
    };
    let columns: Vec<_> = Column::ALL.into_iter().filter(|column| preset.columns.has(*column)).collect();
    let columns = columns.into_iter().map(|column| code(column.as_str())).collect::<Vec<_>>().join(" ");
    let facts = [
        ("kind", format!("`{}`: {}", preset.kind, preset.kind.description())),
        ("clock", format!("`{}`: {clock}", preset.clock)),
        ("time zone", sentence(&about.zone)),
        ("held", sentence(&about.freshness)),
        ("time to live", sentence(&about.ttl)),
        ("epoch", sentence(&about.epoch)),
        ("progress", sentence(&about.progress)),
        ("due", sentence(&about.due)),
        ("columns", columns),
    ];
    table(["", &format!("`{}`", preset.name())], facts.map(|(fact, text)| [fact.to_owned(), text]))
}

fn points(text: &mut String, heading: &str, points: impl Iterator<Item = String>) {
    let points: String = points.fold(String::new(), |text, point| format!("{text}- {}\n", point.replace('\n', " ")));
    if !points.is_empty() {
        let _ = write!(text, "{heading}\n\n{points}\n");
    }
}

fn parameter(parameter: &Parameter) -> String {
    let Parameter { name, takes, default, means, .. } = parameter;
    let default =
        default.as_ref().map_or("required".to_owned(), |default| format!("default {}", code(&default.to_string())));
    format!("`{name}` ({}, {default}): {}", takes.as_str(), sentence(means))
}
