//! Redis and Valkey as stores: layouts, invalid values, access and the load on the server.

mod access;
mod cost;
mod forms;
mod invalid_values;

use std::path::Path;

use tempfile::TempDir;

use crate::harness::store::folder;
use crate::harness::{Exporter, Metrics, check};
use crate::servers::{self, Keyspace, Kind, Server, wanted};

const SOURCE: &str = "own";
const KINDS: [Kind; 2] = [Kind::Redis, Kind::Valkey];

/// The shared server.
fn shared(kind: Kind) -> &'static Server {
    if kind == Kind::Redis { servers::redis() } else { servers::valkey() }
}

/// A source of an address with a key layout. `more` are further keys, one on each line.
fn config_at(url: &str, more: &str, keys: &str) -> String {
    let more: String = more.lines().map(|line| format!("    {line}\n")).collect();
    format!("sources:\n  - name: {SOURCE}\n    store: {url}\n    reuse_for: 0s\n{more}    keys: {{ {keys} }}\n")
}

fn config(keyspace: &Keyspace, more: &str, keys: &str) -> String {
    config_at(keyspace.url(), &format!("password_file: {}\n{more}", keyspace.password_file().display()), keys)
}

/// The reason and the message of a failed reading.
fn refused(folder: &Path, yaml: &str) -> String {
    let check = check(folder, yaml);
    assert_eq!(check.code, Some(2), "{yaml}{}", check.all());
    let line = check.stdout.lines().find(|line| line.contains("cannot be read"));
    line.unwrap_or_else(|| panic!("{}", check.all())).to_owned()
}

fn says<'a>(metrics: &'a Metrics, lease: &str) -> (&'a str, &'a str) {
    metrics.says(SOURCE, lease).unwrap_or_else(|| panic!("no {lease} in\n{}", metrics.text()))
}

fn known(metrics: &Metrics, name: &str, lease: &str) -> f64 {
    metrics.of(name, SOURCE, lease).unwrap_or_else(|| panic!("no {name} of {lease} in\n{}", metrics.text()))
}

/// A numbered database, and a folder for the configuration.
struct Keys {
    folder: TempDir,
    keyspace: Keyspace,
}

impl Keys {
    fn of(kind: Kind) -> Self {
        Self { folder: folder(), keyspace: shared(kind).keyspace() }
    }

    /// Runs commands, split at spaces. `@` and a number of seconds is a time relative to the clock of the server.
    fn give(&self, commands: &[&str]) {
        let now: f64 = self.keyspace.command(&["TIME"]).lines().next().unwrap().parse().unwrap();
        for command in commands {
            let word = |word: &str| match word.strip_prefix('@').and_then(|later| later.parse::<f64>().ok()) {
                Some(later) => (now + later).to_string(),
                None => word.to_owned(),
            };
            self.keyspace.command(&command.split(' ').map(word).collect::<Vec<_>>());
        }
    }

    /// Runs a command with binary arguments.
    fn give_words(&self, words: &[&[u8]]) {
        self.keyspace.command(words);
    }

    fn exporter(&self, keys: &str) -> Exporter {
        Exporter::start(self.folder.path(), &config(&self.keyspace, "", keys))
    }

    fn scrape(&self, keys: &str) -> Metrics {
        let metrics = self.exporter(keys).scrape();
        assert_eq!(metrics.source("lease_source_up", SOURCE), Some(1.0), "{}", metrics.text());
        metrics
    }
}

/// For each kind of server that the tests use.
fn each() -> impl Iterator<Item = Keys> {
    wanted(&KINDS).map(Keys::of)
}
