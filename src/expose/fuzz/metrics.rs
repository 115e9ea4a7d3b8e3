//! Pages of metrics: ours read back, and ours changed. Whoever reads one reads all of it or refuses it.

use std::sync::{Arc, LazyLock};

use proptest::prelude::*;

use crate::expose::Format;
use crate::expose::metrics::{Exposition, SourceMetrics};
use crate::expose::testing::snapshots;
use crate::fuzz::METRICS;
use crate::fuzz::exposition::{Sample, samples};
use crate::fuzz::mutation::mutated;

const TOKENS: &[&str] = &[
    "\n",
    "\r\n",
    "\r",
    "#",
    "# EOF\n",
    "# HELP a b\n",
    "# TYPE lease_state gauge\n",
    "# UNIT a b\n",
    "# x\n",
    "{",
    "}",
    "\"",
    "\\",
    "\\n",
    "\\x",
    ",",
    ",}",
    "{}",
    " ",
    "  ",
    "\t",
    "=",
    "=\"",
    "} 1",
    "NaN",
    "+Inf",
    "inf",
    "1e999",
    "1e5",
    "0x1",
    "+1",
    ".5",
    "1_0",
    " 1700000000",
    " # {a=\"b\"} 1",
    "lease_state",
    "lease_state{lease=\"a\"} 1\n",
    "é",
    "\0",
    "\u{feff}",
];

/// A page of each format, of all families and leases.
static PAGES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let exposition = Exposition::without(|_| false);
    let sources = || snapshots::all().into_iter().map(Arc::new).map(SourceMetrics::new).map(Arc::new).collect();
    let page = |format: Format| {
        let text: Vec<_> = exposition.text(format, sources(), vec![format.end().into()]).collect();
        text.concat()
    };
    Format::ALL.map(page).to_vec()
});

/// A sample as a page writes it.
fn written(sample: &Sample) -> String {
    let escaped = |value: &str| value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
    let labels: Vec<_> = sample.labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
    let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
    format!("{}{labels} {}", sample.name, sample.value)
}

#[test]
fn metrics_changed_are_read_whole_or_refused() {
    for page in PAGES.iter() {
        samples(std::str::from_utf8(page).unwrap()).unwrap();
    }
    // Small pages, of a few families, so that a change meets something.
    let small: Vec<Vec<u8>> = PAGES
        .iter()
        .flat_map(|page| {
            let text = std::str::from_utf8(page).unwrap();
            let families: Vec<_> =
                text.split_inclusive("\n# HELP ").map(|part| part.trim_end_matches("# HELP ")).collect();
            let page = |family: &str| {
                let head = if family.starts_with("# HELP ") { "" } else { "# HELP " };
                let lines: String = family.split_inclusive('\n').take(8).collect();
                format!("{head}{lines}").into_bytes()
            };
            families.into_iter().map(page).collect::<Vec<_>>()
        })
        .collect();
    for page in &small {
        samples(std::str::from_utf8(page).unwrap()).unwrap();
    }
    METRICS.run(mutated(small, TOKENS), |bytes| {
        let page = String::from_utf8_lossy(&bytes);
        let Ok(samples) = samples(&page) else { return Ok(()) };
        let lines: Vec<&str> = page.split('\n').filter(|line| !line.is_empty() && !line.starts_with("# ")).collect();
        let again: Vec<String> = samples.iter().map(written).collect();
        prop_assert_eq!(again, lines);
        for sample in samples {
            let value: f64 = sample.value.parse().unwrap();
            prop_assert!(value.is_finite());
        }
        Ok(())
    });
}
