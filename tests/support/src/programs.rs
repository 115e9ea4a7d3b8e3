//! Where the servers' programs are.

use std::path::{Path, PathBuf};

/// The newest PostgreSQL of Debian, which keeps its programs off the PATH; then the PATH; then where administrators'
/// programs are, which is not on everybody's PATH; then where `make tools` puts what no package installs.
fn folders() -> Vec<PathBuf> {
    let mut versions: Vec<(u32, PathBuf)> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|version| Some((version.file_name().to_str()?.parse().ok()?, version.path().join("bin"))))
        .collect();
    versions.sort();
    let mut folders: Vec<PathBuf> = versions.into_iter().rev().map(|(_, folder)| folder).collect();
    folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    folders.push("/usr/sbin".into());
    let repository = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    if let Some(target) = std::env::var_os("CARGO_TARGET_DIR") {
        folders.push(repository.join(target).join("test-tools"));
    }
    folders.push(repository.join("target/test-tools"));
    folders
}

/// The program of this name, which has to be there.
pub fn find(name: &str) -> String {
    let found = folders().into_iter().map(|folder| folder.join(name)).find(|path| path.is_file());
    let found = found.unwrap_or_else(|| {
        panic!(
            "`{name}` is not installed: run `make tools`. What cannot be had here is left out by \
             {}=chromium,postgres,mariadb,redis,valkey (of these, what is missing)",
            super::kind::WITHOUT
        )
    });
    found.to_str().expect("a path in UTF-8").to_owned()
}
