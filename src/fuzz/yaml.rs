//! YAML that is no longer what somebody wrote, and what holds of every error about it.

use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use super::mutation::mutated;
use crate::clock;
use crate::fixtures::fixtures;

/// No file may take longer to refuse, on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(20);

/// What stands where a secret may: nothing that could be the name of a key.
pub(crate) const SECRET: &str = "Zq7=w9/Xk3@v";

const TOKENS: &[&str] = &[
    "\u{feff}",
    "\r\n",
    "\r",
    "\0",
    "\t",
    "&a ",
    "&a",
    "*a",
    "<<: *a",
    "<<: [*a, *a]",
    "!!binary ",
    "!!str ",
    "!x ",
    "!!map",
    "---\n",
    "...\n",
    "%YAML 1.2\n",
    "? ",
    "- ",
    ": ",
    ":",
    "{",
    "}",
    "[",
    "]",
    "[[[[[[[[[[[[[[[[[[[[",
    "{a: {a: {a: {a: ",
    "- - - - - - - - - - - - - - - - - - ",
    "|\n",
    ">-\n",
    "|+9\n",
    "\"",
    "'",
    "\"\\x00\"",
    "\"\\u202e\"",
    "\"\\",
    "#",
    " #",
    "99999999999999999999",
    "-0",
    "0x1F",
    "1e400",
    ".inf",
    ".nan",
    "~",
    "null",
    "yes",
    "True",
    "1_000",
    "1M",
    "5",
    "0s",
    "\u{2028}",
    "\u{85}",
    "\u{202e}",
    "é",
    "😀",
    "Zq7=w9/Xk3@v",
    "u:Zq7=w9/Xk3@v@h",
    "Zq7=w9/Xk3@v: x",
    "- Zq7=w9/Xk3@v",
    "postgres://u:Zq7=w9/Xk3@v@h/db",
    "a: &b [*b]",
    "[&a [x, x, x, x], &b [*a, *a, *a], [*b, *b, *b]]",
];

/// Mutations of the files of a folder under `tests/`, good and bad.
pub(crate) fn files(folder: &str) -> impl Strategy<Value = String> {
    let texts = fixtures(folder, "").iter().map(|path| std::fs::read(path).unwrap()).collect();
    mutated(texts, TOKENS).prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Files that are made to take all memory or all time: they must be refused for their size, and soon.
pub(crate) fn bombs() -> impl Strategy<Value = String> {
    let laughs = (2_usize..12, 2_usize..12).prop_map(|(levels, width)| {
        let mut text = String::from("a0: &a0 x\n");
        for level in 1..=levels {
            let aliases = vec![format!("*a{}", level - 1); width].join(", ");
            text.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
        }
        text + "sources: *a1\n"
    });
    let merges = (2_usize..14).prop_map(|levels| {
        let mut text = String::from("a0: &a0 {name: x}\n");
        for level in 1..=levels {
            text.push_str(&format!("a{level}: &a{level} {{<<: [*a{0}, *a{0}], k{level}: *a{0}}}\n", level - 1));
        }
        text + &format!("defaults: {{<<: *a{levels}}}\n")
    });
    let deep = (1_usize..20_000, prop::sample::select(&["[", "{a: ", "- ", "? ", "&a [", "!x [", "\"a\": ["]));
    let deep = deep.prop_map(|(depth, opening)| format!("sources: {}", opening.repeat(depth)));
    let wide =
        (1_usize..40_000, prop::sample::select(&["- x\n", "# x\n", "x: y\n", "---\n", "&a x\n", "*a \n", "\n", "\\"]));
    let wide = wide.prop_map(|(times, line)| format!("sources:\n{}", line.repeat(times)));
    prop_oneof![laughs, merges, deep, wide]
}

/// Runs a reader, which must come back in time.
pub(crate) fn in_time<T>(read: impl FnOnce() -> T) -> Result<T, TestCaseError> {
    let began = clock::monotonic();
    let read = read();
    let took = clock::monotonic() - began;
    prop_assert!(took < PATIENCE, "it took {took:?}");
    Ok(read)
}

/// What an error says of where it is: each line is one of the text, and what is shown of it is how it begins.
pub(crate) fn points_at(said: &str, file: &str, text: &str) -> TestCaseResult {
    // Before each line end that YAML knows, and after the last.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n").replace('\r', "\n");
    let lines: Vec<&str> = text.split('\n').collect();
    for said in said.lines() {
        let line = said.strip_prefix(file).and_then(|rest| rest.strip_prefix(':')?.split_once(": ")?.0.parse().ok());
        let line: Option<usize> = line;
        prop_assert!(line.is_none_or(|line| (1..=lines.len()).contains(&line)), "{said}\nof {} lines", lines.len());
        let shown = said.strip_prefix("  ").and_then(|rest| rest.split_once(" | "));
        let shown = shown.and_then(|(line, shown)| Some((line.parse::<usize>().ok()?, shown)));
        if let Some((line, shown)) = shown {
            let shown = shown.strip_suffix(" …").unwrap_or(shown);
            prop_assert!(lines.get(line - 1).is_some_and(|line| line.starts_with(shown)), "{said}");
        }
    }
    Ok(())
}

/// What must not be in anything that is said of a text that has these.
pub(crate) fn secrets_kept(said: &str) -> TestCaseResult {
    for secret in [SECRET, "Zq7=w9", "9/Xk3", "Xk3@v", "$2y$", "$2a$", "cGxhbnRlZA"] {
        prop_assert!(!said.contains(secret), "it says {secret}: {said}");
    }
    Ok(())
}
