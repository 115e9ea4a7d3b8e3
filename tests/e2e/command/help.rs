//! The help of each command.

use std::fs;

use crate::harness::process::{Finished, Process, command};
use crate::harness::{repository, run};

/// All commands.
pub(super) const COMMANDS: [&str; 8] = ["", "status", "check", "presets", "demo", "scheduler", "completions", "man"];

/// The long or short help of a command.
pub(super) fn help(of: &str, flag: &str) -> String {
    let arguments: Vec<_> = [of, flag].into_iter().filter(|argument| !argument.is_empty()).collect();
    let help = run(&arguments);
    assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""), "{}", help.all());
    help.stdout + "\n"
}

#[test]
fn help_is_as_it_was() {
    for command in COMMANDS {
        for (flag, ending) in [("--help", ""), ("-h", "-short")] {
            let text = help(command, flag);
            let name = format!("help-{}{ending}.txt", if command.is_empty() { "serve" } else { command });
            assert!(text.lines().all(|line| line.chars().count() <= 100), "{name} is wider than 100 columns:\n{text}");
            let path = repository("tests/golden").join(&name);
            if std::env::var_os("UPDATE_GOLDEN").is_some() {
                fs::write(&path, &text).unwrap();
            }
            let golden = fs::read_to_string(&path).unwrap_or_default();
            assert_eq!(golden, text, "{name} differs; UPDATE_GOLDEN=1 rewrites it");
        }
    }
}

#[test]
fn help_fits_a_narrow_terminal_and_is_at_most_a_hundred_columns_wide() {
    for (columns, widest) in [("50", 50), ("300", 100)] {
        for of in COMMANDS {
            let mut asked = command([of, "--help"].into_iter().filter(|argument| !argument.is_empty()));
            asked.env("COLUMNS", columns);
            let Finished { stdout, .. } = Process::start(asked).finish();
            for line in stdout.lines() {
                // An unbreakable word, such as an example, may be wider.
                let can_be_broken = line.trim().contains("  ") || line.trim().split(' ').count() > 3;
                let typed = line.trim().contains("lease-exporter ");
                assert!(line.chars().count() <= widest || !can_be_broken || typed, "{of}, {columns}: {line}");
            }
        }
    }
}

#[test]
fn every_environment_variable_is_documented() {
    let told = help("", "--help");
    for variable in ["LEASE_EXPORTER_CONFIG_FILE", "LISTEN_FDS", "NOTIFY_SOCKET", "SSL_CERT_FILE", "NO_COLOR"] {
        assert!(told.contains(&format!("\n  {variable}")), "{variable}: {told}");
    }
}

#[test]
fn the_short_version_is_one_line_and_the_long_one_says_what_was_built() {
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(run(&["-V"]).stdout, format!("lease-exporter {version}"));
    let long = run(&["--version"]).stdout;
    let lines: Vec<_> = long.lines().collect();
    assert_eq!(lines[0], format!("lease-exporter {version}"));
    let names: Vec<_> = lines[1..].iter().map(|line| line.split(':').next().unwrap()).collect();
    assert_eq!(names, ["revision", "branch", "date", "rustc", "target", "profile", "stores"], "{long}");
    let stores = lines[7].split_once(':').unwrap().1.trim();
    assert_eq!(stores, "sqlite, mysql, postgres, redis", "the tests are built with all of them");
}
