//! `status --watch` in a terminal.

use std::path::Path;

use rusqlite::Connection;
use rustix::process::{Signal, kill_process};

use crate::harness::exporter::configure;
use crate::harness::process::command;
use crate::harness::store::{active, database, folder, reference};
use crate::harness::terminal::Size;
use crate::harness::{Terminal, eventually, run};

const SIZE: (u16, u16) = (30, 120);

/// Progress by cursor only, so that a single reading cannot judge it.
const CURSORS: &str = "SELECT unixepoch('subsec') AS store_now, lease, holder, 1 AS epoch, \
    unixepoch('subsec') AS renewed_at, cursor AS progress_cursor FROM own";

/// A store with the given leases, and its configuration.
fn own(folder: &Path, leases: &[&str]) -> (Connection, String) {
    let store = database(&folder.join("own.db"), "CREATE TABLE own (lease TEXT, holder TEXT, cursor INTEGER)");
    for lease in leases {
        store.execute("INSERT INTO own VALUES (?1, 'holder of ' || ?1, 1)", [lease]).unwrap();
    }
    let yaml = format!(
        "sources:\n  - name: own\n    store: sqlite://own.db\n    reuse_for: 0s\n    query: {CURSORS}\n\
         leases:\n  - match: {{ source: own }}\n    stall_after: 3s\n    work: continuous\n"
    );
    (store, format!("--config.file={}", configure(folder, &yaml).display()))
}

fn watch(config: &str) -> Terminal {
    Terminal::start(&command(["status", config, "--watch=100ms"]), Size::of(SIZE.0, SIZE.1), None)
}

#[test]
fn watch_proves_states_from_its_own_readings_and_restores_the_terminal() {
    let folder = folder();
    let (store, config) = own(folder.path(), &["planner"]);
    let once = run(&["status", &config]);
    assert!(once.stdout.contains("not watched for long enough"), "{}", once.stdout);
    let mut terminal = watch(&config);
    terminal.wait_for("1 leases: 1 unknown");
    eventually("the lease to be active", || {
        store.execute("UPDATE own SET cursor = cursor + 1", []).unwrap();
        terminal.contents().contains("1 leases: 1 active").then_some(())
    });
    let stalled = terminal.wait_for("1 leases: 1 stalled");
    assert!(stalled.contains("no progress for"), "{stalled}");
    assert!(terminal.is_taken());
    terminal.type_in("\x03");
    assert_eq!(terminal.finish(), Some(1), "the exit code is that of what was seen last");
    terminal.wait_until("the terminal to be given back", |_| !terminal.is_taken());
    assert!(terminal.contents().contains("1 leases: 1 stalled"), "what was seen last stays");
    assert!(!terminal.raw().contains("level="), "no log in the table");
}

#[test]
fn unreadable_source_is_unknown_with_a_reason_and_the_exporter_goes_on() {
    let folder = folder();
    let (_store, config) = own(folder.path(), &["planner"]);
    let mut terminal = watch(&config);
    terminal.wait_for("planner");
    let (there, away) = (folder.path().join("own.db"), folder.path().join("away.db"));
    std::fs::rename(&there, &away).unwrap();
    database(&there, "CREATE TABLE other (x)");
    let unread = terminal.wait_for("own: could not be read after");
    assert!(unread.contains("1 leases: 1 unknown") && unread.contains("planner"), "{unread}");
    std::fs::rename(&away, &there).unwrap();
    terminal.wait_until("the source to be read again", |contents| !contents.contains("could not be read"));
    kill_process(terminal.pid(), Signal::TERM).unwrap();
    assert_eq!(terminal.finish(), Some(2));
}

#[test]
fn no_name_in_a_store_sends_control_sequences_to_the_terminal() {
    let names = [
        "\u{1b}[2J\u{1b}[H",
        "\u{1b}]0;owned\u{7}",
        "\u{9b}31m",
        "a\r\nb",
        "\u{202e}evil",
        "\u{1b}[?1049l",
        "\u{1b}Pq\u{1b}\\",
    ];
    let folder = folder();
    let (_store, config) = own(folder.path(), &names);
    let mut terminal = watch(&config);
    let contents = terminal.wait_for("7 leases: ");
    for spelt in
        ["\\u{1b}[2J\\u{1b}[H", "\\u{1b}]0;owned\\u{7}", "\\u{9b}31m", "a\\r\\nb", "\\u{202e}evil", "\\u{1b}[?1049l"]
    {
        assert!(contents.contains(spelt), "{spelt}: {contents}");
    }
    assert!(terminal.is_taken());
    terminal.type_in("\x03");
    terminal.finish();
    let (raw, hostile) = (terminal.raw(), ["\u{1b}[2J", "\u{1b}]", "\u{9b}", "\u{202e}", "\u{1b}P", "\u{7}"]);
    assert!(hostile.iter().all(|hostile| !raw.contains(hostile)), "{raw:?}");
    assert_eq!(terminal.titles(), [""; 0]);
    assert!(!contents.contains("holder of"), "a holder's name is never shown: {contents}");
}

