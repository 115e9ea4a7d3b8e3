//! Runs promtool.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Passes a scrape to `promtool check metrics`, and panics with its output if it fails.
pub(crate) fn accepts(text: &str) {
    let mut promtool = Command::new(path())
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = promtool.stdin.take().unwrap();
    // If promtool stops reading, its output has the reason.
    let _ = stdin.write_all(text.as_bytes());
    drop(stdin);
    let output = promtool.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.trim().is_empty(), "promtool: {said}\n{text}");
}

/// The program on the PATH, or as installed by `make tools`.
pub(crate) fn path() -> PathBuf {
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&on_path).collect();
    let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    if let Some(target) = std::env::var_os("CARGO_TARGET_DIR") {
        folders.push(manifest.join(target).join("test-tools"));
    }
    folders.push(manifest.join("target/test-tools"));
    let found = folders.into_iter().map(|folder| folder.join("promtool")).find(|path| path.is_file());
    found.expect("promtool is neither on the PATH nor in target/test-tools: run `make tools`")
}
