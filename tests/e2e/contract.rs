//! The query contract: `check` and the log name every deviation.

use super::harness::store::{STEADY, database, folder};
use super::harness::{Exporter, check};

fn config(query: &str) -> String {
    let query = query.replace('\n', "\n      ");
    format!("sources:\n  - name: own\n    store: sqlite://own.db\n    reuse_for: 0s\n    query: |-\n      {query}\n")
}

#[test]
fn every_deviation_of_a_query_from_the_contract_is_reported_by_name() {
    let folder = folder();
    let connection = database(
        &folder.path().join("own.db"),
        "CREATE TABLE job (name TEXT, beat REAL); INSERT INTO job VALUES ('nightly', 1000)",
    );
    let untouched = |after: &str| {
        let jobs: (i64, String) = connection
            .query_row("SELECT count(*), max(name) FROM job", [], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap();
        assert_eq!(jobs, (1, "nightly".to_owned()), "{after} changed the store");
    };
    for (query, reason, told) in [
        (
            "SELECT unixepoch() AS store_now, name AS lease, beat AS last_beat FROM job",
            "schema_mismatch",
            "`last_beat`",
        ),
        ("SELECT name AS lease, beat AS renewed_at FROM job", "schema_mismatch", "`store_now`"),
        ("SELECT unixepoch() AS store_now, 1 AS due, 2 AS due", "schema_mismatch", "the column `due` twice"),
        ("SELECT unixepoch() AS store_now, name AS lease FROM jobs", "schema_mismatch", "no such table: jobs"),
        ("SELECT unixepoch() AS store_now, title AS lease FROM job", "schema_mismatch", "no such column: title"),
        ("SELECT now() AS store_now", "schema_mismatch", "no such function: now"),
        ("SELEC unixepoch() AS store_now", "schema_mismatch", "syntax error"),
        ("INSERT INTO job VALUES ('x', 1) RETURNING 1000 AS store_now", "schema_mismatch", "the query would write"),
        ("UPDATE job SET name = 'x' RETURNING 1000 AS store_now", "schema_mismatch", "the query would write"),
        ("DELETE FROM job RETURNING 1000 AS store_now, name AS lease", "schema_mismatch", "the query would write"),
        ("DROP TABLE job", "schema_mismatch", "the query would write"),
        ("-- nothing", "schema_mismatch", "`store_now`"),
        ("SELECT unixepoch() AS store_now; DELETE FROM job", "schema_mismatch", "one SELECT"),
        ("SELECT ?1 AS store_now", "schema_mismatch", "has parameters"),
        ("SELECT unixepoch() AS store_now FROM job WHERE name = 'none'", "invalid_record", "returned no row"),
        ("SELECT NULL AS store_now, name AS lease FROM job", "invalid_record", "`store_now` is NULL"),
        ("SELECT 'soon' AS store_now", "invalid_record", "`store_now` is unreadable"),
        ("SELECT x'00' AS store_now", "invalid_record", "`store_now` is wrong_type"),
        ("SELECT 9e999 AS store_now", "invalid_record", "`store_now` is out_of_range"),
        ("SELECT unixepoch() * 1000 AS store_now", "invalid_record", "`store_now` is out_of_range"),
    ] {
        let yaml = config(query);
        let check = check(folder.path(), &yaml);
        assert_eq!(check.code, Some(2), "{query}: {}", check.all());
        let line = check.stdout.lines().find(|line| line.contains("cannot be read")).unwrap_or_default();
        assert!(line.contains(&format!("({reason})")) && line.contains(told), "{query}: {}", check.all());
        assert!(check.stderr.is_empty(), "{query}: {}", check.stderr);
        untouched(query);
    }
}

#[test]
fn deviation_is_reported_by_a_scrape_as_by_check() {
    let folder = folder();
    database(&folder.path().join("own.db"), "CREATE TABLE job (name)");
    let yaml = config("DELETE FROM job RETURNING 1000 AS store_now, name AS lease")
        + "leases:\n  - match: { lease: nightly }\n";
    let exporter = Exporter::start(folder.path(), &yaml);
    let metrics = exporter.scrape();
    assert_eq!(metrics.says("own", "nightly"), Some(("unknown", "schema_mismatch")));
    assert_eq!(metrics.source("lease_source_up", "own"), Some(0.0));
    exporter.process().stderr.wait_for("the query would write");
}

#[test]
fn check_of_a_valid_query_names_the_columns_that_it_lacks() {
    let folder = folder();
    database(&folder.path().join("own.db"), "CREATE TABLE job (name)");
    let whole = check(folder.path(), &config(STEADY));
    assert_eq!(whole.code, Some(0), "{}", whole.all());
    assert!(whole.stdout.contains("read: 1 leases in 1 rows") && !whole.stdout.contains("not "), "{}", whole.stdout);
    let bare = check(folder.path(), &config("SELECT unixepoch() AS store_now, 'a' AS lease, 'b' AS holder"));
    assert_eq!(bare.code, Some(0), "{}", bare.all());
    for missing in ["progress", "due work", "expiry", "epochs"] {
        assert!(bare.stdout.contains(&format!("not reported: {missing}")), "{}", bare.stdout);
    }
}

#[test]
fn a_query_without_a_lease_column_reads_one_lease_of_the_sources_name() {
    let folder = folder();
    database(&folder.path().join("own.db"), "CREATE TABLE job (name)");
    let exporter = Exporter::start(folder.path(), &config(&STEADY.replace("'steady' AS lease, ", "")));
    let metrics = exporter.scrape();
    assert_eq!(metrics.leases("own"), ["own"]);
    assert_eq!(metrics.says("own", "own"), Some(("active", "progressing")));
}

#[test]
fn query_that_returns_only_the_clock_has_no_lease_and_is_up() {
    let folder = folder();
    database(&folder.path().join("own.db"), "CREATE TABLE job (name)");
    let query = "SELECT unixepoch() AS store_now, j.name AS lease FROM (SELECT 1) LEFT JOIN job AS j";
    let exporter = Exporter::start(folder.path(), &config(query));
    let metrics = exporter.scrape();
    assert_eq!(metrics.leases("own"), Vec::<&str>::new());
    assert_eq!(metrics.source("lease_source_leases", "own"), Some(0.0));
    assert_eq!(metrics.source("lease_source_up", "own"), Some(1.0));
}
