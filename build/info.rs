//! Build information for `--version` and the build metric.
//!
//! The information is reproducible: the same sources and the same compiler produce the same values. The date is that of
//! SOURCE_DATE_EPOCH. Unknown values are `unknown`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

use super::repository::Repository;

/// The variable with the revision for builds without a repository, such as in a container.
const REVISION_VARIABLE: &str = "LEASE_EXPORTER_REVISION";
/// The paths that the program is built from. Changes elsewhere do not make it modified.
const SOURCES: [&str; 7] = ["Cargo.toml", "Cargo.lock", "build", "src", "templates", "protocol", "store-address"];
const UNKNOWN: &str = "unknown";
/// The stores that are optional features.
const OPTIONAL_STORES: [&str; 3] = ["mysql", "postgres", "redis"];

/// Passes the information to the compiler, and tells cargo when to run the build script again.
pub(super) fn emit() -> io::Result<()> {
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    for name in [REVISION_VARIABLE, "SOURCE_DATE_EPOCH"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    SOURCES.into_iter().for_each(|path| rerun_if_changed(&root.join(path)));
    let (revision, branch) = revision_and_branch(&root);
    let is_static = env::var("CARGO_CFG_TARGET_FEATURE").is_ok_and(|features| features.contains("crt-static"));
    let stores = OPTIONAL_STORES.into_iter().filter(|store| is_on(store));
    for (name, value) in [
        ("REVISION", revision),
        ("BRANCH", branch),
        ("DATE", env::var("SOURCE_DATE_EPOCH").ok().and_then(|text| date(&text)).unwrap_or_else(unknown)),
        ("RUSTC", compiler().unwrap_or_else(unknown)),
        ("TARGET", variable("TARGET")? + if is_static { ", static" } else { "" }),
        ("PROFILE", variable("PROFILE")?),
        ("STORES", ["sqlite"].into_iter().chain(stores).collect::<Vec<_>>().join(", ")),
    ] {
        println!("cargo::rustc-env=LEASE_EXPORTER_BUILD_{name}={value}");
    }
    Ok(())
}

fn variable(name: &str) -> io::Result<String> {
    env::var(name).map_err(io::Error::other)
}

fn unknown() -> String {
    UNKNOWN.to_owned()
}

fn is_on(feature: &str) -> bool {
    env::var_os(format!("CARGO_FEATURE_{}", feature.to_uppercase())).is_some()
}

/// Names a path to cargo if it exists: cargo reruns the script on every build if a named path is absent.
fn rerun_if_changed(path: &Path) {
    if path.exists() {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}

fn revision_and_branch(root: &Path) -> (String, String) {
    if let Ok(revision) = env::var(REVISION_VARIABLE)
        && !revision.is_empty()
        && !revision.contains(char::is_control)
    {
        return (revision, unknown());
    }
    if let Some(revision) = packaged_revision(root) {
        return (revision, unknown());
    }
    let Some(repository) = Repository::at(root) else { return (unknown(), unknown()) };
    repository.head_paths().iter().for_each(|path| rerun_if_changed(path));
    let Some(head) = repository.head() else { return (unknown(), unknown()) };
    let modified = match is_modified(root) {
        Some(false) => "",
        Some(true) => "-modified",
        // git is not installed.
        None => "-unchecked",
    };
    (head.revision + modified, head.branch.unwrap_or_else(|| "HEAD".to_owned()))
}

/// The revision that `cargo package` has recorded in this package.
fn packaged_revision(root: &Path) -> Option<String> {
    let path = root.join(".cargo_vcs_info.json");
    rerun_if_changed(&path);
    let record = fs::read_to_string(path).ok()?;
    let revision = record.split("\"sha1\":").nth(1)?.split('"').nth(1)?.to_owned();
    let is_modified = record.split("\"dirty\":").nth(1).is_some_and(|rest| rest.trim_start().starts_with("true"));
    Some(revision + if is_modified { "-modified" } else { "" })
}

fn is_modified(root: &Path) -> Option<bool> {
    let mut git = Command::new("git");
    // In a git hook, these variables name another repository. Without optional locks, other git commands are not disturbed.
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR"] {
        git.env_remove(variable);
    }
    git.env("GIT_OPTIONAL_LOCKS", "0").arg("-C").arg(root).args(["status", "--porcelain", "--"]).args(SOURCES);
    let output = git.output().ok().filter(|output| output.status.success())?;
    Some(!output.stdout.is_empty())
}

fn compiler() -> Option<String> {
    let output = Command::new(env::var_os("RUSTC")?).arg("--version").output().ok()?;
    let version = String::from_utf8(output.stdout).ok()?;
    Some(version.trim().strip_prefix("rustc ")?.to_owned())
}

/// The date of a number of seconds since 1970. The calculation counts years from March, so that leap days are the last.
fn date(seconds: &str) -> Option<String> {
    let days = seconds.parse::<u32>().ok()? / 86_400 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (era * 400 + year, month + 3) } else { (era * 400 + year + 1, month - 9) };
    Some(format!("{year}-{month:02}-{day:02}"))
}
