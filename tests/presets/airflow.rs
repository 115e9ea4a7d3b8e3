//! Airflow: concurrent schedulers with heartbeats, and tasks that start.

use super::cases::{Case, Sql, System, case, with_zone};

/// The versions that the probe distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    Two,
    Three,
    ThreeFlagged,
}

pub(super) const VERSIONS: [Version; 3] = [Version::Two, Version::Three, Version::ThreeFlagged];
pub(super) const SERVERS: [Sql; 2] = [Sql::Postgres, Sql::Mysql];

pub(super) fn system(sql: Sql, version: Version) -> System {
    let [two, three, flagged] = match sql {
        Sql::Postgres => [
            include_str!("schema/airflow-2.postgres.sql"),
            include_str!("schema/airflow-3.postgres.sql"),
            include_str!("schema/airflow-3-flagged.postgres.sql"),
        ],
        Sql::Mysql => [
            include_str!("schema/airflow-2.mysql.sql"),
            include_str!("schema/airflow-3.mysql.sql"),
            include_str!("schema/airflow-3-flagged.mysql.sql"),
        ],
    };
    let schema = match version {
        Version::Two => &[two][..],
        Version::Three => &[two, three],
        Version::ThreeFlagged => &[two, three, flagged],
    };
    System::new("airflow", sql, schema, with_zone)
}

const fn short(limit: &'static str, case: Case) -> Case {
    Case { limits: limit, ..case }
}

