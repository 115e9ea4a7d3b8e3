//! db-scheduler: one lease for each task name, held while a row of it is picked.

use super::cases::{Case, Sql, System, case, with_zone};

pub(super) fn system(sql: Sql) -> System {
    let schema = match sql {
        Sql::Postgres => include_str!("schema/db-scheduler.postgres.sql"),
        Sql::Mysql => include_str!("schema/db-scheduler.mysql.sql"),
    };
    System::new("db-scheduler", sql, &[schema], with_zone)
}

#[rustfmt::skip]
pub(super) const CASES: &[Case] = &[
    case("no tasks", "", "invoices", "none"),
    case("picked two hours ago, with a fresh heartbeat (case 28)",
        "INSERT INTO scheduled_tasks (task_name, task_instance, execution_time, picked, picked_by, last_success, last_heartbeat, version)
         VALUES ('invoices', 'recurring', T-2h, TRUE, 'host-a', T-2h, T-30s, 812)",
        "invoices", "stalled no_progress"),
    case("picked a minute ago",
        "INSERT INTO scheduled_tasks (task_name, task_instance, execution_time, picked, picked_by, last_success, last_heartbeat, version)
         VALUES ('invoices', 'recurring', T-1m, TRUE, 'host-a', T-1h, T-30s, 812)",
        "invoices", "idle nothing_due"),
    case("picked again soon after a success",
        "INSERT INTO scheduled_tasks (task_name, task_instance, execution_time, picked, picked_by, last_success, last_heartbeat, version)
         VALUES ('invoices', 'recurring', T-1m, TRUE, 'host-a', T-2m, T-30s, 812)",
        "invoices", "active progressing"),
    case("waiting for its time",
        "INSERT INTO scheduled_tasks (task_name, task_instance, execution_time, picked, last_success, version)
         VALUES ('invoices', 'recurring', T+20m, FALSE, T-40m, 812)",
        "invoices", "idle nothing_due"),
    case("due for an hour, and nobody picks it",
        "INSERT INTO scheduled_tasks (task_name, task_instance, execution_time, picked, last_success, version)
         VALUES ('invoices', 'recurring', T-1h, FALSE, T-2h, 812)",
        "invoices", "no_leader absent"),
    case("picked by what died an hour ago",
        "INSERT INTO scheduled_tasks (task_name, task_instance, execution_time, picked, picked_by, last_success, last_heartbeat, version)
         VALUES ('invoices', 'recurring', T-2h, TRUE, 'host-a', T-3h, T-1h, 812)",
        "invoices", "no_leader expired"),
    case("one stuck task beside one that moves",
        "INSERT INTO scheduled_tasks (task_name, task_instance, execution_time, picked, picked_by, last_success, last_heartbeat, version)
         VALUES ('invoices', 'recurring', T-2h, TRUE, 'host-a', T-2h, T-30s, 812),
                ('cleanup', 'recurring', T+1m, FALSE, NULL, T-10s, NULL, 9)",
        "invoices", "stalled no_progress"),
    case("one-time tasks that nobody picks",
        "INSERT INTO scheduled_tasks (task_name, task_instance, execution_time, picked, version)
         VALUES ('mail', '1', T-1h, FALSE, 1), ('mail', '2', T-10s, FALSE, 1), ('mail', '3', T+1h, FALSE, 1)",
        "mail", "no_leader absent"),
    case("one-time tasks of the future",
        "INSERT INTO scheduled_tasks (task_name, task_instance, execution_time, picked, version)
         VALUES ('mail', '3', T+1h, FALSE, 1)",
        "mail", "idle nothing_due"),
    case("a failure is no progress",
        "INSERT INTO scheduled_tasks (task_name, task_instance, execution_time, picked, picked_by, last_failure, last_heartbeat, version)
         VALUES ('invoices', 'recurring', T-5s, TRUE, 'host-a', T-10s, T-4s, 812)",
        "invoices", "unknown not_observed_yet"),
    case("picked without a heartbeat",
        "INSERT INTO scheduled_tasks (task_name, task_instance, execution_time, picked, picked_by, last_success, version)
         VALUES ('invoices', 'recurring', T-2h, TRUE, 'host-a', T-2h, 812)",
        "invoices", "unknown invalid_record"),
    case("picked by nobody",
        "INSERT INTO scheduled_tasks (task_name, task_instance, execution_time, picked, last_success, last_heartbeat, version)
         VALUES ('invoices', 'recurring', T-2h, TRUE, T-2h, T-30s, 812)",
        "invoices", "stalled no_progress"),
    case("a heartbeat of tomorrow",
        "INSERT INTO scheduled_tasks (task_name, task_instance, execution_time, picked, picked_by, last_success, last_heartbeat, version)
         VALUES ('invoices', 'recurring', T-2h, TRUE, 'host-a', T-2h, T+1d, 812)",
        "invoices", "unknown clock_skew"),
    Case { source: "parameters: { dead_after: 2m }", ..case("a heartbeat that is old for this application",
        "INSERT INTO scheduled_tasks (task_name, task_instance, execution_time, picked, picked_by, last_success, last_heartbeat, version)
         VALUES ('invoices', 'recurring', T-2h, TRUE, 'host-a', T-2h, T-3m, 812)",
        "invoices", "no_leader expired") },
];

#[test]
fn db_scheduler_states_follow_the_rows_of_each_task_name() {
    for sql in [Sql::Postgres, Sql::Mysql] {
        system(sql).check(CASES);
    }
}

#[test]
fn task_name_without_rows_is_unknown() {
    for sql in [Sql::Postgres, Sql::Mysql] {
        let tasks = system(sql);
        tasks.store(
            "INSERT INTO scheduled_tasks (task_name, task_instance, execution_time, picked, version)
             VALUES ('mail', '3', T-1s, FALSE, 1)",
        );
        let mut reader = tasks.reader("", "");
        assert_eq!(reader.says("mail"), "idle nothing_due");
        tasks.store("");
        assert_eq!(reader.says("mail"), "unknown due_unknown");
    }
}

/// If several instances hold rows of one name, each keeps its own heartbeat.
#[test]
fn the_holder_is_the_one_whose_heartbeat_is_the_newest() {
    let token = |tasks: &System, rows: &str| {
        tasks.store(&format!(
            "INSERT INTO scheduled_tasks (task_name, task_instance, execution_time, picked, picked_by, last_heartbeat, version)
             VALUES {rows}"
        ));
        let snapshot = tasks.reader("", "").look().unwrap();
        snapshot.leases[0].holder().unwrap().token
    };
    for sql in [Sql::Postgres, Sql::Mysql] {
        let tasks = system(sql);
        let newest = token(&tasks, "('mail', '2', T-1m, TRUE, 'host-a', T-5s, 1)");
        let both = "('mail', '0', T-1m, TRUE, 'host-b', NULL, 1), ('mail', '1', T-1h, TRUE, 'host-z', T-20m, 1),
                    ('mail', '2', T-1m, TRUE, 'host-a', T-5s, 1), ('mail', '3', T-1m, FALSE, 'host-y', T-1s, 1)";
        assert!(newest.is_some());
        assert_eq!(token(&tasks, both), newest, "{sql:?}");
    }
}
