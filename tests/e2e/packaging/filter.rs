//! The system call filter of the unit, applied to a thread and its children as systemd does.

use std::collections::BTreeSet;

use seccompiler::{BpfProgram, TargetArch, apply_filter, compile_from_json};
use serde_json::{Value, json};

use super::unit::{analyze, settings};

const EPERM: u32 = 1;
const ENOSYS: u32 = 38;

/// Filters ready to hold.
pub(super) struct Filters(Vec<BpfProgram>);

impl Filters {
    /// Those of the unit: what `SystemCallFilter=`, `RestrictAddressFamilies=`, `MemoryDenyWriteExecute=` and
    /// `RestrictNamespaces=` come to.
    pub(super) fn of_the_unit() -> Self {
        let allowed = allowed();
        assert!(allowed.contains("read") && !allowed.contains("chroot"), "{allowed:?}");
        let rules: Vec<Value> = allowed.iter().flat_map(|name| rules(name)).collect();
        let no_clone3 = filter("allow", json!({ "errno": ENOSYS }), &[json!({ "syscall": "clone3" })]);
        Self(vec![
            // The C library falls back to `clone`, whose flags a filter can see.
            no_clone3.expect("a filter of one call"),
            filter(json!({ "errno": EPERM }), "allow", &rules).expect("a filter of calls that there are"),
        ])
    }

    /// They hold from now on for this thread and every process and thread that it starts.
    pub(super) fn apply(&self) {
        for filter in &self.0 {
            apply_filter(filter).unwrap();
        }
    }
}

/// The calls that the unit lets through and this architecture has.
fn allowed() -> BTreeSet<String> {
    let mut allowed = BTreeSet::new();
    for line in settings("SystemCallFilter") {
        let (out, names) = line.strip_prefix('~').map_or((false, line.as_str()), |names| (true, names));
        for name in names.split_whitespace().flat_map(calls) {
            if out {
                allowed.remove(&name)
            } else {
                allowed.insert(name)
            };
        }
    }
    allowed.retain(|name| filter("allow", "trap", &[json!({ "syscall": name })]).is_some());
    allowed
}

/// The calls of a set, and of the sets in it.
fn calls(name: &str) -> Vec<String> {
    if !name.starts_with('@') {
        return vec![name.to_owned()];
    }
    let listed = analyze(["syscall-filter", name]);
    assert_eq!(listed.code, Some(0), "{}", listed.all());
    let members =
        listed.stdout.lines().skip(1).map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    members.flat_map(calls).collect()
}

/// When a call is let through: most of them always.
fn rules(name: &str) -> Vec<Value> {
    let when = |index: u8, mask: u64, value: u64| {
        let argument = json!({ "index": index, "type": "qword", "op": { "masked_eq": mask }, "val": value });
        json!({ "syscall": name, "args": [argument] })
    };
    const WRITE: u64 = 2;
    const EXECUTE: u64 = 4;
    const NAMESPACES: u64 = 0x7e02_0080;
    match name {
        "socket" => families().into_iter().map(|family| when(0, 0xffff_ffff, family)).collect(),
        "mmap" => [0, WRITE, EXECUTE].map(|value| when(2, WRITE | EXECUTE, value)).to_vec(),
        "mprotect" | "pkey_mprotect" => vec![when(2, EXECUTE, 0)],
        "clone" | "unshare" => vec![when(0, NAMESPACES, 0)],
        "setns" => Vec::new(),
        _ => vec![json!({ "syscall": name })],
    }
}

fn families() -> Vec<u64> {
    let numbers = |name: &str| match name {
        "AF_UNIX" => 1,
        "AF_INET" => 2,
        "AF_INET6" => 10,
        other => panic!("the number of {other} is not known here"),
    };
    settings("RestrictAddressFamilies").iter().flat_map(|line| line.split_whitespace().map(numbers)).collect()
}

/// A filter, unless a call in it is not one of this architecture.
fn filter(otherwise: impl Into<Value>, matched: impl Into<Value>, rules: &[Value]) -> Option<BpfProgram> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH).unwrap();
    let (otherwise, matched): (Value, Value) = (otherwise.into(), matched.into());
    let told = json!({ "it": { "mismatch_action": otherwise, "match_action": matched, "filter": rules } });
    compile_from_json(told.to_string().as_bytes(), architecture).ok()?.remove("it")
}