/// The cases that are equal in all versions.
#[rustfmt::skip]
pub(super) const CASES: &[Case] = &[
    case("no scheduler ever", "", "scheduler", "no_leader absent"),
    case("tasks that wait do not start, though the scheduler beats and decides (case 12)",
        "INSERT INTO job (id, state, job_type, start_date, latest_heartbeat, hostname) VALUES (41, 'running', 'SchedulerJob', T-2d, T-4s, 'host-a');
         INSERT INTO dag_run (dag_id, run_id, state, start_date, last_scheduling_decision) VALUES ('d', 'r', 'running', T-1h, T-2s);
         INSERT INTO task_instance (task_id, dag_id, run_id, state, start_date, updated_at, queued_dttm) VALUES ('t0', 'd', 'r', 'success', T-55m, T-55m, T-55m);
         INSERT INTO task_instance (task_id, dag_id, run_id, state, queued_dttm, updated_at) VALUES
           ('t1', 'd', 'r', 'queued', T-50m, T-50m), ('t2', 'd', 'r', 'queued', T-50m, T-50m)",
        "scheduler", "stalled no_progress"),
    case("one killed three days ago beside one that beats (case 110)",
        "INSERT INTO job (id, state, job_type, start_date, latest_heartbeat, hostname) VALUES
           (40, 'running', 'SchedulerJob', T-9d, T-3d, 'host-a'), (41, 'running', 'SchedulerJob', T-2d, T-4s, 'host-b');
         INSERT INTO dag_run (dag_id, run_id, state, start_date) VALUES ('d', 'r', 'running', T-1h);
         INSERT INTO task_instance (task_id, dag_id, run_id, state, start_date, queued_dttm) VALUES ('t0', 'd', 'r', 'running', T-20s, T-20s)",
        "scheduler", "active progressing"),
    case("a loop that takes long: no heartbeat for 21 minutes, and tasks start (case 118)",
        "INSERT INTO job (id, state, job_type, start_date, latest_heartbeat, hostname) VALUES (41, 'running', 'SchedulerJob', T-2d, T-21m, 'host-a');
         INSERT INTO dag_run (dag_id, run_id, state, start_date) VALUES ('d', 'r', 'running', T-1h);
         INSERT INTO task_instance (task_id, dag_id, run_id, state, start_date, queued_dttm) VALUES ('t0', 'd', 'r', 'running', T-20s, T-20s);
         INSERT INTO task_instance (task_id, dag_id, run_id, state, queued_dttm) VALUES ('t1', 'd', 'r', 'queued', T-10m)",
        "scheduler", "unknown progress_without_authority"),
    case("killed an hour ago",
        "INSERT INTO job (id, state, job_type, start_date, latest_heartbeat, hostname) VALUES (41, 'running', 'SchedulerJob', T-2d, T-1h, 'host-a')",
        "scheduler", "no_leader expired"),
    case("killed three days ago",
        "INSERT INTO job (id, state, job_type, start_date, latest_heartbeat, hostname) VALUES (41, 'running', 'SchedulerJob', T-9d, T-3d, 'host-a')",
        "scheduler", "no_leader absent"),
    case("ended in order",
        "INSERT INTO job (id, state, job_type, start_date, latest_heartbeat, hostname) VALUES (41, 'success', 'SchedulerJob', T-2d, T-4s, 'host-a')",
        "scheduler", "no_leader absent"),
    case("a triggerer and a DAG processor are no schedulers",
        "INSERT INTO job (id, state, job_type, start_date, latest_heartbeat, hostname) VALUES
           (41, 'running', 'TriggererJob', T-2d, T-4s, 'host-a'), (42, 'running', 'DagProcessorJob', T-2d, T-4s, 'host-a')",
        "scheduler", "no_leader absent"),
    case("nothing to do",
        "INSERT INTO job (id, state, job_type, start_date, latest_heartbeat, hostname) VALUES (41, 'running', 'SchedulerJob', T-2d, T-4s, 'host-a')",
        "scheduler", "idle nothing_due"),
    case("one long task runs and nothing waits",
        "INSERT INTO job (id, state, job_type, start_date, latest_heartbeat, hostname) VALUES (41, 'running', 'SchedulerJob', T-2d, T-4s, 'host-a');
         INSERT INTO dag_run (dag_id, run_id, state, start_date) VALUES ('d', 'r', 'running', T-5h);
         INSERT INTO task_instance (task_id, dag_id, run_id, state, start_date, queued_dttm) VALUES ('t0', 'd', 'r', 'running', T-5h, T-5h)",
        "scheduler", "idle nothing_due"),
    case("tasks of a run that has ended count, those of one long ended do not",
        "INSERT INTO job (id, state, job_type, start_date, latest_heartbeat, hostname) VALUES (41, 'running', 'SchedulerJob', T-2d, T-4s, 'host-a');
         INSERT INTO dag_run (dag_id, run_id, state, start_date, end_date) VALUES ('d', 'r', 'success', T-1m, T-10s);
         INSERT INTO task_instance (task_id, dag_id, run_id, state, start_date, queued_dttm) VALUES ('t0', 'd', 'r', 'success', T-40s, T-40s)",
        "scheduler", "active progressing"),
    case("tasks scheduled and not queued for an hour",
        "INSERT INTO job (id, state, job_type, start_date, latest_heartbeat, hostname) VALUES (41, 'running', 'SchedulerJob', T-2d, T-4s, 'host-a');
         INSERT INTO dag_run (dag_id, run_id, state, start_date) VALUES ('d', 'r', 'running', T-5h);
         INSERT INTO task_instance (task_id, dag_id, run_id, state, start_date, queued_dttm) VALUES ('t0', 'd', 'r', 'success', T-5h, T-5h);
         INSERT INTO dag (dag_id, is_paused) VALUES ('d', FALSE);
         INSERT INTO task_instance (task_id, dag_id, run_id, state, updated_at) VALUES ('t1', 'd', 'r', 'scheduled', T-1h)",
        "scheduler", "stalled no_progress"),
    case("tasks scheduled in a DAG that is paused or in runs that do not run, or queued in the latter, are not due",
        "INSERT INTO job (id, state, job_type, start_date, latest_heartbeat, hostname) VALUES (41, 'running', 'SchedulerJob', T-2d, T-4s, 'host-a');
         INSERT INTO dag (dag_id, is_paused) VALUES ('paused', TRUE), ('d', FALSE);
         INSERT INTO dag_run (dag_id, run_id, state, start_date) VALUES
           ('paused', 'r', 'running', T-5h), ('d', 'failed', 'failed', T-5h), ('d', 'waits', 'queued', NULL);
         INSERT INTO task_instance (task_id, dag_id, run_id, state, queued_dttm, updated_at) VALUES
           ('t1', 'paused', 'r', 'scheduled', NULL, T-1h), ('t1', 'd', 'failed', 'scheduled', NULL, T-1h),
           ('t2', 'd', 'failed', 'queued', T-1h, T-1h), ('t1', 'd', 'waits', 'scheduled', NULL, T-1h),
           ('t1', 'd', 'gone', 'scheduled', NULL, T-1h)",
        "scheduler", "idle nothing_due"),
    case("a task that was queued before its DAG was paused is still the executor's to start",
        "INSERT INTO job (id, state, job_type, start_date, latest_heartbeat, hostname) VALUES (41, 'running', 'SchedulerJob', T-2d, T-4s, 'host-a');
         INSERT INTO dag (dag_id, is_paused) VALUES ('paused', TRUE);
         INSERT INTO dag_run (dag_id, run_id, state, start_date) VALUES ('paused', 'r', 'running', T-5h);
         INSERT INTO task_instance (task_id, dag_id, run_id, state, start_date, queued_dttm) VALUES ('old', 'paused', 'r', 'success', T-5h, T-5h);
         INSERT INTO task_instance (task_id, dag_id, run_id, state, queued_dttm) VALUES ('t1', 'paused', 'r', 'queued', T-1h)",
        "scheduler", "stalled no_progress"),
    case("what `airflow dags test` starts was queued by no scheduler",
        "INSERT INTO job (id, state, job_type, start_date, latest_heartbeat, hostname) VALUES (41, 'running', 'SchedulerJob', T-2d, T-4s, 'host-a');
         INSERT INTO dag (dag_id, is_paused) VALUES ('d', FALSE);
         INSERT INTO dag_run (dag_id, run_id, state, run_type, start_date) VALUES
           ('d', 'r', 'running', 'scheduled', T-5h), ('d', 'test', 'running', 'manual', T-1m);
         INSERT INTO task_instance (task_id, dag_id, run_id, state, start_date, queued_dttm) VALUES ('old', 'd', 'r', 'success', T-5h, T-5h);
         INSERT INTO task_instance (task_id, dag_id, run_id, state, start_date, duration) VALUES
           ('t0', 'd', 'test', 'success', T-40s, 3.5), ('t1', 'd', 'test', 'running', T-20s, NULL);
         INSERT INTO task_instance (task_id, dag_id, run_id, state, updated_at) VALUES ('t1', 'd', 'r', 'scheduled', T-1h)",
        "scheduler", "stalled no_progress"),
    case("an empty task, which a scheduler passes over without a queue",
        "INSERT INTO job (id, state, job_type, start_date, latest_heartbeat, hostname) VALUES (41, 'running', 'SchedulerJob', T-2d, T-4s, 'host-a');
         INSERT INTO dag_run (dag_id, run_id, state, start_date) VALUES ('d', 'r', 'running', T-1h);
         INSERT INTO task_instance (task_id, dag_id, run_id, state, start_date, end_date, duration) VALUES ('t0', 'd', 'r', 'success', T-20s, T-20s, 0)",
        "scheduler", "active progressing"),
    case("a task that waits since nobody knows when",
        "INSERT INTO job (id, state, job_type, start_date, latest_heartbeat, hostname) VALUES (41, 'running', 'SchedulerJob', T-2d, T-4s, 'host-a');
         INSERT INTO dag_run (dag_id, run_id, state, start_date) VALUES ('d', 'r', 'running', T-5h);
         INSERT INTO task_instance (task_id, dag_id, run_id, state, start_date, queued_dttm) VALUES ('t0', 'd', 'r', 'success', T-5h, T-5h);
         INSERT INTO task_instance (task_id, dag_id, run_id, state) VALUES ('t1', 'd', 'r', 'queued');
         INSERT INTO task_instance (task_id, dag_id, run_id, state, queued_dttm) VALUES ('t2', 'd', 'r', 'queued', T-10s)",
        "scheduler", "unknown due_unknown"),
    case("a heartbeat of tomorrow",
        "INSERT INTO job (id, state, job_type, start_date, latest_heartbeat, hostname) VALUES (41, 'running', 'SchedulerJob', T-2d, T+1d, 'host-a')",
        "scheduler", "unknown clock_skew"),
    case("a scheduler without a host, a start or an id of its own",
        "INSERT INTO job (state, job_type, latest_heartbeat) VALUES ('running', 'SchedulerJob', T-4s)",
        "scheduler", "idle nothing_due"),
    Case { source: "parameters: { heartbeat_threshold: 2m }", ..case("a heartbeat that is young enough for this Airflow",
        "INSERT INTO job (id, state, job_type, start_date, latest_heartbeat, hostname) VALUES (41, 'running', 'SchedulerJob', T-2d, T-1m, 'host-a')",
        "scheduler", "idle nothing_due") },
    short("stall_after: 1m", case("a real Airflow at work",
        "INSERT INTO job (id, state, job_type, start_date, latest_heartbeat, hostname) VALUES
           (1, 'running', 'SchedulerJob', T-70s, T-10s, 'host-1'), (2, 'running', 'DagProcessorJob', T-69s, T-8s, 'host-1');
         INSERT INTO dag_run (dag_id, run_id, state, start_date, end_date, last_scheduling_decision) VALUES
           ('ticker', 'r1', 'success', T-66s, T-50s, T-50s), ('ticker', 'r2', 'success', T-6s, T-5s, T-5s);
         INSERT INTO task_instance (task_id, dag_id, run_id, state, start_date, end_date, queued_dttm, updated_at) VALUES
           ('tick', 'ticker', 'r1', 'success', T-66s, T-50s, T-66s, T-50s), ('tick', 'ticker', 'r2', 'success', T-6s, T-5s, T-6s, T-5s)",
        "scheduler", "active progressing")),
    short("stall_after: 1m", case("a real Airflow whose slots are taken by tasks that never return",
        "INSERT INTO job (id, state, job_type, start_date, latest_heartbeat, hostname) VALUES
           (1, 'running', 'SchedulerJob', T-397s, T-7s, 'host-1'), (2, 'running', 'DagProcessorJob', T-396s, T-8s, 'host-1');
         INSERT INTO dag_run (dag_id, run_id, state, start_date, last_scheduling_decision) VALUES
           ('ticker', 'r3', 'running', T-274s, T-1s), ('ticker', 'r4', 'running', T-214s, T-1s),
           ('ticker', 'r5', 'running', T-155s, T-1s), ('ticker', 'r6', 'running', T-95s, T-1s);
         INSERT INTO task_instance (task_id, dag_id, run_id, state, start_date, queued_dttm, updated_at) VALUES
           ('tick', 'ticker', 'r3', 'running', T-274s, T-274s, T-1s), ('tick', 'ticker', 'r4', 'running', T-215s, T-215s, T-1s),
           ('tick', 'ticker', 'r5', 'queued', NULL, T-155s, T-155s), ('tick', 'ticker', 'r6', 'queued', NULL, T-95s, T-95s)",
        "scheduler", "stalled no_progress")),
];

