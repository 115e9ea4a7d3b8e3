//! Every column type that the contract accepts, as the server sends it.

use super::{config, database, scrape, source};
use crate::harness::Metrics;
use crate::servers::Database;

/// Scrapes a source for each value, named by its index. The column `column` is read from a table column of this type
/// with the value, beside a holder.
fn scraped(database: &Database, column: &str, values: &[(&str, &str)]) -> Metrics {
    let mut yaml = "sources:\n".to_owned();
    for (at, (kind, value)) in values.iter().enumerate() {
        database.execute(&format!(
            "SET sql_mode = ''; CREATE TABLE {column}{at} (v {kind}); INSERT INTO {column}{at} VALUES ({value})"
        ));
        let holder = if column == "holder" { "" } else { "'someone' AS holder, " };
        let query = format!("SELECT UTC_TIMESTAMP(6) AS store_now, {holder}v AS {column} FROM {column}{at}");
        yaml += &source(&format!("s{at}"), database, "", &query);
    }
    scrape(&yaml)
}

#[test]
fn an_epoch_may_be_of_any_type_that_holds_whole_numbers_and_is_shown_to_the_digit() {
    let values = [
        ("TINYINT", "7", "7"),
        ("BOOLEAN", "TRUE", "1"),
        ("TINYINT(1) UNSIGNED", "255", "255"),
        ("TINYINT UNSIGNED", "200", "200"),
        ("SMALLINT", "32767", "32767"),
        ("SMALLINT UNSIGNED", "65535", "65535"),
        ("MEDIUMINT", "8388607", "8388607"),
        ("MEDIUMINT UNSIGNED ZEROFILL", "77", "77"),
        ("INT", "2147483647", "2147483647"),
        ("INT UNSIGNED", "4294967295", "4294967295"),
        ("BIGINT", "9007199254740993", "9007199254740993"),
        ("BIGINT UNSIGNED", "18446744073709551615", "18446744073709551615"),
        ("DECIMAL(20)", "18446744073709551615", "18446744073709551615"),
        ("DECIMAL(20,3)", "9007199254740993", "9007199254740993"),
        ("BIT(10)", "b'1000000001'", "513"),
        ("YEAR", "2026", "2026"),
        ("VARCHAR(30)", "'18446744073709551615'", "18446744073709551615"),
        ("ENUM('41','42')", "'42'", "42"),
    ];
    let database = database();
    let metrics = scraped(&database, "epoch", &values.map(|(kind, value, _)| (kind, value)));
    for (at, (kind, _, digits)) in values.iter().enumerate() {
        let source = format!("s{at}");
        let shown = metrics.text_of("lease_epoch", &[("source", &source), ("lease", &source)]);
        assert_eq!(shown, Some(*digits), "{kind}");
    }
}

#[test]
fn a_holder_may_be_of_any_type_that_holds_text_and_binary_strings_are_none() {
    let text = [
        ("CHAR(9)", "'one'"),
        ("VARCHAR(9) CHARACTER SET latin1", "'zwölf'"),
        ("VARCHAR(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "'🦀'"),
        ("TEXT", "'one'"),
        ("ENUM('one','two')", "'two'"),
        ("SET('one','two')", "'one,two'"),
        ("UUID", "UUID()"),
        ("INET4", "'10.0.0.1'"),
        ("INET6", "'::1'"),
        ("JSON", "'{}'"),
        ("BIGINT", "7"),
    ];
    let binary = [
        ("BINARY(16)", "UNHEX(REPLACE(UUID(), '-', ''))"),
        ("VARBINARY(9)", "'one'"),
        ("BLOB", "'one'"),
        ("POINT", "POINT(1, 1)"),
        ("DOUBLE", "1.5"),
        ("TIME", "'10:00'"),
        ("DATETIME", "NOW()"),
    ];
    let database = database();
    let metrics = scraped(&database, "holder", &[&text[..], &binary].concat());
    for (at, (kind, _)) in text.iter().chain(&binary).enumerate() {
        let source = format!("s{at}");
        let rejected = metrics.counted("lease_source_rows_rejected_total", &source, "wrong_type");
        assert_eq!(rejected, f64::from(u8::from(at >= text.len())), "{kind}");
        assert_eq!(metrics.of("lease_holders", &source, &source).is_some(), at < text.len(), "{kind}");
    }
}

#[test]
fn a_time_may_be_of_any_type_that_holds_times_or_seconds() {
    let time = "2026-11-30 12:00:00.25";
    let (day, quarter) = ("1795996800", "1796040000.25");
    let values = [
        ("DATETIME(6)", format!("'{time}'"), quarter),
        ("TIMESTAMP(6) NULL", format!("'{time}'"), quarter),
        ("DATETIME", format!("'{time}'"), "1796040000"),
        ("DATE", format!("'{time}'"), day),
        ("BIGINT", day.to_owned(), day),
        ("INT UNSIGNED", day.to_owned(), day),
        ("DECIMAL(20,6)", quarter.to_owned(), quarter),
        ("DOUBLE", quarter.to_owned(), quarter),
        ("VARCHAR(30)", format!("'{time}'"), quarter),
        ("DATETIME", "'1970-01-02'".to_owned(), "86400"),
    ];
    let database = database();
    database.execute("SET GLOBAL time_zone = '+00:00'");
    let given: Vec<_> = values.iter().map(|(kind, value, _)| (*kind, value.as_str())).collect();
    let metrics = scraped(&database, "acquired_at", &given);
    for (at, (kind, _, seconds)) in values.iter().enumerate() {
        let source = format!("s{at}");
        let shown = metrics.of("lease_acquired_timestamp_seconds", &source, &source);
        assert_eq!(shown, Some(seconds.parse().unwrap()), "{kind}");
    }
}

#[test]
fn a_zero_date_is_a_fault_and_not_null() {
    let values = [
        ("DATETIME", "'0000-00-00'"),
        ("DATE", "'2026-00-10'"),
        ("TIMESTAMP NULL", "'0000-00-00'"),
        ("DATETIME", "NULL"),
    ];
    let database = database();
    let metrics = scraped(&database, "renewed_at", &values);
    for (at, (kind, value)) in values.iter().enumerate() {
        let rejected = metrics.counted("lease_source_rows_rejected_total", &format!("s{at}"), "out_of_range");
        assert_eq!(rejected, f64::from(u8::from(*value != "NULL")), "{kind} {value}");
    }
}

#[test]
fn time_to_live_and_counts_may_be_decimals_as_sums_are() {
    let database = database();
    database.execute("CREATE TABLE job (name VARCHAR(9), late BOOLEAN); INSERT INTO job VALUES ('a', 1), ('b', 1)");
    let query = "SELECT UTC_TIMESTAMP(6) AS store_now, 'x' AS holder, UTC_TIMESTAMP(6) AS renewed_at, \
        12.5 AS ttl_seconds, SUM(late) AS due FROM job";
    let metrics = scrape(&config(&database, "", query));
    assert_eq!(metrics.known("lease_due", "own", "own"), 2.0);
    let left = metrics.known("lease_expires_in_seconds", "own", "own");
    assert!((12.0..=12.5).contains(&left), "{left}");
}
