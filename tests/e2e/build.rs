//! The build information, tested on a small package that is built as the exporter is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::process::{Finished, Process};
use crate::harness::store::folder;
use crate::harness::{contents, repository};

/// A package with the build script of the exporter, which prints the result of the script.
struct Package {
    root: PathBuf,
    target: PathBuf,
    /// A folder with programs that is first on the PATH.
    programs: PathBuf,
}

impl Package {
    fn make(folder: &Path) -> Self {
        let root = folder.join("package");
        for part in ["build", "src/preset"] {
            fs::create_dir_all(root.join(part)).unwrap();
        }
        for file in fs::read_dir(repository("build")).unwrap().flatten() {
            fs::copy(file.path(), root.join("build").join(file.file_name())).unwrap();
        }
        let manifest = "[package]\nname = \"small\"\nversion = \"1.2.3\"\nedition = \"2024\"\nbuild = \"build/main.rs\"\n\
            [features]\nredis = []\n[workspace]\n";
        fs::write(root.join("Cargo.toml"), manifest).unwrap();
        fs::write(root.join("src/build_info.rs"), contents("src/build_info.rs")).unwrap();
        fs::write(
            root.join("src/main.rs"),
            "mod build_info;\nfn main() { println!(\"{}\", build_info::DESCRIPTION) }\n",
        )
        .unwrap();
        fs::write(root.join("src/preset/kept.yml"), "").unwrap();
        let programs = folder.join("programs");
        fs::create_dir(&programs).unwrap();
        Self { root, target: folder.join("target"), programs }
    }

    /// Builds the package, and returns the output of cargo.
    fn built(&self, variables: &[(&str, &str)]) -> Finished {
        let mut cargo = Command::new(env!("CARGO"));
        let path = format!("{}:{}", self.programs.display(), std::env::var("PATH").unwrap());
        cargo.args(["build", "--offline", "--verbose", "--features", "redis"]).current_dir(&self.root);
        cargo.env("PATH", path).env("CARGO_TARGET_DIR", &self.target);
        cargo.env_remove("LEASE_EXPORTER_REVISION").env_remove("SOURCE_DATE_EPOCH").envs(variables.iter().copied());
        let built = Process::start(cargo).finish();
        assert_eq!(built.code, Some(0), "{}", built.all());
        built
    }

    /// A line of the build information of the program.
    fn says(&self, name: &str, variables: &[(&str, &str)]) -> String {
        self.built(variables);
        let said = Process::start(Command::new(self.target.join("debug/small"))).finish().stdout;
        let line = said.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.unwrap_or_else(|| panic!("no {name}: {said}")).trim().to_owned()
    }

    fn git(&self, arguments: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b.invalid", "-c", "init.defaultBranch=main"]);
        git.args(["-c", "commit.gpgSign=false"]).args(arguments).current_dir(&self.root);
        for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            git.env_remove(variable);
        }
        let done = Process::start(git).finish();
        assert_eq!(done.code, Some(0), "{arguments:?}: {}", done.all());
        done.stdout.trim().to_owned()
    }

    fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", message]);
        self.git(&["rev-parse", "HEAD"])
    }
}

#[test]
fn build_outside_of_a_repository_reports_an_unknown_or_the_given_revision() {
    let folder = folder();
    let package = Package::make(folder.path());
    for (name, expected) in
        [("revision", "unknown"), ("branch", "unknown"), ("date", "unknown"), ("stores", "sqlite, redis")]
    {
        assert_eq!(package.says(name, &[]), expected);
    }
    assert_eq!(package.says("revision", &[("LEASE_EXPORTER_REVISION", "abc123")]), "abc123");
    for (epoch, date) in
        [("1800000000", "2027-01-15"), ("951782400", "2000-02-29"), ("0", "1970-01-01"), ("soon", "unknown")]
    {
        assert_eq!(package.says("date", &[("SOURCE_DATE_EPOCH", epoch)]), date);
    }
    let note =
        "{\n  \"git\": {\n    \"sha1\": \"0123456789012345678901234567890123456789\"\n  },\n  \"path_in_vcs\": \"\"\n}";
    fs::write(package.root.join(".cargo_vcs_info.json"), note).unwrap();
    // Cargo does not watch a new file, so it is noticed with the next change of the sources.
    fs::write(package.root.join("src/preset/a.yml"), "").unwrap();
    assert_eq!(package.says("revision", &[]), "0123456789012345678901234567890123456789");
}

#[test]
fn build_in_a_repository_reports_the_commit_and_uncommitted_changes() {
    let folder = folder();
    let package = Package::make(folder.path());
    package.git(&["init", "--quiet"]);
    assert_eq!(package.says("revision", &[]), "unknown", "before the first commit");
    let first = package.commit("first");
    assert_eq!((package.says("revision", &[]), package.says("branch", &[])), (first.clone(), "main".to_owned()));
    assert!(package.built(&[]).stderr.contains("Fresh small"), "nothing changed, so nothing is built");

    // Neither other files nor another branch cause a build.
    fs::write(package.root.join("README.md"), "nothing").unwrap();
    package.git(&["branch", "other"]);
    assert!(package.built(&[]).stderr.contains("Fresh small"));
    assert_eq!(package.says("revision", &[]), first);

    let second = package.commit("second");
    assert_ne!(first, second);
    assert_eq!(package.says("revision", &[]), second, "a new commit is noticed");
    package.git(&["pack-refs", "--all"]);
    assert_eq!(package.says("revision", &[]), second);
    let third = package.commit("third");
    assert_eq!(package.says("revision", &[]), third, "also after the references were packed");

    fs::write(package.root.join("src/preset/b.yml"), "").unwrap();
    assert_eq!(package.says("revision", &[]), format!("{third}-modified"));
    fs::remove_file(package.root.join("src/preset/b.yml")).unwrap();
    assert_eq!(package.says("revision", &[]), third);

    package.git(&["checkout", "--quiet", &first]);
    assert_eq!((package.says("revision", &[]), package.says("branch", &[])), (first, "HEAD".to_owned()));
}

#[test]
fn build_in_a_worktree_reports_the_commit_of_that_worktree() {
    let folder = folder();
    let mut package = Package::make(folder.path());
    package.git(&["init", "--quiet"]);
    // This creates the Cargo.lock to be committed.
    package.built(&[]);
    let first = package.commit("first");
    package.git(&["worktree", "add", "--quiet", "-b", "aside", "../aside"]);
    let main = std::mem::replace(&mut package.root, folder.path().join("aside"));
    assert!(package.root.join(".git").is_file());
    let second = package.commit("second");
    assert_eq!((package.says("revision", &[]), package.says("branch", &[])), (second.clone(), "aside".to_owned()));
    let aside = std::mem::replace(&mut package.root, main);
    let third = package.commit("third");
    package.root = aside;
    assert!(package.built(&[]).stderr.contains("Fresh small"), "what goes on elsewhere is none of its business");
    assert_eq!(package.says("revision", &[]), second);
    assert!(first != second && second != third);
}

#[test]
fn without_git_a_build_reports_the_commit_without_a_check_for_changes() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = folder();
    let package = Package::make(folder.path());
    package.git(&["init", "--quiet"]);
    let commit = package.commit("first");
    let git = package.programs.join("git");
    fs::write(&git, "#!/bin/sh\nexit 127\n").unwrap();
    fs::set_permissions(&git, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(package.says("revision", &[]), format!("{commit}-unchecked"));
}