#[rustfmt::skip]
pub(super) const TWO: &[Case] = &[
    case("a DAG's next run is overdue",
        "INSERT INTO job (id, state, job_type, start_date, latest_heartbeat, hostname) VALUES (41, 'running', 'SchedulerJob', T-2d, T-4s, 'host-a');
         INSERT INTO dag (dag_id, is_paused, is_active, next_dagrun_create_after) VALUES ('d', FALSE, TRUE, T-20m);
         INSERT INTO dag_run (dag_id, run_id, state, end_date) VALUES ('d', 'r', 'success', T-80m);
         INSERT INTO task_instance (task_id, dag_id, run_id, state, start_date, queued_dttm) VALUES ('t0', 'd', 'r', 'success', T-81m, T-81m)",
        "scheduler", "stalled no_progress"),
    case("DAGs that are paused, gone, broken, of the future or without a next run are not due",
        "INSERT INTO job (id, state, job_type, start_date, latest_heartbeat, hostname) VALUES (41, 'running', 'SchedulerJob', T-2d, T-4s, 'host-a');
         INSERT INTO dag (dag_id, is_paused, is_active, has_import_errors, next_dagrun_create_after) VALUES
           ('paused', TRUE, TRUE, FALSE, T-20m), ('gone', FALSE, FALSE, FALSE, T-20m), ('broken', FALSE, TRUE, TRUE, T-20m),
           ('later', FALSE, TRUE, FALSE, T+20m), ('full', FALSE, TRUE, FALSE, NULL)",
        "scheduler", "idle nothing_due"),
    case("what a backfill has scheduled or queued is its own to start",
        "INSERT INTO job (id, state, job_type, start_date, latest_heartbeat, hostname) VALUES (41, 'running', 'SchedulerJob', T-2d, T-4s, 'host-a');
         INSERT INTO dag (dag_id, is_paused) VALUES ('d', FALSE);
         INSERT INTO dag_run (dag_id, run_id, state, run_type, start_date) VALUES ('d', 'b', 'running', 'backfill', T-5h);
         INSERT INTO task_instance (task_id, dag_id, run_id, state, queued_dttm, updated_at) VALUES
           ('t1', 'd', 'b', 'scheduled', NULL, T-1h), ('t2', 'd', 'b', 'queued', T-1h, T-1h)",
        "scheduler", "idle nothing_due"),
    case("what a backfill starts, its own process starts",
        "INSERT INTO job (id, state, job_type, start_date, latest_heartbeat, hostname) VALUES (41, 'running', 'SchedulerJob', T-2d, T-4s, 'host-a');
         INSERT INTO dag (dag_id, is_paused) VALUES ('d', FALSE);
         INSERT INTO dag_run (dag_id, run_id, state, run_type, start_date, end_date) VALUES
           ('d', 'r', 'running', 'scheduled', T-5h, NULL), ('d', 'b', 'running', 'backfill', T-5h, NULL),
           ('d', 'c', 'success', 'backfill', T-1h, T-5s);
         INSERT INTO task_instance (task_id, dag_id, run_id, state, start_date, queued_dttm) VALUES
           ('old', 'd', 'r', 'success', T-5h, T-5h), ('t0', 'd', 'b', 'running', T-20s, T-25s), ('t0', 'd', 'c', 'success', T-30s, T-35s);
         INSERT INTO task_instance (task_id, dag_id, run_id, state, updated_at) VALUES ('t1', 'd', 'r', 'scheduled', T-1h)",
        "scheduler", "stalled no_progress"),
];

