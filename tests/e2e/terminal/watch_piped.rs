//! `status --watch` into a pipe or a file: one line for each change.

use std::process::Command;

use rustix::process::Signal;

use crate::harness::exporter::configure;
use crate::harness::process::{Process, command, program};
use crate::harness::store::{active, folder, reference};

fn config(folder: &std::path::Path) -> String {
    reference(&folder.join("scheduler.db")).execute_batch(&active("planner")).unwrap();
    let yaml =
        "sources:\n  - name: documents\n    store: sqlite://scheduler.db\n    preset: reference\n    reuse_for: 0s\n";
    format!("--config.file={}", configure(folder, yaml).display())
}

#[test]
fn each_change_is_one_line_and_an_unchanged_state_none() {
    let folder = folder();
    let config = config(folder.path());
    let watch = Process::start(command(["status", &config, "--watch=100ms"]));
    watch.stdout.wait_for("  documents  planner  active  progressing  renewed ");
    let store = rusqlite::Connection::open(folder.path().join("scheduler.db")).unwrap();
    // In one transaction, so that no reading sees half of it.
    store.execute_batch(&format!("BEGIN; {} COMMIT;", active("another"))).unwrap();
    watch.stdout.wait_for("  documents  another  active  progressing  ");
    watch.stdout.wait_for("  documents  another  active  progressing  ");
    store.execute_batch("DELETE FROM scheduler_progress WHERE lease = 'another'; DELETE FROM scheduler_lease WHERE lease = 'another'").unwrap();
    watch.stdout.wait_for("  documents  another  no_leader  absent  the store names no holder");
    watch.signal(Signal::INT);
    let finished = watch.finish();
    assert_eq!(finished.code, Some(1), "{}", finished.all());
    let of_another = finished.stdout.lines().filter(|line| line.contains("  another  ")).count();
    assert_eq!(of_another, 2, "{}", finished.stdout);
    assert!(finished.stdout.lines().all(|line| line.starts_with("20") && line.contains("Z  ")), "{}", finished.stdout);
    assert!(!finished.stdout.contains('\x1b'));
}

#[test]
fn watch_ends_when_its_output_is_closed_without_a_change() {
    let folder = folder();
    let config = config(folder.path());
    let mut shell = Command::new("bash");
    shell.args(["-c", "\"$0\" status \"$1\" --watch=100ms | head -n 1; echo \"${PIPESTATUS[@]}\""]);
    shell.arg(program()).arg(&config);
    let finished = Process::start(shell).finish();
    let lines: Vec<_> = finished.stdout.lines().collect();
    assert_eq!((lines.len(), lines[1], finished.stderr.as_str()), (2, "0 0", ""), "{}", finished.all());
}

#[test]
fn a_full_disk_is_a_failure_of_the_system() {
    let folder = folder();
    let config = config(folder.path());
    for more in [&[][..], &["--watch"]] {
        let mut shell = Command::new("sh");
        shell.args(["-c", "exec \"$0\" \"$@\" >/dev/full"]).arg(program()).args(["status", &config]).args(more);
        let finished = Process::start(shell).finish();
        let message = "lease-exporter: cannot write to standard output: No space left on device (os error 28)";
        assert_eq!((finished.code, finished.stderr.trim()), (Some(4), message));
    }
}
