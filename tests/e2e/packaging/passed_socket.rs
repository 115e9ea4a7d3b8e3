//! Passes a socket as systemd does: as descriptor 3, with the environment variables of socket activation.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::harness::exporter::configure;
use crate::harness::process::program;
use crate::harness::store::STEADY;

/// A configuration that needs no table.
pub(super) fn steady(folder: &Path) -> String {
    drop(rusqlite::Connection::open(folder.join("steady.db")).unwrap());
    let yaml = format!("sources:\n  - {{ name: own, store: 'sqlite://steady.db', query: \"{STEADY}\" }}\n");
    format!("--config.file={}", configure(folder, &yaml).display())
}

/// What the shell does once it is the process that becomes the exporter, before it does.
pub(super) const AS_SYSTEMD: &str = "LISTEN_FDS=1 LISTEN_PID=$$";

/// The exporter, as it is started with a socket by whoever sets these variables.
pub(super) fn passing(socket: impl Into<OwnedFd>, variables: &str, arguments: &[&str]) -> Command {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("export {variables}; exec \"$@\" 3<&0 </dev/null"));
    shell.arg("sh").arg(program()).args(arguments).env_remove("LEASE_EXPORTER_CONFIG_FILE");
    shell.stdin(Stdio::from(socket.into()));
    shell
}
