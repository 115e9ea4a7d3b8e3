//! The resource usage of the exporter, from `/proc`.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Mutex, PoisonError};

/// The resource usage of a process.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    /// Anonymous memory in KiB.
    pub(super) anonymous: u64,
    /// Proportional set size in KiB.
    pub(super) proportional: u64,
    pub(super) descriptors: u64,
    pub(super) threads: u64,
}

impl Usage {
    pub(super) fn of(pid: i32) -> Self {
        let memory = read(&format!("/proc/{pid}/smaps_rollup"));
        Self {
            anonymous: field(&memory, "Anonymous:"),
            proportional: field(&memory, "Pss:"),
            descriptors: fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count() as u64,
            threads: field(&read(&format!("/proc/{pid}/status")), "Threads:"),
        }
    }

    /// The minimum or maximum of each value.
    pub(super) fn each(self, other: Self, choose: fn(u64, u64) -> u64) -> Self {
        Self {
            anonymous: choose(self.anonymous, other.anonymous),
            proportional: choose(self.proportional, other.proportional),
            descriptors: choose(self.descriptors, other.descriptors),
            threads: choose(self.threads, other.threads),
        }
    }
}

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mebibytes = |kibibytes: u64| kibibytes as f64 / 1024.0;
        let Self { anonymous, proportional, descriptors, threads } = *self;
        let (anonymous, proportional) = (mebibytes(anonymous), mebibytes(proportional));
        write!(
            f,
            "{anonymous:.1} MiB anonymous, {proportional:.1} MiB PSS, {descriptors} descriptors, {threads} threads"
        )
    }
}

/// The maximum of each value over all measurements.
#[derive(Default)]
pub(super) struct Peak(Mutex<Usage>);

impl Peak {
    pub(super) fn look(&self, pid: i32) {
        let usage = Usage::of(pid);
        let mut peak = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *peak = peak.each(usage, u64::max);
    }

    pub(super) fn so_far(&self) -> Usage {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The open descriptors by target: files by path, others by kind.
pub(super) fn descriptors(pid: i32) -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    for descriptor in fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten() {
        // A descriptor may be closed meanwhile.
        let Ok(target) = fs::read_link(descriptor.path()) else { continue };
        let target = target.to_string_lossy().into_owned();
        let kind = match target.split_once(":[") {
            Some((kind, _)) => kind.to_owned(),
            None => target,
        };
        *kinds.entry(kind).or_default() += 1;
    }
    kinds
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}; has the exporter ended?"))
}

/// The number after a name, without its unit.
fn field(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    number.unwrap_or_else(|| panic!("no {name} in {text}"))
}
