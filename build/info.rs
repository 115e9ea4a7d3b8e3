//! What the exporter is built from and with, for `--version` and the metric of the build.
//!
//! The same source built by the same compiler says the same, whenever and wherever that is: the only date is
//! SOURCE_DATE_EPOCH, where it is set. What is not known is `unknown`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

use super::repository::Repository;

/// Says the revision where there is no repository, such as in a container or a source archive.
const GIVEN: &str = "LEASE_EXPORTER_REVISION";
/// What the program is made of. Whether anything else was modified says nothing of it.
const PARTS: [&str; 7] = ["Cargo.toml", "Cargo.lock", "build", "src", "templates", "protocol", "store-address"];
const UNKNOWN: &str = "unknown";
/// Each is a feature, but for SQLite.
const OTHER_STORES: [&str; 3] = ["mysql", "postgres", "redis"];

/// Hands it to the compiler, and says what has to change for it to be asked again.
pub(super) fn tell() -> io::Result<()> {
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    for given in [GIVEN, "SOURCE_DATE_EPOCH"] {
        println!("cargo::rerun-if-env-changed={given}");
    }
    PARTS.into_iter().for_each(|part| watch(&root.join(part)));
    let (revision, branch) = revision_and_branch(&root);
    let is_static = env::var("CARGO_CFG_TARGET_FEATURE").is_ok_and(|features| features.contains("crt-static"));
    let stores = OTHER_STORES.into_iter().filter(|store| is_on(store));
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

/// Cargo asks each time anew where a file that is named is not there.
fn watch(path: &Path) {
    if path.exists() {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}

fn revision_and_branch(root: &Path) -> (String, String) {
    if let Some(given) = env::var(GIVEN).ok().filter(|given| !given.is_empty() && !given.contains(char::is_control)) {
        return (given, unknown());
    }
    if let Some(packaged) = packaged(root) {
        return (packaged, unknown());
    }
    let Some(repository) = Repository::at(root) else { return (unknown(), unknown()) };
    repository.moved_by().iter().for_each(|path| watch(path));
    let Some(head) = repository.head() else { return (unknown(), unknown()) };
    let modified = match is_modified(root) {
        Some(false) => "",
        Some(true) => "-modified",
        // Without git nobody can tell.
        None => "-unchecked",
    };
    (head.revision + modified, head.branch.unwrap_or_else(|| "HEAD".to_owned()))
}

/// What `cargo package` noted in the package that this is.
fn packaged(root: &Path) -> Option<String> {
    let path = root.join(".cargo_vcs_info.json");
    watch(&path);
    let note = fs::read_to_string(path).ok()?;
    let revision = note.split("\"sha1\":").nth(1)?.split('"').nth(1)?.to_owned();
    let is_modified = note.split("\"dirty\":").nth(1).is_some_and(|rest| rest.trim_start().starts_with("true"));
    Some(revision + if is_modified { "-modified" } else { "" })
}

fn is_modified(root: &Path) -> Option<bool> {
    let mut git = Command::new("git");
    // A hook that builds must not have it look elsewhere, and a look must not get in anybody's way.
    for elsewhere in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR"] {
        git.env_remove(elsewhere);
    }
    git.env("GIT_OPTIONAL_LOCKS", "0").arg("-C").arg(root).args(["status", "--porcelain", "--"]).args(PARTS);
    let said = git.output().ok().filter(|said| said.status.success())?;
    Some(!said.stdout.is_empty())
}

fn compiler() -> Option<String> {
    let said = Command::new(env::var_os("RUSTC")?).arg("--version").output().ok()?;
    let said = String::from_utf8(said.stdout).ok()?;
    Some(said.trim().strip_prefix("rustc ")?.to_owned())
}

/// The day of a number of seconds since 1970, by the calendar of the civil year that begins in March.
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