#[rustfmt::skip]
pub(super) const THREE: &[Case] = &[
    case("a DAG's next run is overdue",
        "INSERT INTO job (id, state, job_type, start_date, latest_heartbeat, hostname) VALUES (41, 'running', 'SchedulerJob', T-2d, T-4s, 'host-a');
         INSERT INTO dag (dag_id, is_paused, is_stale, next_dagrun_create_after) VALUES ('d', FALSE, FALSE, T-20m);
         INSERT INTO dag_run (dag_id, run_id, state, end_date) VALUES ('d', 'r', 'success', T-80m);
         INSERT INTO task_instance (task_id, dag_id, run_id, state, start_date, queued_dttm) VALUES ('t0', 'd', 'r', 'success', T-81m, T-81m)",
        "scheduler", "stalled no_progress"),
    case("DAGs that are paused, stale, broken or of the future are not due",
        "INSERT INTO job (id, state, job_type, start_date, latest_heartbeat, hostname) VALUES (41, 'running', 'SchedulerJob', T-2d, T-4s, 'host-a');
         INSERT INTO dag (dag_id, is_paused, is_stale, has_import_errors, next_dagrun_create_after) VALUES
           ('paused', TRUE, FALSE, FALSE, T-20m), ('gone', FALSE, TRUE, FALSE, T-20m), ('broken', FALSE, FALSE, TRUE, T-20m),
           ('later', FALSE, FALSE, FALSE, T+20m)",
        "scheduler", "idle nothing_due"),
    case("scheduled an hour ago and touched since",
        "INSERT INTO job (id, state, job_type, start_date, latest_heartbeat, hostname) VALUES (41, 'running', 'SchedulerJob', T-2d, T-4s, 'host-a');
         INSERT INTO dag_run (dag_id, run_id, state, start_date) VALUES ('d', 'r', 'running', T-5h);
         INSERT INTO task_instance (task_id, dag_id, run_id, state, start_date, queued_dttm) VALUES ('t0', 'd', 'r', 'success', T-5h, T-5h);
         INSERT INTO dag (dag_id, is_paused) VALUES ('d', FALSE);
         INSERT INTO task_instance (task_id, dag_id, run_id, state, scheduled_dttm, updated_at) VALUES ('t1', 'd', 'r', 'scheduled', T-1h, T-5s)",
        "scheduler", "stalled no_progress"),
    case("a backfill's tasks are the scheduler's like any other",
        "INSERT INTO job (id, state, job_type, start_date, latest_heartbeat, hostname) VALUES (41, 'running', 'SchedulerJob', T-2d, T-4s, 'host-a');
         INSERT INTO dag (dag_id, is_paused) VALUES ('d', FALSE);
         INSERT INTO dag_run (dag_id, run_id, state, run_type, start_date) VALUES ('d', 'b', 'running', 'backfill', T-5h);
         INSERT INTO task_instance (task_id, dag_id, run_id, state, start_date, queued_dttm) VALUES ('old', 'd', 'b', 'success', T-5h, T-5h);
         INSERT INTO task_instance (task_id, dag_id, run_id, state, queued_dttm, updated_at) VALUES
           ('t1', 'd', 'b', 'scheduled', NULL, T-1h), ('t2', 'd', 'b', 'queued', T-1h, T-1h)",
        "scheduler", "stalled no_progress"),
    case("what a backfill starts, the scheduler starts",
        "INSERT INTO job (id, state, job_type, start_date, latest_heartbeat, hostname) VALUES (41, 'running', 'SchedulerJob', T-2d, T-4s, 'host-a');
         INSERT INTO dag (dag_id, is_paused) VALUES ('d', FALSE);
         INSERT INTO dag_run (dag_id, run_id, state, run_type, start_date, end_date) VALUES
           ('d', 'r', 'running', 'scheduled', T-5h, NULL), ('d', 'b', 'running', 'backfill', T-5h, NULL),
           ('d', 'c', 'success', 'backfill', T-1h, T-5s);
         INSERT INTO task_instance (task_id, dag_id, run_id, state, start_date, queued_dttm) VALUES
           ('old', 'd', 'r', 'success', T-5h, T-5h), ('t0', 'd', 'b', 'running', T-20s, T-25s), ('t0', 'd', 'c', 'success', T-30s, T-35s);
         INSERT INTO task_instance (task_id, dag_id, run_id, state, updated_at) VALUES ('t1', 'd', 'r', 'scheduled', T-1h)",
        "scheduler", "active progressing"),
];

