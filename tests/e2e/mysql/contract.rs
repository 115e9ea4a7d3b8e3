//! The query contract: every deviation is reported by name, and nothing is written.

use super::{SOURCE, STEADY, complaint, config, database, scrape};
use crate::harness::check;
use crate::harness::store::folder;

#[test]
fn every_deviation_of_a_query_from_the_contract_is_reported_by_name_and_nothing_is_written() {
    let database = database();
    database.execute("CREATE TABLE job (name VARCHAR(20), beat DOUBLE); INSERT INTO job VALUES ('nightly', 1000)");
    let name = database.name();
    let no_table = format!("there is no table `{name}.jobs`");
    let no_routine = format!("there is no routine `{name}.nosuch`");
    let no_select = "would write";
    let cases = [
        ("SELECT NOW() AS store_now, name AS lease, beat AS last_beat FROM job", "schema_mismatch", "`last_beat`"),
        ("SELECT name AS lease, beat AS renewed_at FROM job", "schema_mismatch", "`store_now`"),
        ("SELECT NOW() AS store_now, 1 AS due, 2 AS due", "schema_mismatch", "the column `due` twice"),
        ("SELECT NOW() AS store_now, COUNT(*) FROM job", "schema_mismatch", "an expression as column 2"),
        ("SELECT NOW() AS store_now, name AS lease FROM jobs", "schema_mismatch", no_table.as_str()),
        ("SELECT NOW() AS store_now, title AS lease FROM job", "schema_mismatch", "there is no column `title`"),
        ("SELECT nosuch() AS store_now", "schema_mismatch", no_routine.as_str()),
        ("SELEC NOW() AS store_now", "schema_mismatch", "syntax error, at line 1"),
        ("SELECT NOW() AS store_now\nFORM job", "schema_mismatch", "syntax error, at line 2"),
        ("SELECT NOW() AS store_now; DELETE FROM job", "schema_mismatch", "one SELECT"),
        ("SELECT ? AS store_now", "schema_mismatch", "has parameters"),
        ("INSERT INTO job VALUES ('x', 1)", "schema_mismatch", no_select),
        ("INSERT INTO job VALUES ('x', 1) RETURNING 1000 AS store_now", "schema_mismatch", "the query would write"),
        ("DELETE FROM job RETURNING 1000 AS store_now, name AS lease", "schema_mismatch", "the query would write"),
        ("UPDATE job SET name = 'x'", "schema_mismatch", no_select),
        ("DROP TABLE job", "schema_mismatch", no_select),
        ("TRUNCATE job", "schema_mismatch", no_select),
        ("ALTER TABLE job ADD COLUMN more INT", "schema_mismatch", no_select),
        ("CREATE TEMPORARY TABLE more (a INT)", "schema_mismatch", no_select),
        ("SET @a = 1", "schema_mismatch", no_select),
        ("COMMIT", "schema_mismatch", no_select),
        ("SELECT NOW() INTO @store_now", "schema_mismatch", no_select),
        ("SELECT NOW() AS store_now FROM job FOR UPDATE", "schema_mismatch", "the query would write"),
        ("-- nothing", "schema_mismatch", no_select),
        ("SELECT NOW() AS store_now FROM job WHERE name = 'none'", "invalid_record", "returned no row"),
        ("SELECT NULL AS store_now, name AS lease FROM job", "invalid_record", "`store_now` is NULL"),
        ("SELECT 'soon' AS store_now", "invalid_record", "`store_now` is unreadable"),
        ("SELECT x'00' AS store_now", "invalid_record", "`store_now` is wrong_type"),
        ("SELECT 1e300 AS store_now", "invalid_record", "`store_now` is out_of_range"),
        ("SELECT UNIX_TIMESTAMP() * 1000 AS store_now", "invalid_record", "`store_now` is out_of_range"),
        (
            "SELECT NOW() AS store_now, CAST(1 AS UNSIGNED) - 2 AS due",
            "invalid_record",
            "fails on a stored value (1690)",
        ),
        ("SELECT NOW() AS store_now, (SELECT 1 UNION SELECT 2) AS due", "invalid_record", "more than one row"),
    ];
    // Neither the owner nor the reader can write through the exporter.
    for (who, login) in [("owner", database.owner()), ("reader", database.reader())] {
        for (query, reason, told) in cases {
            let yaml = config(&database, "", query)
                .replace(database.url(), login.url())
                .replace(&database.password_file().display().to_string(), &login.password_file().display().to_string());
            let complaint = complaint(&yaml);
            // The server reports a missing right first.
            let denied =
                who == "reader" && ["no right", "may not run", "would write"].iter().any(|no| complaint.contains(no));
            let expected = complaint.contains(&format!("({reason})")) && complaint.contains(told);
            assert!(expected || denied, "{who}: {query}: {complaint}");
            assert_eq!(database.query("SELECT * FROM job"), "nightly\t1000", "{who}: {query} changed the store");
        }
    }
    assert_eq!(database.query("SHOW TABLES"), "job");
}

