//! The server as its users have it: protected, in several places, loaded again, and used by clients of all kinds.

mod check;
pub(crate) mod client;
mod flood;
mod lifecycle;
mod listeners;
mod load;
mod login;
mod probes;
mod prometheus;
mod tls;

use std::fs;
use std::path::Path;

use crate::harness::Exporter;
use crate::harness::store::{STEADY, database};

/// A configuration with the source `own`, whose lease `steady` is always active.
fn steady(folder: &Path) -> String {
    drop(database(&folder.join("steady.db"), "CREATE TABLE IF NOT EXISTS t (x)"));
    format!("sources:\n  - {{ name: own, store: 'sqlite://steady.db', reuse_for: 0s, query: \"{STEADY}\" }}\n")
}

/// Starts an exporter with a web configuration, written to `web.yml` in the folder.
fn start(folder: &Path, web_config: &str) -> Exporter {
    Exporter::start_with(folder, &steady(folder), &[&configure(folder, web_config)])
}

/// Writes the web configuration, and returns its option.
fn configure(folder: &Path, web_config: &str) -> String {
    let path = folder.join("web.yml");
    fs::write(&path, web_config).unwrap();
    format!("--web.config.file={}", path.display())
}

/// A user with a password for the web configuration. The hash has the lowest cost.
fn user(name: &str, password: &str) -> String {
    format!("  {name}: {}\n", bcrypt::hash_with_salt(password, 4, *b"sixteen bytes ok").unwrap())
}