#[rustfmt::skip]
pub(super) const FLAGGED: &[Case] = &[
    case("a DAG that has as many runs as it may is not due",
        "INSERT INTO job (id, state, job_type, start_date, latest_heartbeat, hostname) VALUES (41, 'running', 'SchedulerJob', T-2d, T-4s, 'host-a');
         INSERT INTO dag (dag_id, is_paused, is_stale, exceeds_max_non_backfill, next_dagrun_create_after) VALUES ('d', FALSE, FALSE, TRUE, T-20m)",
        "scheduler", "idle nothing_due"),
];

impl Version {
    pub(super) fn check(self, airflow: &System) {
        airflow.check(CASES);
        match self {
            Self::Two => airflow.check(TWO),
            Self::Three => airflow.check(THREE),
            Self::ThreeFlagged => {
                airflow.check(THREE);
                airflow.check(FLAGGED);
            }
        }
    }
}

#[test]
fn airflow_states_on_postgresql_follow_its_schedulers_and_tasks_in_each_version() {
    for version in VERSIONS {
        version.check(&system(Sql::Postgres, version));
    }
}

#[test]
fn airflow_states_on_mariadb_follow_its_schedulers_and_tasks_in_each_version() {
    for version in VERSIONS {
        version.check(&system(Sql::Mysql, version));
    }
}

