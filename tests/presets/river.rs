//! River: the leader, and the jobs that it makes available when they are due.

use super::cases::{Case, Sql, System, case, with_zone};
use super::servers;
use super::source_reader::{SourceReader, configuration};

const LEADS: &str = "INSERT INTO river_leader (elected_at, expires_at, leader_id) VALUES (T-3d, T+12s, 'host-a_2026');";

pub(super) fn system() -> System {
    System::new("river", Sql::Postgres, &[include_str!("schema/river.postgres.sql")], with_zone)
}

#[rustfmt::skip]
pub(super) const CASES: &[Case] = &[
    case("no leader, nothing to do", "", "river", "no_leader absent"),
    case("no leader, jobs overdue",
        "INSERT INTO river_job (state, scheduled_at) VALUES ('scheduled', T-40m)",
        "river", "no_leader absent"),
    case("a leader whose time is up (case 23)",
        "INSERT INTO river_leader (elected_at, expires_at, leader_id) VALUES (T-3d, T-525s, 'host-a')",
        "river", "no_leader expired"),
    case("a leader and no jobs",
        "INSERT INTO river_leader (elected_at, expires_at, leader_id) VALUES (T-3d, T+12s, 'host-a')",
        "river", "idle nothing_due"),
    case("five jobs scheduled 40 minutes ago (case 21)",
        "INSERT INTO river_leader (elected_at, expires_at, leader_id) VALUES (T-3d, T+12s, 'host-a');
         INSERT INTO river_job (state, created_at, scheduled_at)
         SELECT 'scheduled', T-1d, T-40m FROM generate_series(1, 5)",
        "river", "stalled never_progressed"),
    case("the same, and an older job that the leader had moved",
        "INSERT INTO river_leader (elected_at, expires_at, leader_id) VALUES (T-3d, T+12s, 'host-a');
         INSERT INTO river_job (state, created_at, scheduled_at) VALUES ('retryable', T-1d, T-40m);
         INSERT INTO river_job (state, created_at, scheduled_at, attempted_at, finalized_at, attempt, attempted_by)
         VALUES ('completed', T-4h, date_trunc('second', T-2h), T-7199s, T-7190s, 1, '{host-b}')",
        "river", "stalled no_progress"),
    case("jobs that wait to be retried, not yet due",
        "INSERT INTO river_leader (elected_at, expires_at, leader_id) VALUES (T-3d, T+12s, 'host-a');
         INSERT INTO river_job (state, created_at, scheduled_at) VALUES ('retryable', T-1d, T+40m)",
        "river", "idle nothing_due"),
    case("a job scheduled ahead that has just been run",
        "INSERT INTO river_leader (elected_at, expires_at, leader_id) VALUES (T-3d, T+12s, 'host-a');
         INSERT INTO river_job (state, created_at, scheduled_at, attempted_at, finalized_at, attempt, attempted_by)
         VALUES ('completed', T-1h, date_trunc('second', T-30s), T-29s, T-20s, 1, '{host-b}')",
        "river", "active progressing"),
    case("jobs that somebody ran by hand before their time, while others are overdue",
        "INSERT INTO river_leader (elected_at, expires_at, leader_id) VALUES (T-3d, T+12s, 'host-a');
         INSERT INTO river_job (state, created_at, scheduled_at) VALUES ('scheduled', T-1d, T-40m);
         INSERT INTO river_job (state, created_at, scheduled_at, attempted_at, finalized_at, attempt, attempted_by)
         SELECT 'completed', T-1h, moment, moment + interval '0.1 s', T-20s, 1, '{host-b}'
         FROM (SELECT date_trunc('second', T-30s) + n * interval '1 ms' AS moment FROM generate_series(1, 9) AS n) AS retried",
        "river", "stalled never_progressed"),
    case("a job that somebody ran by hand, and nothing overdue",
        "INSERT INTO river_leader (elected_at, expires_at, leader_id) VALUES (T-3d, T+12s, 'host-a');
         INSERT INTO river_job (state, created_at, scheduled_at, attempted_at, finalized_at, attempt, attempted_by)
         VALUES ('completed', T-1h, date_trunc('second', T-30s) + interval '1 us', T-29s, T-20s, 1, '{host-b}')",
        "river", "idle nothing_due"),
    case("jobs that had been run, or called off, and that somebody ran again",
        "INSERT INTO river_leader (elected_at, expires_at, leader_id) VALUES (T-3d, T+12s, 'host-a');
         INSERT INTO river_job (state, created_at, scheduled_at) VALUES ('scheduled', T-1d, T-40m);
         INSERT INTO river_job (state, created_at, scheduled_at, attempted_at, finalized_at, attempt, attempted_by)
         VALUES ('completed', T-1h, date_trunc('second', T-30s), T-29s, T-20s, 2, '{host-b,host-b}'),
                ('completed', T-1h, date_trunc('second', T-30s) + interval '1 ms', T-29s, T-20s, 1, '{host-b}')",
        "river", "stalled never_progressed"),
    case("workers run what needs no leader, while what does is overdue",
        "INSERT INTO river_leader (elected_at, expires_at, leader_id) VALUES (T-3d, T+12s, 'host-a');
         INSERT INTO river_job (state, created_at, scheduled_at) VALUES ('scheduled', T-1d, T-40m);
         INSERT INTO river_job (state, created_at, scheduled_at, attempted_at, finalized_at, attempt, attempted_by)
         SELECT 'completed', T-30s, date_trunc('second', T-29s), T-28s, T-20s, 1, '{host-b}' FROM generate_series(1, 100)",
        "river", "stalled never_progressed"),
    case("a quick retry, which the worker puts back itself",
        "INSERT INTO river_leader (elected_at, expires_at, leader_id) VALUES (T-3d, T+12s, 'host-a');
         INSERT INTO river_job (state, created_at, scheduled_at) VALUES ('scheduled', T-1d, T-40m);
         INSERT INTO river_job (state, created_at, scheduled_at, attempted_at, finalized_at, attempt, attempted_by)
         VALUES ('completed', T-1h, date_trunc('second', T-30s), T-29s, T-20s, 2, '{host-b,host-b}'),
                ('completed', T-1h, date_trunc('second', T-30s), T-29s, T-20s, 1, '{host-b,host-b}')",
        "river", "stalled never_progressed"),
    case("a job called off before its time, which nobody moved",
        "INSERT INTO river_leader (elected_at, expires_at, leader_id) VALUES (T-3d, T+12s, 'host-a');
         INSERT INTO river_job (state, created_at, scheduled_at) VALUES ('scheduled', T-1d, T-40m);
         INSERT INTO river_job (state, created_at, scheduled_at, finalized_at) VALUES ('cancelled', T-1h, date_trunc('second', T-30s), T-1h)",
        "river", "stalled never_progressed"),
    case("a job put off by its worker and called off before its time",
        "INSERT INTO river_leader (elected_at, expires_at, leader_id) VALUES (T-3d, T+12s, 'host-a');
         INSERT INTO river_job (state, created_at, scheduled_at) VALUES ('scheduled', T-1d, T-40m);
         INSERT INTO river_job (state, created_at, scheduled_at, attempted_at, finalized_at, attempt, attempted_by)
         VALUES ('cancelled', T-3h, date_trunc('second', T-30s), T-2h, T-1h, 1, '{host-b}')",
        "river", "stalled never_progressed"),
    case("the workers' backlog is none of the leader's work",
        "INSERT INTO river_leader (elected_at, expires_at, leader_id) VALUES (T-3d, T+12s, 'host-a');
         INSERT INTO river_job (state, created_at, scheduled_at)
         SELECT 'available', T-2h, T-2h FROM generate_series(1, 100)",
        "river", "idle nothing_due"),
    case("newly elected while jobs are overdue",
        "INSERT INTO river_leader (elected_at, expires_at, leader_id) VALUES (T-10s, T+12s, 'host-a');
         INSERT INTO river_job (state, created_at, scheduled_at) VALUES ('scheduled', T-1d, T-40m)",
        "river", "unknown awaiting_first_progress"),
    case("what its predecessor moved is not the new leader's",
        "INSERT INTO river_leader (elected_at, expires_at, leader_id) VALUES (T-10s, T+12s, 'host-a');
         INSERT INTO river_job (state, created_at, scheduled_at, attempted_at, finalized_at, attempt, attempted_by)
         VALUES ('completed', T-1h, date_trunc('second', T-30s), T-29s, T-20s, 1, '{host-b}')",
        "river", "idle nothing_due"),
    case("elected at no time", "ALTER TABLE river_leader ALTER elected_at DROP NOT NULL;
         INSERT INTO river_leader (elected_at, expires_at, leader_id) VALUES (NULL, T+12s, 'host-a')",
        "river", "idle nothing_due"),
    case("expiring at no time", "ALTER TABLE river_leader ALTER expires_at DROP NOT NULL;
         INSERT INTO river_leader (elected_at, expires_at, leader_id) VALUES (T-1d, NULL, 'host-a')",
        "river", "unknown invalid_record"),
    case("led by nobody", "ALTER TABLE river_leader ALTER leader_id DROP NOT NULL;
         INSERT INTO river_leader (elected_at, expires_at, leader_id) VALUES (T-1d, T+12s, NULL)",
        "river", "no_leader released"),
    case("elected at infinity",
        "INSERT INTO river_leader (elected_at, expires_at, leader_id) VALUES ('infinity', T+12s, 'host-a')",
        "river", "unknown invalid_record"),
    case("elected before 1970",
        "INSERT INTO river_leader (elected_at, expires_at, leader_id) VALUES ('1960-01-01Z', T+12s, 'host-a')",
        "river", "unknown invalid_record"),
    case("elected tomorrow",
        "INSERT INTO river_leader (elected_at, expires_at, leader_id) VALUES (T+1d, T+12s, 'host-a')",
        "river", "unknown clock_skew"),
];