#[test]
fn more_leases_than_rows_are_shown_the_worst_first_and_counted_and_follow_the_size() {
    let folder = folder();
    reference(&folder.path().join("scheduler.db"));
    let store = Connection::open(folder.path().join("scheduler.db")).unwrap();
    for number in 0..50 {
        store.execute_batch(&active(&format!("lease-{number:02}"))).unwrap();
    }
    let yaml = "sources:\n  - name: documents\n    store: sqlite://scheduler.db\n    preset: reference\n    reuse_for: 0s\n\
        defaults: { stall_after: 365d }\nleases:\n  - match: { lease: zz-absent }\n";
    let config = format!("--config.file={}", configure(folder.path(), yaml).display());
    let mut terminal = watch(&config);
    // Two lines at the top, an empty line, the head, two lines for the worst lease, and the line with the count.
    let shown = terminal.wait_for("… and 27 more: 27 active");
    assert!(shown.contains("51 leases: 1 no_leader, 50 active"), "{shown}");
    assert!(shown.find("zz-absent") < shown.find("lease-00"), "{shown}");
    terminal.resize(Size::of(10, 40));
    let small = terminal.wait_for("… and 47 more: 47 active");
    assert!(small.lines().count() <= 10 && small.lines().all(|line| line.chars().count() <= 40), "{small}");
    terminal.resize(Size::of(120, 100));
    terminal
        .wait_until("everything to have room", |contents| contents.contains("lease-49") && !contents.contains("more:"));
    terminal.type_in("\x03");
    assert_eq!(terminal.finish(), Some(1));
}

#[test]
fn suspended_watch_restores_the_terminal_and_takes_it_again() {
    let folder = folder();
    let (_store, config) = own(folder.path(), &["planner"]);
    let mut terminal = watch(&config);
    terminal.wait_for("planner");
    terminal.type_in("\x1a");
    let stat = format!("/proc/{}/stat", terminal.pid().as_raw_nonzero());
    eventually("it to stop", || std::fs::read_to_string(&stat).unwrap().contains(") T ").then_some(()));
    eventually("the terminal to be given back", || (!terminal.is_taken()).then_some(()));
    kill_process(terminal.pid(), Signal::CONT).unwrap();
    eventually("the terminal to be taken again", || terminal.is_taken().then_some(()));
    terminal.type_in("\x03");
    assert_eq!(terminal.finish(), Some(2));
}

#[test]
fn colours_follow_the_settings_and_a_dumb_terminal_gets_plain_lines() {
    let folder = folder();
    let (_store, config) = own(folder.path(), &["planner"]);
    for (variable, value, colours, draws) in
        [("NO_COLOR", "", true, true), ("NO_COLOR", "1", false, true), ("TERM", "dumb", false, false)]
    {
        let mut command = command(["status", &config, "--watch=100ms", "--log.level=error"]);
        command.env(variable, value);
        let mut terminal = Terminal::start(&command, Size::of(SIZE.0, SIZE.1), None);
        terminal.wait_for("planner");
        assert_eq!(terminal.is_taken(), draws, "{variable}={value}");
        terminal.type_in("\x03");
        terminal.finish();
        let raw = terminal.raw();
        assert_eq!(raw.contains("\x1b[33munknown"), colours, "{variable}={value}: {raw:?}");
        assert_eq!(raw.contains('\x1b'), draws, "{variable}={value}: {raw:?}");
    }
}

#[test]
fn status_in_a_terminal_differs_from_status_in_a_pipe_only_by_colours() {
    let folder = folder();
    reference(&folder.path().join("scheduler.db")).execute_batch(&active("planner")).unwrap();
    let yaml = "sources:\n  - name: documents\n    store: sqlite://scheduler.db\n    preset: reference\n";
    let config = format!("--config.file={}", configure(folder.path(), yaml).display());
    let mut terminal = Terminal::start(&command(["status", &config]), Size::of(SIZE.0, SIZE.1), None);
    terminal.wait_for("last progress");
    assert_eq!(terminal.finish(), Some(0));
    assert!(terminal.raw().contains("\x1b[32mactive\x1b[0m"), "{:?}", terminal.raw());
    assert!(!run(&["status", &config]).stdout.contains('\x1b'));
}
