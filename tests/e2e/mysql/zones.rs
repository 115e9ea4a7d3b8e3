//! Time zones: the times of the server have none.

use super::{SOURCE, complaint, config, database, scrape};
use crate::servers::{Kind, Server};

/// The remaining time of a lock in a given state.
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
    // Without the zone, the lock is read as nine hours earlier and appears expired.
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
    // No transaction stays open, so that snapshots are new, and a reading locks nothing.
    database.execute("SET innodb_lock_wait_timeout = 5; UPDATE held SET until = NOW(6) + INTERVAL 900 SECOND; COMMIT");
    let second = left(&exporter.scrape());
    assert!((800.0..=900.0).contains(&second), "{second}");
}

#[test]
fn a_session_zone_with_summer_time_reads_right_in_both_halves_of_the_year_once_the_server_knows_it() {
    let server = Server::start(Kind::MariaDb, &[]);
    let database = server.database();
    let query = |part: &str| {
        format!(
            "SELECT UTC_TIMESTAMP(6) AS store_now, name AS lease, 'x' AS holder, renewed AS acquired_at FROM {part}"
        )
    };
    let berlin = "session_time_zone: Europe/Berlin";
    database.execute(
        "CREATE TABLE half (name VARCHAR(9), renewed TIMESTAMP NULL); \
         CREATE VIEW both_halves AS SELECT name, renewed FROM half",
    );
    let told = complaint(&config(&database, berlin, &query("half")));
    assert!(
        told.starts_with("(store_refused): the server does not know the zone") && told.contains("tzinfo"),
        "{told}"
    );
    let told = complaint(&config(&database, "session_time_zone: '+14:30'", &query("half")));
    assert!(
        told.starts_with("(store_refused): the server does not know the zone") && told.contains("offset"),
        "{told}"
    );

    database.execute(BERLIN);
    // The value that an application in Berlin stores if it writes UTC, at noon.
    database.execute(
        "SET time_zone = 'Europe/Berlin'; \
         INSERT INTO half VALUES ('winter', '2024-01-15 12:00:00'), ('summer', '2024-07-15 12:00:00')",
    );
    let metrics = scrape(&config(&database, berlin, &query("both_halves")));
    for (half, noon) in [("winter", 1_705_320_000.0), ("summer", 1_721_044_800.0)] {
        assert_eq!(metrics.of("lease_acquired_timestamp_seconds", SOURCE, half), Some(noon), "{}", metrics.text());
    }
}

/// The rows that `mysql_tzinfo_to_sql` loads, for the changes of one year.
const BERLIN: &str = "USE mysql; \
    INSERT INTO time_zone (Time_zone_id, Use_leap_seconds) VALUES (7, 'N'); \
    INSERT INTO time_zone_name VALUES ('Europe/Berlin', 7); \
    INSERT INTO time_zone_transition_type VALUES (7, 0, 3600, 0, 'CET'), (7, 1, 7200, 1, 'CEST'); \
    INSERT INTO time_zone_transition VALUES (7, 1698541200, 0), (7, 1711846800, 1), (7, 1729990800, 0)";
