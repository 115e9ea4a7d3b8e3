//! The shipped systemd units.

use std::path::{Path, PathBuf};

use crate::harness::contents;
use crate::harness::process::{Finished, Process, program};
use crate::servers;

/// The service.
pub(super) fn service() -> String {
    contents("deploy/systemd/lease-exporter.service")
}

/// What it gives this setting, each time that it does.
pub(super) fn settings(name: &str) -> Vec<String> {
    let (service, assignment) = (service(), format!("{name}="));
    service.lines().filter_map(|line| line.strip_prefix(&assignment)).map(str::to_owned).collect()
}

/// Puts both units into a folder, as they are but for the program, which is the one under test.
pub(super) fn place(folder: &Path, change: impl Fn(String) -> String) -> [PathBuf; 2] {
    let program = program();
    let service = service().replace("/usr/bin/lease-exporter", program.to_str().unwrap());
    let socket = contents("deploy/systemd/lease-exporter.socket");
    let units = [("lease-exporter.service", service), ("lease-exporter.socket", socket)];
    units.map(|(name, unit)| {
        let path = folder.join(name);
        std::fs::write(&path, change(unit)).unwrap();
        path
    })
}

/// Asks `systemd-analyze`, which needs no systemd that runs.
pub(super) fn analyze(arguments: impl IntoIterator<Item = impl AsRef<std::ffi::OsStr>>) -> Finished {
    let mut command = std::process::Command::new(servers::program("systemd-analyze"));
    command.args(arguments).env("SYSTEMD_PAGER", "").env("SYSTEMD_COLORS", "0").env("LC_ALL", "C.UTF-8");
    Process::start(command).finish()
}