#[test]
fn river_states_follow_its_leader() {
    system().check(CASES);
}

#[test]
fn backlog_is_counted_up_to_10001_and_its_oldest_entry_is_exact() {
    let river = system();
    river.store(&format!(
        "{LEADS} INSERT INTO river_job (state, created_at, scheduled_at)
         SELECT 'scheduled', T-1d, T-1h + n * interval '0.1 s' FROM generate_series(1, 20000) AS n"
    ));
    let snapshot = river.reader("", "").look().unwrap();
    let evidence = snapshot.leases[0].evidence().unwrap();
    let lease_exporter::lease::Due::Waiting { count, oldest: Some(oldest), .. } = evidence.due else {
        panic!("{evidence:?}")
    };
    assert_eq!(count, Some(10_001));
    assert!(oldest.age.lower().as_secs() >= 3_599, "{oldest:?}");
}

#[test]
fn the_epoch_is_the_election_and_the_holder_a_token() {
    let river = system();
    river.store(LEADS);
    let micros: u64 = river
        .database
        .query("SELECT (extract(epoch FROM elected_at) * 1000000)::bigint FROM river_leader")
        .parse()
        .unwrap();
    let snapshot = river.reader("", "").look().unwrap();
    let holder = snapshot.leases[0].holder().unwrap().clone();
    assert_eq!(holder.epoch.map(|epoch| epoch.0), Some(micros));
    assert!(holder.token.is_some());
    let age = holder.renewed.age.lower().as_secs_f64();
    assert!((3.0..10.0).contains(&age), "{age}");
}