#[test]
fn deviation_is_reported_by_a_scrape_as_by_check() {
    let database = database();
    let yaml = config(&database, "", "SELECT NOW() AS store_now, name AS lease FROM job");
    let metrics = scrape(&(yaml + "leases:\n  - match: { lease: nightly }\n"));
    assert_eq!(metrics.says(SOURCE, "nightly"), Some(("unknown", "schema_mismatch")));
    assert_eq!(metrics.source("lease_source_up", SOURCE), Some(0.0));
}

#[test]
fn a_query_that_keeps_the_contract_is_read_and_its_clock_is_the_servers() {
    let database = database();
    let whole = check(folder().path(), &config(&database, "", STEADY));
    assert_eq!(whole.code, Some(0), "{}", whole.all());
    assert!(whole.stdout.contains("read: 1 leases in 1 rows") && !whole.stdout.contains("not "), "{}", whole.stdout);
    let metrics = scrape(&config(&database, "", &STEADY.replace("'steady' AS lease, ", "")));
    assert_eq!(metrics.says(SOURCE, SOURCE), Some(("active", "progressing")));
    let offset = metrics.source("lease_source_clock_offset_seconds", SOURCE).unwrap();
    assert!(offset.abs() < 60.0, "{offset}");
}

#[test]
fn query_that_returns_only_the_clock_has_no_lease_and_is_up() {
    let database = database();
    database.execute("CREATE TABLE job (name VARCHAR(20))");
    let query =
        "SELECT UTC_TIMESTAMP(6) AS store_now, j.name AS lease FROM (SELECT 1 AS one) AS o LEFT JOIN job AS j ON TRUE";
    let metrics = scrape(&config(&database, "", query));
    assert_eq!(metrics.leases(SOURCE), Vec::<&str>::new());
    assert_eq!(metrics.source("lease_source_up", SOURCE), Some(1.0));
}

#[test]
fn error_text_of_a_database_function_is_not_shown() {
    let database = database();
    database.execute(&format!(
        "CREATE TABLE secret (word VARCHAR(9)); INSERT INTO secret VALUES ('90210');\nDELIMITER //\n\
         CREATE FUNCTION complain(number INT, start TEXT, rest TEXT) RETURNS INT READS SQL DATA BEGIN \
         DECLARE told TEXT DEFAULT CONCAT(start, (SELECT word FROM secret), rest); \
         SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = number, MESSAGE_TEXT = told; RETURN 1; END//\nDELIMITER ;\n\
         GRANT EXECUTE ON {}.* TO {}@'%';",
        database.name(),
        database.reader().name()
    ));
    for (number, start, rest) in [
        (1146, "Table \\'", "\\' does not exist"),
        (1054, "Unknown column \\'", "\\' in \\'SELECT\\'"),
        (1305, "FUNCTION ", " does not exist"),
        (1142, "SELECT command denied to user \\'x\\' for table ", ""),
        (1064, "near \\'\\' at line ", ""),
        (4711, "", ""),
    ] {
        let query = format!("SELECT UTC_TIMESTAMP(6) AS store_now, complain({number}, '{start}', '{rest}') AS epoch");
        let complaint = complaint(&config(&database, "", &query));
        assert!(complaint.starts_with("(schema_mismatch)") || complaint.starts_with("(store_refused)"), "{complaint}");
        assert!(!complaint.contains("90210"), "{number}: {complaint}");
    }
}
