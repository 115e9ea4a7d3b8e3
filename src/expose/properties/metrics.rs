//! The reader of metrics that the tests use. It reads all of a page or refuses it.

use std::sync::{Arc, LazyLock};

use proptest::prelude::*;

use crate::expose::Format;
use crate::expose::metrics::{Exposition, SourceMetrics};
use crate::expose::testing::snapshots;
use crate::testing::cases;
use crate::testing::exposition::{Sample, samples};
use crate::testing::mutation::mutated;

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

/// A page of each format with all families and leases.
static PAGES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let exposition = Exposition::without(|_| false);
    let sources = || snapshots::all().into_iter().map(Arc::new).map(SourceMetrics::new).map(Arc::new).collect();
    let page = |format: Format| {
        let text: Vec<_> = exposition.text(format, sources(), vec![format.end().into()]).collect();
        String::from_utf8(text.concat()).unwrap()
    };
    Format::ALL.map(page).to_vec()
});

/// A sample as it is written on a page.
fn written(sample: &Sample) -> String {
    let escaped = |value: &str| value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
    let labels: Vec<_> = sample.labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
    let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
    format!("{}{labels} {}", sample.name, sample.value)
}

/// The first lines of each family of a page.
fn families(page: &str) -> Vec<String> {
    let families = page.split_inclusive("\n# HELP ").map(|part| part.trim_end_matches("# HELP "));
    let lines = families.map(|family| {
        let head = if family.starts_with("# HELP ") { "" } else { "# HELP " };
        let lines: String = family.split_inclusive('\n').take(8).collect();
        format!("{head}{lines}")
    });
    lines.collect()
}

#[test]
fn mutated_page_is_read_whole_or_refused() {
    // Small pages, so that a mutation probably hits something of importance.
    let small: Vec<String> = PAGES.iter().flat_map(|page| families(page)).collect();
    for page in PAGES.iter().chain(&small) {
        samples(page).unwrap();
    }
    let small: Vec<&str> = small.iter().map(String::as_str).collect();
    proptest!(cases(5_000), |(page in mutated(&small, TOKENS))| {
        let Ok(samples) = samples(&page) else { return Ok(()) };
        let lines: Vec<&str> = page.split('\n').filter(|line| !line.is_empty() && !line.starts_with("# ")).collect();
        let rewritten: Vec<String> = samples.iter().map(written).collect();
        prop_assert_eq!(rewritten, lines);
        for sample in samples {
            let value: f64 = sample.value.parse().unwrap();
            prop_assert!(value.is_finite());
        }
    });
}