/// Observed progress still counts after River has deleted the jobs that proved it.
#[test]
fn a_leader_whose_finished_jobs_were_deleted_is_idle() {
    let river = system();
    let moved =
        "INSERT INTO river_job (state, created_at, scheduled_at, attempted_at, finalized_at, attempt, attempted_by)
        VALUES ('completed', T-1d, date_trunc('second', T-20m), T-20m, T-20m, 1, '{host-b}');";
    river.store(&format!("{LEADS} {moved}"));
    let mut reader = river.reader("", "");
    assert_eq!(reader.says("river"), "idle nothing_due");
    river.database.execute("DELETE FROM river_job");
    assert_eq!(reader.says("river"), "idle nothing_due");
}

/// A standby has the jobs but not the leader, because the table of the leader is unlogged.
#[test]
fn on_a_standby_the_leader_is_unknown_not_absent() {
    let primary = servers::Server::start(servers::Kind::Postgres, &[]);
    let river = system().moved_to(primary.database());
    river.store(LEADS);
    let standby = primary.standby(&[]);
    let there = river.database.url().replace(&format!(":{}/", primary.port()), &format!(":{}/", standby.port()));
    let file = "leases: [{ match: { source: app, lease: river } }]";
    let mut reader = SourceReader::at(&configuration("river", &there, river.database.password_file(), "", file));
    let error = reader.look().unwrap_err();
    assert_eq!(error.failure().as_str(), "store_refused", "{error}");
    assert_eq!(river.reader("", "").says("river"), "idle nothing_due", "on the primary");
}
