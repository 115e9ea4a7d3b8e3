//! ShedLock: one lock for each task. The table has only the last start.

use std::time::Duration;

use super::cases::{Case, Sql, System, case, without_zone};

pub(super) fn system(sql: Sql) -> System {
    let schema = match sql {
        Sql::Postgres => include_str!("schema/shedlock.postgres.sql"),
        Sql::Mysql => include_str!("schema/shedlock.mysql.sql"),
    };
    System::new("shedlock", sql, &[schema], without_zone)
}

const fn every_5m(what: &'static str, rows: &'static str, says: &'static str) -> Case {
    Case { limits: "stall_after: 5m, cadence: 5m", ..case(what, rows, "report", says) }
}

#[rustfmt::skip]
pub(super) const CASES: &[Case] = &[
    case("no lock was ever taken", "", "report", "none"),
    every_5m("started 20 minutes ago and still held (case 97)",
        "INSERT INTO shedlock VALUES ('report', T+40m, T-20m, 'host-dead')", "stalled no_progress"),
    every_5m("started a minute ago and still held",
        "INSERT INTO shedlock VALUES ('report', T+40m, T-1m, 'host-a')", "active progressing"),
    every_5m("held, and the next run not yet overdue",
        "INSERT INTO shedlock VALUES ('report', T+40m, T-8m, 'host-a')", "idle nothing_due"),
    every_5m("done, and the next run not yet due",
        "INSERT INTO shedlock VALUES ('report', T-3m, T-4m, 'host-a')", "idle nothing_due"),
    every_5m("done, and four runs were missed",
        "INSERT INTO shedlock VALUES ('report', T-19m, T-20m, 'host-a')", "no_leader expired"),
    case("done, and nobody said how often it runs",
        "INSERT INTO shedlock VALUES ('report', T-19m, T-20m, 'host-a')", "report", "unknown due_unknown"),
    case("held, and nobody said how often it runs",
        "INSERT INTO shedlock VALUES ('report', T+40m, T-20m, 'host-a')", "report", "unknown due_unknown"),
    every_5m("one lock of several",
        "INSERT INTO shedlock VALUES ('cleanup', T-19m, T-20m, 'host-a'), ('report', T+40m, T-1m, 'host-b')",
        "active progressing"),
    every_5m("locked in three minutes' time",
        "INSERT INTO shedlock VALUES ('report', T+40m, T+3m, 'host-b')", "unknown clock_skew"),
    every_5m("held by nobody",
        "INSERT INTO shedlock VALUES ('report', T+40m, T-1m, '')", "idle nothing_due"),
];

const SERVERS: [Sql; 2] = [Sql::Postgres, Sql::Mysql];

#[test]
fn shedlock_states_follow_the_last_start_and_the_cadence() {
    for sql in SERVERS {
        system(sql).check(CASES);
    }
}

#[test]
fn lock_taken_by_a_clock_that_is_ahead_is_clock_skew_case_70() {
    for sql in SERVERS {
        let shedlock = system(sql);
        shedlock.store("INSERT INTO shedlock VALUES ('report', T+40m, T-1s, 'host-a')");
        let mut reader = shedlock.reader("", "stall_after: 5m, cadence: 5m");
        assert_eq!(reader.says("report"), "active progressing");
        shedlock.store("INSERT INTO shedlock VALUES ('report', T+43m, T+3m, 'host-b')");
        assert_eq!(reader.says("report"), "unknown clock_skew");
    }
}

#[test]
fn run_between_two_readings_counts_as_a_start() {
    for sql in SERVERS {
        let shedlock = system(sql);
        let mut reader = shedlock.reader("", "stall_after: 5m, cadence: 5m");
        shedlock.store("INSERT INTO shedlock VALUES ('report', T-7m, T-8m, 'host-a')");
        assert_eq!(reader.says("report"), "idle nothing_due");
        reader.later(Duration::from_secs(60));
        shedlock.store("INSERT INTO shedlock VALUES ('report', T-10s, T-20s, 'host-b')");
        assert_eq!(reader.says("report"), "idle nothing_due");
    }
}

#[test]
fn times_of_another_zone_are_read_by_the_zone_that_is_declared() {
    let rows = "INSERT INTO shedlock VALUES ('report', T+580m, T+520m, 'host-a')";
    for (source, says) in [("time_zone: '+09:00'", "stalled no_progress"), ("time_zone: UTC", "unknown clock_skew")] {
        for sql in SERVERS {
            let shedlock = system(sql);
            shedlock.store(rows);
            assert_eq!(
                shedlock.reader(source, "stall_after: 5m, cadence: 5m").says("report"),
                says,
                "{sql:?} {source}"
            );
        }
    }
}

/// An application in Tokyo writes UTC into a TIMESTAMP column. The server reads it as Tokyo time and returns the written
/// value only in Tokyo sessions.
#[test]
fn utc_written_from_a_session_of_another_zone_reads_right_in_that_zone_alone() {
    let shedlock = system(Sql::Mysql);
    shedlock.database.execute(
        "SET time_zone = '+09:00'; INSERT INTO shedlock VALUES
         ('report', UTC_TIMESTAMP(3) + INTERVAL 30 SECOND, UTC_TIMESTAMP(3) - INTERVAL 20 SECOND, 'host-a')",
    );
    let limits = "stall_after: 5m, cadence: 5m";
    assert_eq!(shedlock.reader("session_time_zone: '+09:00'", limits).says("report"), "active progressing");
    assert_eq!(shedlock.reader("", limits).says("report"), "no_leader expired");
}

#[test]
fn a_column_with_a_zone_is_read_as_what_it_is() {
    let shedlock = system(Sql::Postgres);
    shedlock
        .database
        .execute("ALTER TABLE shedlock ALTER lock_until TYPE timestamptz, ALTER locked_at TYPE timestamptz");
    shedlock.database.execute(
        "INSERT INTO shedlock VALUES ('report', now() + interval '1 hour', now() - interval '20 s', 'host-a')",
    );
    assert_eq!(shedlock.reader("", "cadence: 5m").says("report"), "active progressing");
}

#[test]
fn impossible_time_affects_only_its_own_lock() {
    let shedlock = system(Sql::Postgres);
    shedlock.database.execute("ALTER TABLE shedlock ALTER locked_at DROP NOT NULL, ALTER lock_until DROP NOT NULL");
    shedlock.store(
        "INSERT INTO shedlock VALUES ('infinite', 'infinity', 'infinity', 'host-a'), ('early', T+1m, '1960-01-01', 'host-a'),
         ('never', T+1m, NULL, 'host-a'), ('endless', NULL, T-1m, 'host-a'), ('report', T+40m, T-1m, 'host-a')",
    );
    let mut reader = shedlock.reader("", "cadence: 5m");
    for (lease, says) in [
        ("infinite", "unknown invalid_record"),
        ("early", "unknown invalid_record"),
        ("never", "unknown not_observed_yet"),
        ("endless", "unknown invalid_record"),
        ("report", "active progressing"),
    ] {
        assert_eq!(reader.says(lease), says, "{lease}");
    }
}
