//! What the README shows works as it stands there.

use std::path::Path;

use crate::harness::exporter::configure;
use crate::harness::run;

fn readme() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap()
}

/// The fenced blocks of a language.
fn blocks(language: &str) -> Vec<String> {
    let text = readme();
    let opening = format!("\n```{language}\n");
    text.split(&opening).skip(1).map(|block| block.split("\n```").next().unwrap().to_owned() + "\n").collect()
}

#[test]
fn the_readmes_configuration_is_well_formed() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("token.key"), "0123456789abcdef").unwrap();
    let configurations: Vec<_> = blocks("yaml").into_iter().filter(|block| block.starts_with("sources:")).collect();
    assert!(configurations.len() >= 3, "of a file, of a server, of a query");
    for configuration in configurations {
        let file = configure(folder.path(), &configuration);
        let finished = run(&["check", &format!("--config.file={}", file.display())]);
        assert_eq!(finished.code, Some(0), "{}{}", finished.stdout, finished.stderr);
    }
}

#[test]
fn the_readmes_query_reads_the_table_that_it_is_written_for() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("jobs.db");
    let connection = rusqlite::Connection::open(&store).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE leader (host TEXT, term INTEGER, heartbeat_ms INTEGER);
             CREATE TABLE invoice (id INTEGER PRIMARY KEY, created REAL NOT NULL, done_at REAL);",
        )
        .unwrap();
    let query = blocks("yaml").into_iter().find(|block| block.contains("query: |")).unwrap();
    let file = configure(folder.path(), &query.replace("sqlite:///var/lib/billing/jobs.db", "sqlite://jobs.db"));
    let config = format!("--config.file={}", file.display());
    let nobody = run(&["status", &config]);
    assert!(nobody.stdout.contains("no_leader"), "{}{}", nobody.stdout, nobody.stderr);
    connection
        .execute_batch(
            "INSERT INTO leader VALUES ('planted-host', 7, CAST(unixepoch('subsec') * 1000 AS INTEGER));
             INSERT INTO invoice VALUES (1, 0, 60), (2, unixepoch('subsec') - 400, NULL);",
        )
        .unwrap();
    let held = run(&["status", &config]);
    // Whether the old progress was its own does not matter once its tenure is long enough; at first sight it does.
    assert!(
        held.stdout.contains("held") && held.stdout.contains("not watched for long enough"),
        "{}{}",
        held.stdout,
        held.stderr
    );
    assert!(!held.stdout.contains("planted-host"), "{}", held.stdout);
}

#[test]
fn the_readmes_commands_are_commands() {
    let told: Vec<_> = blocks("console")
        .concat()
        .lines()
        .filter_map(|line| line.strip_prefix("$ ")?.split('#').next())
        .map(|line| line.trim().to_owned())
        .collect();
    assert!(told.iter().any(|line| line == "cargo run --release -- demo"), "{told:?}");
    assert!(told.iter().any(|line| line == "make test"), "{told:?}");
    for line in told.iter().filter_map(|line| line.strip_prefix("lease-exporter ")) {
        // A command with its flags is known if only the file that it names is not there.
        let finished = run(&line.split(' ').collect::<Vec<_>>());
        assert_eq!(finished.code, Some(3), "{line}: {}", finished.stderr);
        assert!(finished.stderr.contains("exporter.yml"), "{line}: {}", finished.stderr);
    }
}
