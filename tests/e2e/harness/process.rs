//! Processes that end with their test.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::eventually;
use super::output::Output;

/// The program under test. The environment variable of Cargo can be overridden to test a copy.
pub(crate) fn program() -> PathBuf {
    let name = "CARGO_BIN_EXE_lease-exporter";
    std::env::var_os(name).unwrap_or_else(|| OsString::from(env!("CARGO_BIN_EXE_lease-exporter"))).into()
}

/// The program with arguments, without the environment variables that it reads.
pub(crate) fn command<A: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = A>) -> Command {
    command_of(&program(), arguments)
}

/// The same for a copy of the program.
pub(crate) fn command_of<A: AsRef<std::ffi::OsStr>>(program: &Path, arguments: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).env_remove("LEASE_EXPORTER_CONFIG_FILE").env("COLUMNS", "100").stdin(Stdio::null());
    command
}

/// A process that is killed when this guard is dropped.
pub(crate) struct Process {
    child: Child,
    ended: Option<ExitStatus>,
    pub(crate) stdout: Output,
    pub(crate) stderr: Output,
}

impl Process {
    /// Starts a command.
    pub(crate) fn start(command: Command) -> Self {
        Self::start_with_stderr(command, Stdio::piped())
    }

    /// Starts a command with the given standard error.
    pub(crate) fn start_with_stderr(mut command: Command, stderr: Stdio) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let stdout = Output::of(child.stdout.take().unwrap());
        let stderr = child.stderr.take().map_or_else(Output::default, Output::of);
        Self { child, ended: None, stdout, stderr }
    }

    /// The process ID.
    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        assert!(self.ended.is_none(), "it has ended");
        kill_process(self.pid(), signal).unwrap();
    }

    /// Waits for the process to end.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let status = eventually("a process to end", || self.child.try_wait().unwrap());
        self.ended = Some(status);
        status
    }

    /// Waits for the process to end, and returns its exit code and output.
    pub(crate) fn finish(mut self) -> Finished {
        let code = self.wait().code();
        Finished { code, stdout: self.stdout.whole(), stderr: self.stderr.whole() }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.ended.is_none() {
            // SIGKILL also ends a stopped process, but not on all systems at once.
            let _ = kill_process(self.pid(), Signal::CONT);
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// The exit code and output of a process.
pub(crate) struct Finished {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Finished {
    /// Standard output and standard error.
    pub(crate) fn all(&self) -> String {
        format!("{}\n{}", self.stdout, self.stderr)
    }
}

/// A synthetic scheduler in a separate process.
pub(crate) struct Scheduler(pub(crate) Process);

impl Scheduler {
    /// Starts a scheduler on a file, which it creates if it does not exist.
    pub(crate) fn start(database: &Path, lease: &str, more: &[&str]) -> Self {
        Self::start_on(&["--store", &format!("sqlite://{}", database.display())], lease, more)
    }

    /// Starts a scheduler on the store of the arguments, whose tables it creates if they do not exist.
    pub(crate) fn start_on(store: &[&str], lease: &str, more: &[&str]) -> Self {
        let arguments = ["scheduler", "--create", "--lease", lease];
        Self(Process::start(command(arguments.iter().chain(store).chain(more))))
    }

    /// Waits for an event.
    pub(crate) fn wait_for(&self, event: &str) -> String {
        self.0.stdout.wait_for(event)
    }

    /// Lets the scheduler release its lease and end, and returns its output.
    pub(crate) fn end(mut self) -> String {
        if self.0.ended.is_none() {
            self.0.signal(Signal::TERM);
            self.0.wait();
        }
        self.0.stdout.whole()
    }

    /// Stops the scheduler while it does not write. During a commit, it would keep the file locked.
    pub(crate) fn stop_between_writes(&self, database: &Path) {
        let others = rusqlite::Connection::open(database).unwrap();
        others.busy_timeout(std::time::Duration::ZERO).unwrap();
        eventually("a scheduler to be stopped between two writes", || {
            self.0.signal(Signal::STOP);
            // Delivery of the signal takes a moment.
            std::thread::sleep(std::time::Duration::from_millis(20));
            let free = others.execute_batch("BEGIN IMMEDIATE; ROLLBACK").is_ok();
            if !free {
                self.0.signal(Signal::CONT);
            }
            free.then_some(())
        });
    }

    /// Freezes the work of the scheduler, which goes on to renew its lease, or thaws it.
    pub(crate) fn toggle_work(&self) {
        self.0.signal(Signal::USR1);
    }
}
