//! Queries that violate the contract.

use super::{config, refused};
use crate::harness::store::folder;
use crate::servers;

#[test]
fn every_deviation_of_a_query_from_the_contract_is_reported_by_name() {
    let (folder, database) = (folder(), servers::postgres().database());
    database.execute(
        "CREATE TABLE job (name text, beat float8, secret text); INSERT INTO job VALUES ('nightly', 1, 'planted')",
    );
    for (query, reason, told) in [
        ("SELECT now() AS store_now, name AS lease, beat AS last_beat FROM job", "schema_mismatch", "`last_beat`"),
        ("SELECT name AS lease FROM job", "schema_mismatch", "`store_now`"),
        ("SELECT now() AS store_now, 1 AS due, 2 AS due", "schema_mismatch", "the column `due` twice"),
        ("SELECT now() AS store_now, 1 AS other WHERE false", "schema_mismatch", "`other`"),
        ("SELECT now() AS store_now FROM jobs", "schema_mismatch", "relation \"jobs\" does not exist"),
        ("SELECT now() AS store_now, title AS lease FROM job", "schema_mismatch", "column \"title\" does not exist"),
        ("SELECT unixepoch() AS store_now", "schema_mismatch", "function unixepoch() does not exist"),
        ("SELEC now() AS store_now", "schema_mismatch", "syntax error"),
        ("SELECT now() AS store_now; DELETE FROM job", "schema_mismatch", "more than one statement"),
        ("SELECT $1::float8 AS store_now", "schema_mismatch", "has parameters"),
        ("COMMIT", "schema_mismatch", "must be one SELECT"),
        ("SET default_transaction_read_only = off", "schema_mismatch", "must be one SELECT"),
        ("SELECT now() AS store_now FROM job WHERE name = 'none'", "invalid_record", "returned no row"),
        ("SELECT NULL AS store_now", "invalid_record", "`store_now` is NULL"),
        ("SELECT 'infinity'::timestamptz AS store_now", "invalid_record", "`store_now` is out_of_range"),
        ("SELECT now() AS store_now, secret::int AS due FROM job", "invalid_record", "(22P02)"),
        ("SELECT now() AS store_now, pg_sleep(30)::text AS lease", "store_timeout", "time"),
    ] {
        let line = refused(folder.path(), &config(&database, "timeout: 2s", query));
        assert!(line.contains(&format!("({reason})")) && line.contains(told), "{query}: {line}");
        assert!(!line.contains("planted"), "{line}");
    }
}

#[test]
fn nothing_can_be_written_even_by_a_user_with_write_access() {
    let (folder, database) = (folder(), servers::postgres().database());
    database.execute("CREATE TABLE job (name text); CREATE SEQUENCE numbers");
    database.execute(&format!(
        "GRANT ALL ON ALL TABLES IN SCHEMA public TO {0}; GRANT ALL ON ALL SEQUENCES IN SCHEMA \
        public TO {0}",
        database.reader().name()
    ));
    for query in [
        "INSERT INTO job VALUES ('x') RETURNING now() AS store_now",
        "WITH gone AS (DELETE FROM job RETURNING 1) SELECT now() AS store_now",
        "TRUNCATE job",
        "DROP TABLE job",
        "CREATE TABLE other (x int)",
        "SELECT now() AS store_now, nextval('numbers')::text AS lease",
        "SELECT now() AS store_now, name AS lease FROM job FOR UPDATE",
    ] {
        let line = refused(folder.path(), &config(&database, "", query));
        assert!(line.contains("(schema_mismatch)") && line.contains("would write"), "{query}: {line}");
    }
}
