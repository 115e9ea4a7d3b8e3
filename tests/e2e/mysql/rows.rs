//! Rows with extreme or invalid values. Each affects only its own lease.

use super::{SOURCE, config, database};
use crate::harness::store::folder;
use crate::harness::{Exporter, promtool};
use crate::invalid_rows::{NULL_CASES, assert_null_is_unknown, rejected};
use crate::servers::Database;

/// The columns of the table, and their values for an active lease.
const COLUMNS: [(&str, &str, &str); 12] = [
    ("lease", "VARCHAR(200) CHARACTER SET utf8mb4", "'sound'"),
    ("holder", "VARCHAR(200)", "'someone'"),
    ("epoch", "BIGINT", "7"),
    ("acquired_at", "DATETIME(6)", "UTC_TIMESTAMP(6) - INTERVAL 100 SECOND"),
    ("renewed_at", "DATETIME(6)", "UTC_TIMESTAMP(6) - INTERVAL 1 SECOND"),
    ("expires_at", "DATETIME(6)", "UTC_TIMESTAMP(6) + INTERVAL 600 SECOND"),
    ("ttl_seconds", "DOUBLE", "600"),
    ("progress_at", "DATETIME(6)", "UTC_TIMESTAMP(6) - INTERVAL 2 SECOND"),
    ("progress_epoch", "BIGINT", "7"),
    ("progress_cursor", "LONGTEXT", "'41'"),
    ("due", "INT", "3"),
    ("oldest_due_at", "DATETIME(6)", "UTC_TIMESTAMP(6) - INTERVAL 1 SECOND"),
];

/// A table with one column of another type and the valid row.
fn table(database: &Database, other: (&str, &str, &str)) {
    let columns = COLUMNS.map(|column| if column.0 == other.0 { other } else { column });
    let types = columns.map(|(name, kind, _)| format!("{name} {kind}")).join(", ");
    let values = columns.map(|(.., value)| value).join(", ");
    database.execute(&format!("CREATE OR REPLACE TABLE hostile ({types}); INSERT INTO hostile SELECT {values}"));
}

/// Inserts a row that is valid except for the given columns.
fn add(database: &Database, lease: &str, changes: &str) {
    database.execute(&format!(
        "SET sql_mode = ''; CREATE TEMPORARY TABLE made AS SELECT * FROM hostile WHERE lease = 'sound'; \
         UPDATE made SET lease = '{lease}'; UPDATE made SET {changes}; INSERT INTO hostile SELECT * FROM made"
    ));
}

fn exporter(database: &Database) -> Exporter {
    let query = "SELECT UTC_TIMESTAMP(6) AS store_now, h.* FROM (SELECT 1 AS one) AS o LEFT JOIN hostile AS h ON TRUE";
    Exporter::start(folder().path(), &config(database, "", query))
}

#[test]
fn null_means_unknown_in_every_column_and_never_zero() {
    let database = database();
    table(&database, COLUMNS[0]);
    for (column, ..) in NULL_CASES {
        add(&database, column, &format!("{column} = NULL"));
    }
    let metrics = exporter(&database).scrape();
    assert_null_is_unknown(&metrics, &NULL_CASES);
    add(&database, "x", "lease = NULL");
    add(&database, "x", "lease = ''");
    let metrics = exporter(&database).scrape();
    assert_eq!(rejected(&metrics, "no_name"), 2.0);
    assert_eq!(metrics.leases(SOURCE).len(), 1 + NULL_CASES.len());
}