#[test]
fn tables_of_an_unknown_version_are_a_schema_mismatch() {
    for sql in SERVERS {
        let airflow = system(sql, Version::Two);
        airflow.database.execute("ALTER TABLE dag DROP COLUMN is_active");
        let error = airflow.reader("", "").look().unwrap_err();
        assert_eq!(error.failure().as_str(), "schema_mismatch", "{error}");
    }
}

/// The grants for another version, and the rights that the probe needs.
#[test]
fn unreadable_column_is_not_reported_as_missing() {
    let airflow = system(Sql::Mysql, Version::ThreeFlagged);
    airflow.store(
        "INSERT INTO dag (dag_id, is_paused, is_stale, exceeds_max_non_backfill) VALUES ('d', FALSE, FALSE, TRUE)",
    );
    let (name, reader) = (airflow.database.name(), airflow.database.reader().name());
    airflow.database.execute(&format!(
        "REVOKE SELECT ON {name}.* FROM {reader}@'%';
         GRANT SELECT ON job TO {reader}; GRANT SELECT ON dag_run TO {reader}; GRANT SELECT ON task_instance TO {reader};
         GRANT SELECT (dag_id, is_paused, has_import_errors, next_dagrun_create_after, is_stale) ON dag TO {reader};"
    ));
    let error = airflow.reader("", "").look().unwrap_err();
    assert_eq!(error.failure().as_str(), "store_refused", "{error}");
    assert!(error.to_string().contains("`exceeds_max_non_backfill`"), "{error}");
    airflow.database.execute(&format!("GRANT SELECT (exceeds_max_non_backfill) ON dag TO {reader}"));
    assert_eq!(airflow.reader("", "").says("scheduler"), "no_leader absent");
}

