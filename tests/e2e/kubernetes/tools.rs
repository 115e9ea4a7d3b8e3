//! Helm and kustomize, installed by `make tools`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::objects::{Object, parse};
use crate::servers::program as find;

/// A file that `make tools` got.
pub(super) fn got(name: &str) -> PathBuf {
    find(&format!("kubernetes/{name}")).into()
}

fn run<A: AsRef<OsStr>>(program: &str, arguments: impl IntoIterator<Item = A>) -> Result<String, String> {
    let mut command = Command::new(got(program));
    // Away from whatever cluster and plugins whoever runs the tests has set up.
    command.env_clear().env("HOME", "/nonexistent").args(arguments);
    let output = command.output().unwrap_or_else(|error| panic!("cannot run {program}: {error}"));
    let text = |bytes| String::from_utf8(bytes).unwrap();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr) + &text(output.stdout)) }
}

/// What a kustomization makes.
pub(super) fn kustomize(folder: &Path) -> Vec<Object> {
    try_kustomize(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
}

/// What a kustomization makes.
///
/// # Errors
/// Why kustomize refuses it.
pub(super) fn try_kustomize(folder: &Path) -> Result<Vec<Object>, String> {
    run("kubectl", [OsStr::new("kustomize"), folder.as_os_str()]).map(|yaml| parse(&yaml))
}

/// A command of Helm.
///
/// # Errors
/// What it said, if it failed.
pub(super) fn helm(arguments: &[&str]) -> Result<String, String> {
    run("helm", arguments)
}
