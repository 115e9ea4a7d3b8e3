//! What times mean: none that the server gives has a zone.

use super::{SOURCE, config, database, scrape};
use crate::servers::{Kind, Server};

/// How a lock's remaining time is shown, if its state is this one.
fn remaining(yaml: &str, expected: (&str, &str)) -> f64 {
    let metrics = scrape(yaml);
    assert_eq!(metrics.says(SOURCE, "job"), Some(expected), "{}", metrics.text());
    metrics.known("lease_expires_in_seconds", SOURCE, "job")
}

#[test]
fn a_timestamp_column_that_an_application_filled_with_utc_needs_the_applications_session_zone() {
    let database = database();
    database.execute(
        "CREATE TABLE shedlock (name VARCHAR(64), lock_until TIMESTAMP(3) NULL, locked_at TIMESTAMP(3) NULL, \
         locked_by VARCHAR(255)); \
         SET time_zone = '+09:00'; \
         INSERT INTO shedlock VALUES ('job', UTC_TIMESTAMP(3) + INTERVAL 300 SECOND, UTC_TIMESTAMP(3), 'host')",
    );
    let query = "SELECT UTC_TIMESTAMP(3) AS store_now, name AS lease, locked_by AS holder, locked_at AS renewed_at, \
        lock_until AS expires_at FROM shedlock";
    let right =
        remaining(&config(&database, "session_time_zone: '+09:00'", query), ("unknown", "progress_not_reported"));
    assert!((200.0..=300.0).contains(&right), "{right}");
    // Without it the lock is read nine hours early, and looks as if it had ended long ago.
    let wrong = remaining(&config(&database, "", query), ("no_leader", "expired"));
    assert!((-32_200.0..=-32_000.0).contains(&wrong), "{wrong}");
}

#[test]
fn a_wall_clock_of_a_declared_zone_is_read_as_such_beside_the_sessions_clock() {
    let database = database();
    database.execute(
        "CREATE TABLE held (until DATETIME(6)); SET time_zone = '-03:30'; \
         INSERT INTO held VALUES (NOW(6) + INTERVAL 300 SECOND)",
    );
    let query = "SELECT NOW(6) AS store_now, 'job' AS lease, 'x' AS holder, until AS expires_at FROM held";
    let zones = "time_zone: '-03:30'\nsession_time_zone: '-03:30'";
    let yaml = config(&database, zones, query);
    let left = remaining(&yaml, ("unknown", "progress_not_reported"));
    assert!((200.0..=300.0).contains(&left), "{left}");
    let offset = scrape(&yaml).source("lease_source_clock_offset_seconds", SOURCE).unwrap();
    assert!(offset.abs() < 60.0, "{offset}");
}

#[test]
fn neither_the_servers_zone_nor_its_modes_change_what_is_read() {
    let server = Server::start(
        Kind::MariaDb,
        &[
            "default-time-zone=+05:00",
            "character-set-server=latin1",
            "skip-character-set-client-handshake",
            "sql-mode=ANSI_QUOTES,TRADITIONAL",
            "autocommit=OFF",
            "transaction-isolation=SERIALIZABLE",
        ],
    );
    let database = server.database();
    database.execute(
        "CREATE TABLE held (name VARCHAR(20) CHARACTER SET utf8mb4, until TIMESTAMP(6) NULL); SET time_zone = '+00:00'; \
         SET NAMES utf8mb4; INSERT INTO held VALUES ('zwölf', UTC_TIMESTAMP(6) + INTERVAL 300 SECOND); COMMIT",
    );
    let query = "SELECT NOW(6) AS store_now, name AS lease, 'hält' AS holder, until AS expires_at FROM held";
    let exporter =
        crate::harness::Exporter::start(crate::harness::store::folder().path(), &config(&database, "", query));
    let left = |metrics: &crate::harness::Metrics| metrics.known("lease_expires_in_seconds", SOURCE, "zwölf");
    let first = left(&exporter.scrape());
    assert!((200.0..=300.0).contains(&first), "{first}");
    // No transaction stays open, whose snapshot would never change; nor does a read lock anything.
    database.execute("SET innodb_lock_wait_timeout = 5; UPDATE held SET until = NOW(6) + INTERVAL 900 SECOND; COMMIT");
    let second = left(&exporter.scrape());
    assert!((800.0..=900.0).contains(&second), "{second}");
}