#[test]
fn missing_right_and_missing_table_have_different_errors() {
    for sql in SERVERS {
        let airflow = system(sql, Version::Two);
        let (name, reader) = (airflow.database.name(), airflow.database.reader().name());
        let (revoke, grant) = match sql {
            Sql::Postgres => (
                format!("REVOKE USAGE ON SCHEMA public FROM PUBLIC, {reader}"),
                format!("GRANT USAGE ON SCHEMA public TO {reader}"),
            ),
            Sql::Mysql => (
                format!("REVOKE SELECT ON {name}.* FROM {reader}@'%'; GRANT SELECT ON job TO {reader}"),
                format!("GRANT SELECT ON {name}.* TO {reader}@'%'"),
            ),
        };
        airflow.database.execute(&revoke);
        let error = airflow.reader("", "").look().unwrap_err();
        assert_eq!(error.failure().as_str(), "store_refused", "{error}");
        airflow.database.execute(&grant);
        assert_eq!(airflow.reader("", "").says("scheduler"), "no_leader absent");
        airflow.database.execute("ALTER TABLE dag RENAME TO elsewhere");
        let error = airflow.reader("", "").look().unwrap_err();
        assert_eq!(error.failure().as_str(), "schema_mismatch", "{error}");
        assert!(error.to_string().contains("dag"), "{error}");
    }
}

/// Without `schema`, the tables are not found.
#[test]
fn tables_of_a_schema_that_is_not_named_are_a_mismatch_that_names_one() {
    let airflow = system(Sql::Postgres, Version::Three);
    let reader = airflow.database.reader().name();
    airflow.database.execute(&format!("CREATE SCHEMA airflow; GRANT USAGE ON SCHEMA airflow TO {reader};"));
    for table in ["job", "dag", "dag_run", "task_instance"] {
        airflow.database.execute(&format!("ALTER TABLE {table} SET SCHEMA airflow"));
    }
    let error = airflow.reader("", "").look().unwrap_err();
    assert_eq!(error.failure().as_str(), "schema_mismatch", "{error}");
    assert!(error.to_string().contains("\"dag\""), "{error}");
    assert_eq!(airflow.reader("schema: airflow", "").says("scheduler"), "no_leader absent");
    airflow.database.execute(&format!("REVOKE USAGE ON SCHEMA airflow FROM {reader}"));
    let error = airflow.reader("schema: airflow", "").look().unwrap_err();
    assert_eq!(error.failure().as_str(), "store_refused", "{error}");
}

/// An upgrade while the exporter runs.
#[test]
fn version_is_determined_again_for_each_build() {
    for sql in SERVERS {
        let airflow = system(sql, Version::Two);
        airflow.store("");
        let mut reader = airflow.reader("", "");
        assert_eq!(reader.says("scheduler"), "no_leader absent");
        let three = match sql {
            Sql::Postgres => include_str!("schema/airflow-3.postgres.sql"),
            Sql::Mysql => include_str!("schema/airflow-3.mysql.sql"),
        };
        airflow.database.execute(three);
        let upgraded = (0..2).any(|_| reader.look().is_ok());
        assert!(upgraded && reader.says("scheduler") == "no_leader absent", "{sql:?}");
    }
}

#[test]
fn of_several_schedulers_each_is_a_holder_and_the_newest_job_the_epoch() {
    for sql in SERVERS {
        let airflow = system(sql, Version::Three);
        airflow.store(
            "INSERT INTO job (id, state, job_type, start_date, latest_heartbeat, hostname) VALUES
             (40, 'running', 'SchedulerJob', T-9d, T-5s, 'host-a'), (41, 'running', 'SchedulerJob', T-2d, T-4s, 'host-b')",
        );
        let snapshot = airflow.reader("", "").look().unwrap();
        let holding = snapshot.leases[0].holder().unwrap();
        assert_eq!((holding.others.len(), holding.epoch.map(|epoch| epoch.0)), (1, Some(41)), "{sql:?}");
    }
}
