//! What the README and its like show works as it stands there.

use std::process::Command;

use crate::harness::exporter::configure;
use crate::harness::{contents, repository, run};

/// The fenced blocks of a language.
fn blocks(document: &str, language: &str) -> Vec<String> {
    let opening = format!("\n```{language}\n");
    contents(document)
        .split(&opening)
        .skip(1)
        .map(|block| block.split("\n```").next().unwrap().to_owned() + "\n")
        .collect()
}

#[test]
fn the_readmes_configuration_is_well_formed() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("token.key"), "0123456789abcdef").unwrap();
    let configurations: Vec<_> =
        blocks("README.md", "yaml").into_iter().filter(|block| block.starts_with("sources:")).collect();
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
    let query = blocks("README.md", "yaml").into_iter().find(|block| block.contains("query: |")).unwrap();
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

/// Documents with commands, but for those of Kubernetes, which `kubernetes::documentation` runs.
const DOCUMENTS: [&str; 4] = ["README.md", "alerts/README.md", "deploy/README.md", "deploy/grafana/README.md"];

/// How commands begin that are not run here, and what runs them; where there is no engine for containers, what holds them to
/// what they name.
const RUN_BY: [(&str, &str, &str); 8] = [
    ("cargo run --release -- demo", "tests/e2e/dashboard/world.rs", "command([\"demo\""),
    ("make test", ".ci/run", "make test"),
    ("deploy/local/up --hurry", "tests/e2e/rollout/local.rs", "--hurry"),
    ("docker compose --file deploy/compose.yaml up", "tests/e2e/rollout/compose.rs", "deploy/compose.yaml"),
    (
        "docker compose --file deploy/compose.yaml kill --signal USR1 scheduler-a",
        "deploy/compose.yaml",
        "\n  scheduler-a: ",
    ),
    (
        "docker compose --file deploy/compose.yaml kill --signal HUP exporter-a exporter-b",
        "deploy/compose.yaml",
        "\n  exporter-b:\n",
    ),
    ("docker build --file deploy/Dockerfile", "tests/e2e/rollout/image.rs", "Dockerfile"),
    ("docker run --read-only --cap-drop ALL", "tests/e2e/rollout/image.rs", "Dockerfile"),
];

#[test]
fn every_command_that_is_shown_is_run() {
    let root = repository("");
    let mut shown = 0;
    for document in DOCUMENTS {
        for line in blocks(document, "console").concat().lines().filter_map(|line| line.strip_prefix("$ ")) {
            shown += 1;
            // What follows two spaces and a number sign explains the command.
            let line = line.split("  #").next().unwrap().trim();
            if let Some(arguments) = line.strip_prefix("lease-exporter ") {
                // A command with its flags is known if only the file that it names is not there.
                let finished = run(&arguments.split(' ').collect::<Vec<_>>());
                assert_eq!(finished.code, Some(3), "{line}: {}", finished.stderr);
                assert!(finished.stderr.contains("exporter.yml"), "{line}: {}", finished.stderr);
            } else if line.starts_with("jsonnet ") {
                let folder = root.join(document).parent().unwrap().to_owned();
                let ran = Command::new("sh").args(["-c", line]).current_dir(folder).output().unwrap();
                assert!(ran.status.success() && !ran.stdout.is_empty(), "{line}: {ran:?}");
            } else {
                let (_, by, with) = RUN_BY.iter().find(|(beginning, ..)| line.starts_with(beginning)).expect(line);
                assert!(std::fs::read_to_string(root.join(by)).unwrap().contains(with), "{line}: {by}");
            }
        }
    }
    assert!(shown >= 12, "{shown}");
}

#[test]
fn every_link_between_documents_leads_somewhere() {
    let root = repository("");
    for document in DOCUMENTS.into_iter().chain(["CONTRIBUTING.md", "deploy/kubernetes/README.md"]) {
        for link in contents(document).split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            if link.contains("://") {
                continue;
            }
            let target =
                if file.is_empty() { root.join(document) } else { root.join(document).parent().unwrap().join(file) };
            assert!(target.exists(), "{document}: {link}");
            let is_heading = |line: &str| {
                line.starts_with('#') && line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-") == heading
            };
            let has_heading = || std::fs::read_to_string(&target).unwrap().lines().any(is_heading);
            assert!(heading.is_empty() || has_heading(), "{document}: {link}");
        }
    }
}
