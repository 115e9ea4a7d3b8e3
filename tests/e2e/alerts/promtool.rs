//! Checks of the rules and their tests by promtool.

use std::path::Path;
use std::process::Command;

use super::files::{ALERTS, RULES, folder, listed, text, yaml};
use crate::harness::promtool;

/// Runs promtool in a folder: whether it was content, and what it said.
pub(super) fn run(folder: &Path, arguments: &[&str]) -> (bool, String) {
    let output = Command::new(promtool::path()).args(arguments).current_dir(folder).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), said)
}

#[test]
fn the_rules_are_well_formed() {
    let (content, said) = run(&folder(), &["check", "rules", "--lint=all", "--lint-fatal", RULES, ALERTS]);
    assert!(content, "{said}");
}

#[test]
fn the_rules_do_what_their_tests_say() {
    let tests = listed("tests", ".yaml");
    std::thread::scope(|scope| {
        let running = tests.iter().map(|name| {
            scope.spawn(move || {
                let (content, said) = run(&folder().join("tests"), &["test", "rules", name]);
                assert!(content, "{name}: {said}");
            })
        });
        for test in running.collect::<Vec<_>>() {
            test.join().unwrap();
        }
    });
}

/// Groups that nothing orders are evaluated in an order that differs from run to run.
#[test]
fn every_test_says_what_it_is_of_and_evaluates_the_rules_before_the_alerts() {
    for name in listed("tests", ".yaml") {
        let said = text(&format!("tests/{name}"));
        assert!(said.starts_with("# "), "{name} does not begin with what it proves");
        let test = yaml(&said);
        assert_eq!(test["group_eval_order"], serde_json::json!(["lease", "lease-alerts"]), "{name}");
        assert_eq!(test["rule_files"], serde_json::json!(["../lease.rules.yaml", "../lease.alerts.yaml"]), "{name}");
    }
}
