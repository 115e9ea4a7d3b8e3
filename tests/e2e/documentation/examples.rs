//! The files that the documents show are accepted by the program that reads them.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::markdown::{Block, blocks, documents};
use crate::harness::exporter::configure;
use crate::harness::store::{active, database, folder, reference};
use crate::harness::{contents, repository, run};
use crate::servers::{Certificates, program};

/// A bcrypt hash.
const HASH: &str = "$2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi";

/// What stands in a folder so that an example works there: stores, keys and certificates.
pub(super) fn prepare(folder: &Path) {
    reference(&folder.join("scheduler.db")).execute_batch(&active("retention")).unwrap();
    billing(folder).execute_batch(INVOICES).unwrap();
    std::fs::write(folder.join("token.key"), "0123456789abcdef\n").unwrap();
    let certificates = Certificates::make();
    let pair = certificates.server();
    std::fs::copy(pair.certificate_file, folder.join("server.pem")).unwrap();
    std::fs::copy(pair.key_file, folder.join("server.key")).unwrap();
    // Otherwise `check` warns of them.
    for secret in ["token.key", "server.key"] {
        std::fs::set_permissions(folder.join(secret), Permissions::from_mode(0o600)).unwrap();
    }
}

/// The store of the example query.
fn billing(folder: &Path) -> rusqlite::Connection {
    let tables = "CREATE TABLE leader (host TEXT, term INTEGER, heartbeat_ms INTEGER);
        CREATE TABLE invoice (id INTEGER PRIMARY KEY, created REAL NOT NULL, done_at REAL);";
    database(&folder.join("jobs.db"), tables)
}

/// A leader that renews, and an invoice that has waited.
const INVOICES: &str = "INSERT INTO leader VALUES ('planted-host', 7, CAST(unixepoch('subsec') * 1000 AS INTEGER));
    INSERT INTO invoice VALUES (1, 0, 60), (2, unixepoch('subsec') - 400, NULL);";

/// An example with the paths and placeholders of this folder.
pub(super) fn adapted(example: &str) -> String {
    let stores = ["sqlite:///var/lib/documents/", "sqlite:///var/lib/billing/"];
    let example = stores.into_iter().fold(example.to_owned(), |text, store| text.replace(store, "sqlite://"));
    example.replace("REPLACE-BY-A-HASH", HASH)
}

/// Checks one example; `false` if it is not of a kind that something here reads.
fn check(folder: &Path, document: &str, block: &Block) -> bool {
    let text = adapted(&block.text);
    let first = text.lines().find(|line| !line.starts_with('#')).unwrap_or_default();
    let finished = match first.split(':').next().unwrap() {
        "sources" => run(&["check", &format!("--config.file={}", configure(folder, &text).display())]),
        "leases" => {
            let source = "sources: [{ name: SOURCE, store: sqlite://scheduler.db, preset: reference }]\n";
            run(&["check", &format!("--config.file={}", configure(folder, &format!("{source}{text}")).display())])
        }
        "tls_server_config" => {
            std::fs::write(folder.join("web.yml"), text).unwrap();
            run(&["check", &format!("--web.config.file={}", folder.join("web.yml").display())])
        }
        "scrape_configs" | "rule_files" if !text.contains("kubernetes_sd_configs") => {
            let rules = repository("alerts").display().to_string();
            std::fs::write(folder.join("prometheus.yml"), text.replace("/etc/prometheus/rules", &rules)).unwrap();
            let mut promtool = std::process::Command::new(program("promtool"));
            promtool.args(["check", "config"]).arg(folder.join("prometheus.yml"));
            crate::harness::Process::start(promtool).finish()
        }
        _ => return false,
    };
    assert_eq!(finished.code, Some(0), "{document}:\n{}\n{}", block.text, finished.all());
    true
}

#[test]
fn every_configuration_that_is_shown_is_accepted() {
    let folder = folder();
    prepare(folder.path());
    let mut checked = 0;
    for document in documents() {
        for block in blocks(&document).iter().filter(|block| block.language == "yaml") {
            let is_checked = check(folder.path(), &document, block);
            checked += usize::from(is_checked);
            // `kubernetes::documentation` renders the examples there.
            assert!(is_checked || document.starts_with("deploy/"), "{document}: nothing reads this:\n{}", block.text);
        }
    }
    assert!(checked > 15, "{checked}");
}

#[test]
fn every_store_has_a_configuration_in_the_readme() {
    let readme = contents("README.md");
    for scheme in ["sqlite://", "postgres://", "mysql://", "rediss://"] {
        assert!(readme.contains(&format!("    store: {scheme}")), "{scheme}");
    }
}

#[test]
fn the_query_that_is_shown_reads_the_table_that_it_is_written_for() {
    let folder = folder();
    let connection = billing(folder.path());
    let blocks = blocks("docs/query-contract.md");
    let query = blocks.iter().find(|block| block.text.contains("query: |")).unwrap();
    let file = configure(folder.path(), &adapted(&query.text));
    let config = format!("--config.file={}", file.display());
    let nobody = run(&["status", &config]);
    assert!(nobody.stdout.contains("no_leader"), "{}", nobody.all());
    connection.execute_batch(INVOICES).unwrap();
    let held = run(&["status", &config]);
    // Whether the old progress was the holder's own does not matter once its tenure is long enough; at first sight it does.
    assert!(held.stdout.contains("held") && held.stdout.contains("not watched for long enough"), "{}", held.all());
    assert!(!held.stdout.contains("planted-host"), "{}", held.stdout);
}
