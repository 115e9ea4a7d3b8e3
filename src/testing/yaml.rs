//! Broken YAML files, and checks that hold for every error that a reader reports about them.

use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use super::mutation::mutated_bytes;
use crate::clock;
use crate::fixtures::fixtures;

/// Longest time in which a file must be read or refused, on a busy machine.
const READ_TIMEOUT: Duration = Duration::from_secs(20);

/// A secret of the mutated files. It cannot be the name of a key.
const SECRET: &str = "Zq7=w9/Xk3@v";

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

/// Mutations of the files, good and bad, of a folder under `tests/`.
pub(crate) fn mutated_files(folder: &str) -> impl Strategy<Value = String> {
    let texts = fixtures(folder, "").iter().map(|path| std::fs::read(path).unwrap()).collect();
    mutated_bytes(texts, TOKENS).prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Files that exhaust memory or time if aliases, merge keys, nesting or length are not limited.
pub(crate) fn resource_bombs() -> impl Strategy<Value = String> {
    let aliases = (2_usize..12, 2_usize..12).prop_map(|(levels, width)| {
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
    let long =
        (1_usize..40_000, prop::sample::select(&["- x\n", "# x\n", "x: y\n", "---\n", "&a x\n", "*a \n", "\n", "\\"]));
    let long = long.prop_map(|(times, line)| format!("sources:\n{}", line.repeat(times)));
    prop_oneof![aliases, merges, deep, long]
}

/// Calls a reader and checks that it returns within [`READ_TIMEOUT`].
pub(crate) fn read_in_time<T>(read: impl FnOnce() -> T) -> Result<T, TestCaseError> {
    let started = clock::monotonic();
    let result = read();
    let elapsed = clock::monotonic() - started;
    prop_assert!(elapsed < READ_TIMEOUT, "reading took {elapsed:?}");
    Ok(result)
}

/// Checks the positions in an error message about `text`: each line number exists, and each excerpt is the beginning of
/// that line.
pub(crate) fn check_positions(message: &str, file: &str, text: &str) -> TestCaseResult {
    // YAML also ends a line at a carriage return.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n").replace('\r', "\n");
    let lines: Vec<&str> = text.split('\n').collect();
    for message in message.lines() {
        let number: Option<usize> =
            message.strip_prefix(file).and_then(|rest| rest.strip_prefix(':')?.split_once(": ")?.0.parse().ok());
        prop_assert!(
            number.is_none_or(|number| (1..=lines.len()).contains(&number)),
            "{message}\nof {} lines",
            lines.len()
        );
        let excerpt = message.strip_prefix("  ").and_then(|rest| rest.split_once(" | "));
        let excerpt = excerpt.and_then(|(number, excerpt)| Some((number.parse::<usize>().ok()?, excerpt)));
        if let Some((number, excerpt)) = excerpt {
            let excerpt = excerpt.strip_suffix(" …").unwrap_or(excerpt);
            prop_assert!(lines.get(number - 1).is_some_and(|line| line.starts_with(excerpt)), "{message}");
        }
    }
    Ok(())
}

/// Checks that a message contains no secret of the files, nor a part of one.
pub(crate) fn check_secrets_hidden(message: &str) -> TestCaseResult {
    for secret in [SECRET, "Zq7=w9", "9/Xk3", "Xk3@v", "$2y$", "$2a$", "cGxhbnRlZA"] {
        prop_assert!(!message.contains(secret), "{secret} is shown: {message}");
    }
    Ok(())
}
