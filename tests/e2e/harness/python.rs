//! Python with a package that `make tools` has unpacked.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use serde_json::Value;

use crate::servers::program;

/// Runs a script with an input, and returns its output, which is JSON. `module` is a file of the package that it
/// imports, by its path from the folder of tools: `openmetrics/prometheus_client/__init__.py`.
///
/// # Errors
/// The standard error of the script, if it fails.
pub(crate) fn python(module: &str, script: &str, input: &str) -> Result<Value, String> {
    let file = program(module);
    let inside = Path::new(module).components().count() - 1;
    let packages = Path::new(&file).ancestors().nth(inside).unwrap();
    let mut python = Command::new("python3")
        .args(["-c", script])
        .env("PYTHONPATH", packages)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot run python3: {error}; run `make tools`"));
    let mut stdin = python.stdin.take().unwrap();
    let input = input.to_owned();
    // On another thread, because a script may write before it has read all.
    let writing = thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = python.wait_with_output().unwrap();
    // A script that fails early closes its input.
    let _ = writing.join().unwrap();
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(serde_json::from_slice(&output.stdout).unwrap())
}
