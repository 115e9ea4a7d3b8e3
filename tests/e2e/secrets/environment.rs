//! An exporter surrounded by planted secrets, and all of its output.

use std::path::Path;

use rustix::process::Signal;

use super::output::{CollectedOutput, PLANTED};
use super::routes::ask_everything;
use crate::harness::exporter::configure;
use crate::harness::process::{Finished, Process, command};
use crate::harness::store::{active, reference};
use crate::harness::{Exporter, eventually};

/// Unrelated environment variables.
const VARIABLES: [&str; 6] = ["PGPASSWORD", "MYSQL_PWD", "REDISCLI_AUTH", "DATABASE_URL", "SECRET", "RUST_LOG"];

/// A source with an active and a stalled lease.
pub(super) fn sound(folder: &Path) -> String {
    let store = reference(&folder.join("sound.db"));
    store.execute_batch(&active("planner").replace("holder-of", PLANTED)).unwrap();
    store
        .execute_batch(
            "WITH clock AS (SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER) AS now) INSERT INTO scheduler_lease \
             SELECT 'stuck', 'PLANTED-holder', 1, now - 9000000, now, now + 3600000 FROM clock; \
             INSERT INTO occurrence (idempotency_key, lease, action, due_at_ms) VALUES ('PLANTED', 'stuck', 'plan_retention', 1000)",
        )
        .unwrap();
    std::fs::write(folder.join("token.key"), format!("{PLANTED}-0123456789")).unwrap();
    "token_key_file: token.key\nsources:\n  - {name: sound, store: 'sqlite://sound.db', preset: reference}\n".to_owned()
}

/// The program with secrets in its environment.
pub(super) fn among_secrets(arguments: &[&str]) -> Process {
    let mut command = command(arguments);
    for name in VARIABLES {
        command.env(name, format!("{PLANTED}-in-the-environment"));
    }
    Process::start(command)
}

/// Runs a command to its end and collects its output.
pub(super) fn run(arguments: &[&str], said: &mut CollectedOutput) -> Finished {
    let finished = among_secrets(arguments).finish();
    said.note(arguments.join(" "), finished.all());
    finished
}

/// Serves this configuration in both formats of the log, asks for everything in every way, loads it again, and runs the
/// other commands on it. Gives what `check --connect` said.
pub(super) fn everything(
    folder: &Path,
    yaml: &str,
    more: &[&str],
    headers: &str,
    said: &mut CollectedOutput,
) -> String {
    let config = format!("--config.file={}", configure(folder, yaml).display());
    for format in ["--log.format=logfmt", "--log.format=json"] {
        let options = [
            &config,
            "--web.listen-address=127.0.0.1:0",
            "--web.enable-lifecycle",
            "--web.enable-probes",
            "--log.level=debug",
            format,
        ];
        let exporter = Exporter::started(among_secrets(&[&options, more].concat()));
        let statuses = ask_everything(exporter.address(), headers, said);
        for status in [200, 400, 404, 405, 503] {
            assert!(statuses.contains(&status), "no answer {status}: {statuses:?}\n{}", exporter.log());
        }
        exporter.process().signal(Signal::HUP);
        configure(folder, &format!("sources: [{{name: a, store: 'postgres://u:{PLANTED}@h/d', password: {PLANTED}}}]"));
        exporter.process().signal(Signal::HUP);
        eventually("a bad reload", || exporter.log().contains("the one before stays").then_some(()));
        configure(folder, yaml);
        let finished = exporter.stop();
        assert_eq!(finished.code, Some(0), "{}", finished.all());
        said.note(format!("the log with {format}"), finished.all());
    }
    run(&["check", &config], said);
    for format in ["--log.format=logfmt", "--log.format=json"] {
        run(&["status", &config, "--log.level=debug", format], said);
    }
    run(&["check", "--connect", &config], said).all()
}
