//! Exit codes: each code that the help names occurs, and no other.

use std::collections::BTreeSet;
use std::path::Path;

use rustix::process::Signal;

use super::help::{COMMANDS, help};
use crate::harness::exporter::configure;
use crate::harness::process::{Process, command};
use crate::harness::store::{active, folder, reference};
use crate::harness::{Exporter, run};

/// The exit codes in the help of a command.
fn named(of: &str) -> BTreeSet<i32> {
    let help = help(of, "--help");
    let codes = help.split("\nExit codes:\n").nth(1).unwrap_or_else(|| panic!("{of}: {help}"));
    codes.lines().filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect()
}

/// A configuration with one active lease and further lines.
fn config(folder: &Path, more: &str) -> String {
    let database = folder.join("scheduler.db");
    if !database.exists() {
        reference(&database).execute_batch(&active("planner")).unwrap();
    }
    let yaml = "sources:\n  - name: documents\n    store: sqlite://scheduler.db\n    preset: reference\n";
    format!("--config.file={}", configure(folder, &format!("{yaml}{more}")).display())
}

const GONE: &str = "  - name: gone\n    store: sqlite://gone.db\n    preset: reference\n";
const ABSENT: &str = "leases:\n  - match: { lease: another }\n";

/// Runs a command whose output fails, as on a full disk.
fn with_full_output(arguments: &[&str]) -> Option<i32> {
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "exec \"$@\" >/dev/full", "sh"]).arg(crate::harness::process::program()).args(arguments);
    Process::start(shell).finish().code
}

#[test]
fn every_exit_code_that_a_command_names_occurs_and_no_other() {
    let folder = folder();
    let codes =
        |runs: &[&[&str]]| -> BTreeSet<i32> { runs.iter().filter_map(|arguments| run(arguments).code).collect() };
    for of in &COMMANDS[1..] {
        let mut seen = match *of {
            "status" => {
                let mut seen = BTreeSet::new();
                for more in ["", ABSENT, GONE] {
                    seen.extend(codes(&[&["status", &config(folder.path(), more)]]));
                }
                seen
            }
            "check" => {
                let mut seen = codes(&[&["check", "--connect", &config(folder.path(), "")]]);
                seen.extend(codes(&[&["check", "--connect", &config(folder.path(), GONE)]]));
                seen
            }
            "demo" => demo(),
            "scheduler" => [scheduler(folder.path())].into(),
            "presets" | "man" => codes(&[&[of]]),
            "completions" => codes(&[&["completions", "bash"]]),
            other => panic!("`{other}` is not run"),
        };
        seen.extend(codes(&[&[of, "--no-such-option"]]));
        seen.extend(match *of {
            "status" => with_full_output(&["status", &config(folder.path(), "")]),
            "check" => with_full_output(&["check", &config(folder.path(), "")]),
            "completions" => with_full_output(&["completions", "bash"]),
            "scheduler" => run(&["scheduler", "--store=sqlite:///none/none.db", "--lease=a"]).code,
            "demo" => with_full_output(&["demo", "--port=0", "--once", "--speed=20"]),
            other => with_full_output(&[other]),
        });
        assert_eq!(seen, named(of), "{of}");
    }
}

/// A demo that is stopped, a demo that is stopped twice, and a demo that misses a state.
fn demo() -> BTreeSet<i32> {
    let folder = folder();
    let start = |more: &[&str]| {
        let mut demo = command(["demo", "--port=0", "--speed=20"].iter().chain(more));
        demo.env("TMPDIR", folder.path());
        Process::start(demo)
    };
    let told = |signals: &[Signal]| {
        let demo = start(&[]);
        demo.stdout.wait_for("Ctrl-C ends it");
        signals.iter().for_each(|told| demo.signal(*told));
        demo.finish().code
    };
    let mut codes = BTreeSet::new();
    codes.extend(told(&[Signal::TERM]));
    codes.extend(told(&[Signal::TERM, Signal::INT]));
    // The files of the stopped demo are not those of the next one.
    for left in std::fs::read_dir(folder.path()).unwrap().flatten() {
        std::fs::remove_dir_all(left.path()).unwrap();
    }
    codes.extend(misses(folder.path(), start(&["--once"])));
    codes
}

/// Hides the store from the exporter until the demo has missed a state.
fn misses(folder: &Path, demo: Process) -> Option<i32> {
    let mount = crate::harness::eventually("the demo's store", || {
        let mut folders = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path().join("mount"));
        folders.find(|mount| std::fs::symlink_metadata(mount).is_ok())
    });
    let hidden = mount.with_extension("hidden");
    std::fs::rename(&mount, &hidden).unwrap();
    demo.stdout.wait_for("MISSED");
    std::fs::rename(&hidden, &mount).unwrap();
    demo.finish().code
}

fn scheduler(folder: &Path) -> i32 {
    let store = format!("--store=sqlite://{}", folder.join("own.db").display());
    let scheduler = Process::start(command(["scheduler", &store, "--create", "--lease=retention"]));
    scheduler.stdout.wait_for("acquired");
    scheduler.signal(Signal::TERM);
    scheduler.finish().code.unwrap()
}

#[test]
fn the_program_itself_names_every_exit_code_and_ends_with_its_own() {
    let all: BTreeSet<i32> = COMMANDS[1..].iter().flat_map(|of| named(of)).collect();
    assert_eq!(named(""), all);
    let folder = folder();
    config(folder.path(), "");
    let yaml = std::fs::read_to_string(folder.path().join("exporter.yml")).unwrap();
    let exporter = Exporter::start(folder.path(), &yaml);
    assert_eq!(exporter.stop().code, Some(0));
}
