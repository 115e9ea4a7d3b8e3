//! The log as others read it: JSON by serde, logfmt by a reader in Python that is as strict as Go's, and what is quoted
//! by Go itself.

use std::fs;
use std::process::Command;

use serde_json::{Map, Value};

use crate::harness::python::python;
use crate::harness::store::folder;
use crate::servers::program;

/// Parses each line. Panics if a line cannot be parsed or has a key twice.
pub(super) fn logfmt(log: &str) -> Vec<Map<String, Value>> {
    let script = "import json, sys\n\
        from logfmtkv import parse\n\
        text = sys.stdin.buffer.read().decode('utf-8')\n\
        print(json.dumps([parse(line, strict=True, duplicates='error') for line in text.split('\\n') if line]))";
    let lines = python("logfmt/logfmtkv/__init__.py", script, log).unwrap_or_else(|error| panic!("{error}\n{log}"));
    of_each(lines.as_array().unwrap().iter().cloned())
}

/// The same for a JSON log.
pub(super) fn json(log: &str) -> Vec<Map<String, Value>> {
    let read = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    of_each(log.lines().map(read))
}

fn of_each(lines: impl Iterator<Item = Value>) -> Vec<Map<String, Value>> {
    let lines: Vec<_> = lines.map(|line| line.as_object().unwrap().clone()).collect();
    assert!(!lines.is_empty(), "there is something to read");
    for line in &lines {
        let of = |key: &str| line[key].as_str().unwrap_or_default();
        assert!(humantime::parse_rfc3339(of("ts")).is_ok() && of("ts").len() == 24, "{line:?}");
        assert!(["debug", "info", "warn", "error"].contains(&of("level")) && !of("msg").is_empty(), "{line:?}");
    }
    lines
}

/// Unquotes all quoted values with `strconv.Unquote` of Go, by way of Helm templates.
pub(super) fn unquoted_by_go(log: &str) -> Vec<String> {
    let mut quoted = Vec::new();
    for line in log.lines() {
        let mut rest = line;
        while let Some(begin) = rest.find("=\"") {
            let text = &rest[begin + 1..];
            let mut escaped = false;
            let end = text.char_indices().skip(1).find(|&(_, c)| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            let end = end.unwrap_or_else(|| panic!("no end: {line}")).0;
            quoted.push(&text[..=end]);
            rest = &text[end + 1..];
        }
    }
    let chart = folder();
    let at = |name: &str| chart.path().join(name);
    fs::create_dir(at("templates")).unwrap();
    fs::write(at("Chart.yaml"), "apiVersion: v2\nname: read\nversion: 0.1.0\n").unwrap();
    fs::write(at("templates/read.yaml"), format!("read: {{{{ list {} | toJson | quote }}}}", quoted.join(" ")))
        .unwrap();
    let helm = Command::new(program("kubernetes/helm")).args(["template", "read"]).arg(chart.path()).output().unwrap();
    let said = String::from_utf8(helm.stdout).unwrap();
    assert!(helm.status.success(), "{}\n{log}", String::from_utf8_lossy(&helm.stderr));
    let json = said.lines().find_map(|line| line.strip_prefix("read: ")).unwrap();
    let json: String = serde_json::from_str(json).unwrap();
    let texts: Vec<String> = serde_json::from_str(&json).unwrap();
    assert_eq!(texts.len(), quoted.len());
    texts
}

#[test]
fn go_logfmt_refuses_unescaped_values() {
    let read = |log: &str| std::panic::catch_unwind(|| unquoted_by_go(log));
    assert_eq!(read("a=\"it's \\\"so\\\" \\u202e\\n\"").unwrap(), ["it's \"so\" \u{202e}\n"]);
    for wrong in ["a=\"it\\'s\"", "a=\"\\u{1b}\"", "a=\"\\0\""] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
    assert!(std::panic::catch_unwind(|| logfmt("a=b=c")).is_err());
}
