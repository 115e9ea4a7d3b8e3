//! Progress lines of slow operations, which only a terminal shows.

use std::process::Stdio;

use crate::harness::Terminal;
use crate::harness::exporter::configure;
use crate::harness::process::{Process, command};
use crate::harness::store::{ENDLESS, active, folder, reference};
use crate::harness::terminal::Size;

/// A source that answers at once, and a source that runs into its timeout.
fn config(folder: &std::path::Path) -> String {
    reference(&folder.join("scheduler.db")).execute_batch(&active("planner")).unwrap();
    let yaml = format!(
        "sources:\n  - name: quick\n    store: sqlite://scheduler.db\n    preset: reference\n  - name: slow\n    \
         store: sqlite://scheduler.db\n    timeout: 4s\n    query: {ENDLESS}\n"
    );
    format!("--config.file={}", configure(folder, &yaml).display())
}

#[test]
fn terminal_shows_a_progress_line_and_removes_it() {
    let folder = folder();
    let config = config(folder.path());
    for arguments in [&["check", "--connect", &config][..], &["status", &config, "--log.level=error"]] {
        let mut terminal = Terminal::start(&command(arguments), Size::of(24, 100), None);
        terminal.wait_for("reading slow … 1 s");
        assert_eq!(terminal.finish(), Some(2));
        let contents = terminal.wait_for("store_timeout");
        assert!(!contents.contains("reading slow"), "{contents}");
    }
}

#[test]
fn status_in_a_pipe_has_no_progress_lines() {
    let folder = folder();
    let config = config(folder.path());
    let path = folder.path().join("printed");
    let output = Stdio::from(std::fs::File::create(&path).unwrap());
    let mut terminal = Terminal::start(&command(["check", "--connect", &config]), Size::of(24, 100), Some(output));
    terminal.wait_for("reading slow … 1 s");
    assert_eq!(terminal.finish(), Some(2));
    terminal.wait_until("the line to go", |contents| contents.trim().is_empty());
    let printed = std::fs::read_to_string(&path).unwrap();
    assert!(printed.contains("slow: sqlite") && !printed.contains("reading slow"), "{printed}");
    assert!(!printed.contains('\x1b') && !printed.contains('\r'), "{printed}");

    let piped = Process::start(command(["check", "--connect", &config])).finish();
    assert_eq!((piped.stderr.as_str(), piped.stdout.lines().count()), ("", printed.lines().count()));
}

#[test]
fn check_reports_each_source_as_soon_as_it_answers_and_waits_for_all_in_parallel() {
    let folder = folder();
    reference(&folder.path().join("scheduler.db"));
    let slow: String = (0..5)
        .map(|number| {
            format!(
                "  - name: slow-{number}\n    store: sqlite://scheduler.db\n    timeout: 3s\n    query: {ENDLESS}\n"
            )
        })
        .collect();
    let yaml = format!("sources:\n  - name: quick\n    store: sqlite://scheduler.db\n    preset: reference\n{slow}");
    let config = format!("--config.file={}", configure(folder.path(), &yaml).display());
    let began = crate::harness::now();
    let check = Process::start(command(["check", "--connect", &config]));
    check.stdout.wait_for("quick: ");
    assert!(!check.stdout.text().contains("slow-0"), "it is told of before the others are read");
    let checked = check.finish();
    assert_eq!(checked.stdout.matches("store_timeout").count(), 5, "{}", checked.stdout);
    assert!((crate::harness::now() - began).as_secs() < 14, "one after the other they would take 15 s");
}
