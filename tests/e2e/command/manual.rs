//! Manual pages and completions, tested in the programs that read them.

use std::fs;
use std::process::Command;

use super::help::{COMMANDS, help};
use crate::harness::process::{Process, command, program};
use crate::harness::store::folder;
use crate::harness::terminal::Size;
use crate::harness::{Terminal, run};
use crate::servers::program as find;

/// The manual page of a command.
fn page(of: &str) -> String {
    let page = run(&["man", of][..if of.is_empty() { 1 } else { 2 }]);
    assert_eq!(page.code, Some(0), "{}", page.all());
    page.stdout + "\n"
}

#[test]
fn mandoc_finds_nothing_wrong_with_any_page() {
    let folder = folder();
    let dated = !run(&["--version"]).stdout.contains("date:      unknown");
    for of in COMMANDS {
        let path = folder.path().join("page.1");
        fs::write(&path, page(of)).unwrap();
        let mut mandoc = Command::new(find("mandoc"));
        mandoc.args(["-T", "lint", "-W", "warning"]).arg(&path);
        let said = Process::start(mandoc).finish().all();
        // A build without a date has none in its pages. The generator surrounds a list of values with breaks that have no
        // effect.
        let wrong = said.lines().filter(|line| dated || !line.contains("missing date"));
        let wrong = wrong.filter(|line| !line.contains("skipping paragraph macro: br"));
        assert_eq!(wrong.collect::<String>().trim(), "", "{of}");
    }
}

#[test]
fn manual_page_has_the_content_of_the_help() {
    let sections = [
        (
            "",
            &[
                "NAME",
                "SYNOPSIS",
                "DESCRIPTION",
                "OPTIONS",
                "EXIT STATUS",
                "ENVIRONMENT",
                "FILES",
                "EXAMPLES",
                "SEE ALSO",
            ][..],
        ),
        (
            "status",
            &["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "ENVIRONMENT", "EXAMPLES", "SEE ALSO"],
        ),
    ];
    for (of, sections) in sections {
        let page = page(of);
        let found: Vec<_> = page.lines().filter_map(|line| line.strip_prefix(".SH ")).collect();
        let found: Vec<_> =
            found.into_iter().map(|title| title.trim_matches('"')).filter(|title| *title != "SUBCOMMANDS").collect();
        assert_eq!(found, sections, "{of}");
    }
    for of in COMMANDS {
        let page = page(of).replace('\\', "");
        for option in help(of, "--help").lines().filter_map(|line| line.trim_start().strip_prefix("--")) {
            let option = option.split([' ', '[']).next().unwrap();
            assert!(page.contains(&format!("--{option}")), "{of}: no --{option}");
        }
    }
}

#[test]
fn all_pages_are_written_under_the_file_names_of_man() {
    let folder = folder();
    let into = folder.path().join("share/man1");
    assert_eq!(run(&["man", "--directory", into.to_str().unwrap()]).code, Some(0));
    for of in COMMANDS {
        let name = if of.is_empty() { "lease-exporter.1".to_owned() } else { format!("lease-exporter-{of}.1") };
        assert_eq!(fs::read_to_string(into.join(name)).unwrap().trim_end(), page(of).trim_end());
    }
    assert_eq!(fs::read_dir(&into).unwrap().count(), COMMANDS.len());
}

/// Writes the completion script of a shell into a file.
fn script(folder: &std::path::Path, shell: &str, name: &str) -> String {
    let script = run(&["completions", shell]);
    assert_eq!(script.code, Some(0), "{}", script.all());
    let path = folder.join(name);
    fs::write(&path, script.stdout + "\n").unwrap();
    path.display().to_string()
}

/// Typed texts, and the line after Tab.
const COMPLETED: [(&str, &str); 8] = [
    ("lease-exporter sta", "lease-exporter status "),
    ("lease-exporter --web.c", "lease-exporter --web.config.file"),
    ("lease-exporter status --wa", "lease-exporter status --watch"),
    ("lease-exporter status --log.level d", "lease-exporter status --log.level debug "),
    ("lease-exporter status --log.level=d", "lease-exporter status --log.level=debug"),
    ("lease-exporter presets qu", "lease-exporter presets quartz"),
    ("lease-exporter presets quartz --store=p", "lease-exporter presets quartz --store=postgres"),
    ("lease-exporter check --config.file=expo", "lease-exporter check --config.file=exporter.yml"),
];

/// Types each text in a shell with the completion script, in a folder with a file.
fn completes(shell: &str, arguments: &[&str], told: &str) {
    let folder = folder();
    fs::write(folder.path().join("exporter.yml"), "").unwrap();
    for (typed, completed) in COMPLETED {
        let mut command = Command::new(find(shell));
        let path = format!("{}:{}", program().parent().unwrap().display(), std::env::var("PATH").unwrap());
        command.args(arguments).env("PATH", path).env("HOME", folder.path()).current_dir(folder.path());
        let mut terminal = Terminal::start(&command, Size::of(24, 120), None);
        terminal.type_in(&format!("{told}; PS1='> '; echo re''ady\n"));
        terminal.wait_for("\nready");
        terminal.type_in(&format!("{typed}\t"));
        terminal.wait_until(&format!("{shell} to complete {typed:?}"), |contents| {
            contents
                .lines()
                .any(|line| line.strip_prefix("> ").is_some_and(|line| line.starts_with(completed.trim_end())))
        });
    }
}

#[test]
fn bash_completes_commands_options_values_and_files() {
    let folder = folder();
    let script = script(folder.path(), "bash", "lease-exporter.bash");
    completes("bash", &["--norc", "--noprofile", "-i"], &format!("source {script}"));
}

#[test]
fn zsh_completes_commands_options_values_and_files() {
    let folder = folder();
    script(folder.path(), "zsh", "_lease-exporter");
    let told = format!("fpath=({} $fpath); autoload -U compinit; compinit -u -D", folder.path().display());
    completes("zsh", &["-f", "-i"], &told);
}

#[test]
fn fish_completes_commands_options_and_values() {
    let folder = folder();
    let script = script(folder.path(), "fish", "lease-exporter.fish");
    for (typed, completed) in &COMPLETED[..7] {
        let mut fish = Command::new(find("fish"));
        fish.args(["--no-config", "-c", &format!("source {script}; complete -C '{typed}'")]);
        fish.env("HOME", folder.path()).env("XDG_CONFIG_HOME", folder.path());
        let offered = Process::start(fish).finish();
        let last = completed.trim_end().rsplit(' ').next().unwrap();
        let words: Vec<_> = offered.stdout.lines().filter_map(|line| line.split('\t').next()).collect();
        assert!(words.contains(&last), "{typed}: {}", offered.all());
    }
}

#[test]
fn closed_output_is_not_a_failure() {
    for arguments in [&["completions", "zsh"][..], &["man"], &["presets", "quartz"], &["presets"], &["--help"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let done = command(arguments).stdout(writer).output().unwrap();
        assert_eq!(
            (done.status.code(), String::from_utf8_lossy(&done.stderr).as_ref()),
            (Some(0), ""),
            "{arguments:?}"
        );
    }
}
