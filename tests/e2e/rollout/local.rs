//! `deploy/local/up` as a process, and its output.

use std::hash::{BuildHasher, RandomState};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Pid, Signal};

use crate::harness::process::program;
use crate::harness::{Process, eventually};
use crate::servers::PrometheusApi;

/// The local stack, which ends when the guard is dropped.
pub(super) struct Local {
    process: Option<Process>,
    said: String,
}

impl Local {
    /// Starts the stack with `--hurry` on free ports, and waits until everything runs.
    pub(super) fn up(options: &[&str]) -> Self {
        Self::up_in(&std::env::temp_dir(), options)
    }

    /// The same with its private folder in a given folder.
    pub(super) fn up_in(folder: &Path, options: &[&str]) -> Self {
        // Below the ephemeral range, and apart from the ports of other test servers.
        let port = 28_000 + RandomState::new().hash_one(0) % 4_000;
        let up = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/local/up");
        let mut command = Command::new("bash");
        // In one stream, so that a failed start is shown with its reason.
        command.args(["-c", "exec \"$0\" \"$@\" 2>&1", up, "--hurry", "--ports-from", &port.to_string(), "--program"]);
        command.arg(program()).args(options).env("TMPDIR", folder);
        let process = Process::start(command);
        process.stdout.wait_for("End it all");
        let said = process.stdout.text();
        Self { process: Some(process), said }
    }

    /// The address of Prometheus.
    pub(super) fn prometheus(&self) -> PrometheusApi {
        let address = self.after("Prometheus    http://").split('/').next().unwrap();
        PrometheusApi::at(address.parse().unwrap())
    }

    /// The private folder of the stack.
    pub(super) fn folder(&self) -> PathBuf {
        self.after("files         ").trim_end().into()
    }

    /// The process ID of the leading scheduler.
    pub(super) fn leader(&self) -> Pid {
        self.pids("  kill -USR1 ")[0]
    }

    /// The addresses of the exporters.
    pub(super) fn exporters(&self) -> Vec<Pid> {
        self.pids("kill -HUP ")
    }

    /// All processes of the stack: schedulers, exporters, Alertmanager and Prometheus.
    pub(super) fn processes(&self) -> Vec<Pid> {
        let pids = std::fs::read_to_string(self.folder().join("pids")).unwrap();
        pids.lines().map(pid).collect()
    }

    /// Turns the alerts of the lease on as the output describes, or off.
    pub(super) fn opt(&self, choice: Choice) {
        let line = self.said.lines().find(|line| line.contains("sed -i")).unwrap();
        let command = match choice {
            Choice::In => line.to_owned(),
            Choice::Out => line.replace("s/# alerts:/alerts:/", "s/alerts:/# alerts:/"),
        };
        let before = std::fs::read(self.folder().join("exporter.yml")).unwrap();
        assert!(Command::new("sh").args(["-c", &command]).status().unwrap().success(), "{command}");
        assert_ne!(std::fs::read(self.folder().join("exporter.yml")).unwrap(), before);
    }

    /// Waits for a text in the output, and returns the output.
    pub(super) fn says(&self, text: &str) -> String {
        let process = self.process.as_ref().unwrap();
        process.stdout.wait_for(text);
        process.stdout.text()
    }

    /// Sends a signal, waits for the end, and returns the exit code.
    pub(super) fn end_by(mut self, signal: Signal) -> Option<i32> {
        let process = self.process.take().unwrap();
        process.signal(signal);
        process.finish().code
    }

    fn pids(&self, after: &str) -> Vec<Pid> {
        self.after(after).split_whitespace().map(pid).collect()
    }

    /// The rest of the first line that contains a text.
    fn after(&self, text: &str) -> &str {
        let found = self.said.lines().find_map(|line| line.split_once(text));
        found.unwrap_or_else(|| panic!("no {text:?} in {}", self.said)).1
    }
}

impl Drop for Local {
    /// Asks it to end, since only then it waits until everything has. A test that fails shows what it and its
    /// Alertmanager have said.
    fn drop(&mut self) {
        let Some(process) = self.process.take() else { return };
        if std::thread::panicking() {
            let log = std::fs::read_to_string(self.folder().join("alertmanager.log")).unwrap_or_default();
            let _ = writeln!(std::io::stderr(), "{}\n{log}", process.stdout.text());
            process.signal(Signal::TERM);
            return;
        }
        process.signal(Signal::TERM);
        process.finish();
    }
}

/// Whether the alerts of a lease are enabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    In,
    Out,
}

fn pid(text: &str) -> Pid {
    Pid::from_raw(text.parse().unwrap()).unwrap()
}

/// Waits for a number of rule evaluations, and calls a check after each.
pub(super) fn evaluations(api: PrometheusApi, times: usize, mut look: impl FnMut()) {
    let last = || api.last_evaluations()["lease-alerts"].clone();
    let mut before = last();
    for _ in 0..times {
        before = eventually("another evaluation", || Some(last()).filter(|now| *now != before));
        look();
    }
}