#[test]
fn invalid_value_affects_only_its_own_lease_and_is_counted() {
    // The column and its type, the valid and the invalid value, the reason that the row is counted under, and whether its
    // lease is known.
    let (now, long) = ("UTC_TIMESTAMP(6)", "REPEAT('x', 65536)");
    let cases = [
        (("epoch", "BIGINT", "7"), "-1", "out_of_range", true),
        (("epoch", "DECIMAL(30)", "7"), "18446744073709551616", "out_of_range", true),
        (("epoch", "DECIMAL(10,1)", "7"), "1.5", "wrong_type", true),
        (("epoch", "VARCHAR(30)", "7"), "'first'", "unreadable", true),
        (("acquired_at", "DATETIME(6)", now), "'0000-00-00'", "out_of_range", true),
        (("acquired_at", "VARCHAR(30)", now), "'yesterday'", "unreadable", true),
        (("renewed_at", "DOUBLE", "UNIX_TIMESTAMP()"), "1e300", "out_of_range", true),
        (("progress_at", "BIGINT", "UNIX_TIMESTAMP()"), "UNIX_TIMESTAMP() * 1000", "out_of_range", true),
        (("oldest_due_at", "BIGINT", "UNIX_TIMESTAMP()"), "1515700000000", "out_of_range", true),
        (("holder", "LONGTEXT", "'someone'"), long, "name_too_long", true),
        (("progress_cursor", "LONGTEXT", "'41'"), long, "out_of_range", true),
        (("due", "INT", "3"), "-5", "out_of_range", true),
        (("ttl_seconds", "DOUBLE", "600"), "0", "out_of_range", true),
        (("lease", "LONGTEXT", "'sound'"), long, "name_too_long", false),
    ];
    let database = database();
    for (column, fault, reason, told) in cases {
        table(&database, column);
        let change = format!("{} = {fault}", column.0);
        add(&database, "bad", &change);
        let exporter = exporter(&database);
        let metrics = exporter.scrape();
        assert_eq!(metrics.says(SOURCE, "sound"), Some(("active", "progressing")), "{change}");
        assert_eq!(rejected(&metrics, reason), 1.0, "{change} is not counted as {reason}:\n{}", metrics.text());
        assert_eq!(metrics.says(SOURCE, "bad"), told.then_some(("unknown", "invalid_record")), "{change}");
        assert_eq!(metrics.leases(SOURCE).len(), if told { 2 } else { 1 }, "{change}");
        assert_eq!(metrics.of("lease_epoch", SOURCE, "bad"), None, "{change}: part of a bad row is shown");
        promtool::accepts(metrics.text());
        if told {
            database.execute(&format!("UPDATE hostile SET {} = {}", column.0, column.2));
            assert_eq!(exporter.scrape().says(SOURCE, "bad"), Some(("active", "progressing")), "{change}, put right");
        }
    }
}

#[test]
fn column_of_a_wrong_type_rejects_its_rows_but_does_not_fail_the_source() {
    let database = database();
    for column in [
        ("lease", "BINARY(16)", "'sound'"),
        ("holder", "VARBINARY(9)", "'someone'"),
        ("epoch", "DATETIME(6)", "UTC_TIMESTAMP(6)"),
        ("renewed_at", "TIME(6)", "UTC_TIME(6)"),
        ("expires_at", "BLOB", "'2099-01-01'"),
        ("progress_cursor", "POINT", "POINT(1, 1)"),
    ] {
        table(&database, column);
        let metrics = exporter(&database).scrape();
        let told = (column.0 != "lease").then_some(("unknown", "invalid_record"));
        assert_eq!(metrics.says(SOURCE, "sound"), told, "{column:?}");
        assert_eq!(rejected(&metrics, "wrong_type"), 1.0, "{column:?}");
        assert_eq!(metrics.source("lease_source_up", SOURCE), Some(1.0), "{column:?}");
    }
}

#[test]
fn a_second_row_for_a_lease_leaves_it_unknown_and_the_far_future_is_no_age() {
    let database = database();
    table(&database, COLUMNS[0]);
    add(&database, "twice", "epoch = 7");
    add(&database, "twice", "epoch = 8");
    add(&database, "renewed", "renewed_at = UTC_TIMESTAMP(6) + INTERVAL 1 HOUR");
    add(&database, "endless", "expires_at = '9999-12-31 23:59:59.999999'");
    add(&database, "ancient", "acquired_at = '1000-01-01'");
    let metrics = exporter(&database).scrape();
    for unread in ["twice", "ancient"] {
        assert_eq!(metrics.says(SOURCE, unread), Some(("unknown", "invalid_record")), "{unread}");
    }
    assert_eq!(rejected(&metrics, "duplicate"), 2.0);
    assert_eq!(rejected(&metrics, "out_of_range"), 1.0);
    assert_eq!(metrics.says(SOURCE, "renewed"), Some(("unknown", "clock_skew")));
    assert_eq!(metrics.of("lease_age_seconds", SOURCE, "renewed"), None);
    for lease in ["sound", "endless"] {
        assert_eq!(metrics.says(SOURCE, lease), Some(("active", "progressing")), "{lease}");
    }
}

#[test]
fn names_with_quotes_newlines_marks_and_zero_bytes_are_shown_unchanged() {
    let names =
        ["double \" quote", "new \n line", "back \\ slash", "emoji 😀 and 日本", "zero \0 byte", "\u{202e}right"];
    let database = database();
    table(&database, COLUMNS[0]);
    for name in names {
        let hex: String = name.bytes().map(|byte| format!("{byte:02x}")).collect();
        add(&database, "x", &format!("lease = CONVERT(x'{hex}' USING utf8mb4)"));
    }
    let metrics = exporter(&database).scrape();
    for name in names {
        assert_eq!(metrics.says(SOURCE, name), Some(("active", "progressing")), "{name:?}");
    }
    promtool::accepts(metrics.text());
}
