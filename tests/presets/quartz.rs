//! Quartz: nodes that check in, and triggers that fire when their time has come.

use super::cases::{Case, Sql, System, case, milliseconds};

pub(super) fn system(sql: Sql) -> System {
    let schema = match sql {
        Sql::Postgres => include_str!("schema/quartz.postgres.sql"),
        Sql::Mysql => include_str!("schema/quartz.mysql.sql"),
    };
    System::new("quartz", sql, &[schema], milliseconds)
}

const fn short(limit: &'static str, case: Case) -> Case {
    Case { limits: limit, ..case }
}

const fn declared(case: Case) -> Case {
    Case { source: "parameters: { clustered: true }", ..case }
}

#[rustfmt::skip]
pub(super) const CASES: &[Case] = &[
    case("nothing at all", "", "plan", "none"),
    case("triggers and no node, clustering not declared",
        "INSERT INTO QRTZ_TRIGGERS VALUES ('plan', 't1', 'g', T-1h, T-2h, 'WAITING', NULL)",
        "plan", "unknown invalid_record"),
    declared(case("triggers and no node, clustering declared",
        "INSERT INTO QRTZ_TRIGGERS VALUES ('plan', 't1', 'g', T-1h, T-2h, 'WAITING', NULL)",
        "plan", "no_leader absent")),
    declared(case("triggers that are fired and no node, clustering declared",
        "INSERT INTO QRTZ_TRIGGERS VALUES ('plan', 't1', 'g', T+5s, T-5s, 'WAITING', NULL)",
        "plan", "no_leader absent")),
    case("the last node checked in a minute ago",
        "INSERT INTO QRTZ_SCHEDULER_STATE VALUES ('plan', 'host-a1', T-1m, 7500);
         INSERT INTO QRTZ_TRIGGERS VALUES ('plan', 't1', 'g', T-40s, T-55m, 'WAITING', NULL)",
        "plan", "no_leader expired"),
    case("a slow node is not yet given up",
        "INSERT INTO QRTZ_SCHEDULER_STATE VALUES ('plan', 'host-a1', T-1m, 60000);
         INSERT INTO QRTZ_TRIGGERS VALUES ('plan', 't1', 'g', T+5m, T-55m, 'WAITING', NULL)",
        "plan", "idle nothing_due"),
    case("a node checks in late, and triggers are fired all the same",
        "INSERT INTO QRTZ_SCHEDULER_STATE VALUES ('plan', 'host-a1', T-3m, 7500);
         INSERT INTO QRTZ_TRIGGERS VALUES ('plan', 't1', 'g', T+5s, T-5s, 'WAITING', NULL)",
        "plan", "unknown progress_without_authority"),
    case("a dead node beside one that lives",
        "INSERT INTO QRTZ_SCHEDULER_STATE VALUES ('plan', 'host-a1', T-2d, 7500), ('plan', 'host-b2', T-3s, 7500);
         INSERT INTO QRTZ_TRIGGERS VALUES ('plan', 't1', 'g', T+5s, T-5s, 'WAITING', NULL)",
        "plan", "active progressing"),
    case("fired every five seconds, acquired for the next time (as a real Quartz at work)",
        "INSERT INTO QRTZ_SCHEDULER_STATE VALUES ('plan', 'host-a1', T-4s, 5000);
         INSERT INTO QRTZ_TRIGGERS VALUES ('plan', 'tick-5s', 'g', T+1s, T-4s, 'ACQUIRED', NULL);
         INSERT INTO QRTZ_FIRED_TRIGGERS VALUES ('plan', 'e1', 'tick-5s', 'g', 'host-a1', T-4s, T+1s, 'ACQUIRED', NULL, NULL)",
        "plan", "active progressing"),
    short("stall_after: 30s", case("a job that may not run twice never returns (as a real Quartz that is stuck)",
        "INSERT INTO QRTZ_SCHEDULER_STATE VALUES ('plan', 'host-a1', T-2s, 5000);
         INSERT INTO QRTZ_TRIGGERS VALUES ('plan', 'tick-5s', 'g', T-60s, T-65s, 'BLOCKED', NULL);
         INSERT INTO QRTZ_FIRED_TRIGGERS VALUES ('plan', 'e1', 'tick-5s', 'g', 'host-a1', T-65s, T-65s, 'EXECUTING', 'tick', 'g')",
        "plan", "stalled no_progress")),
    case("a trigger acquired 300 days ago that nobody fires (case 35)",
        "INSERT INTO QRTZ_SCHEDULER_STATE VALUES ('plan', 'host-a1', T-3s, 7500);
         INSERT INTO QRTZ_TRIGGERS VALUES ('plan', 't1', 'g', T-300d, T-301d, 'ACQUIRED', NULL),
                                          ('plan', 't2', 'g', T+5m, T-55m, 'WAITING', NULL)",
        "plan", "stalled no_progress"),
    short("stall_after: 5m, overdue_after: 1h", case("the same while another trigger is fired",
        "INSERT INTO QRTZ_SCHEDULER_STATE VALUES ('plan', 'host-a1', T-3s, 7500);
         INSERT INTO QRTZ_TRIGGERS VALUES ('plan', 't1', 'g', T-300d, T-301d, 'ACQUIRED', NULL),
                                          ('plan', 't2', 'g', T+5s, T-5s, 'WAITING', NULL)",
        "plan", "stalled work_stuck")),
    case("every thread is taken and twenty triggers wait (case 38)",
        "INSERT INTO QRTZ_SCHEDULER_STATE VALUES ('plan', 'host-a1', T-3s, 7500);
         INSERT INTO QRTZ_TRIGGERS VALUES ('plan', 't01', 'g', T-1h, T-2h, 'WAITING', NULL);
         INSERT INTO QRTZ_TRIGGERS SELECT 'plan', CONCAT('u', a.n, b.n), 'g', T-1h, T-2h, 'WAITING', NULL
         FROM (SELECT 1 AS n UNION SELECT 2 UNION SELECT 3 UNION SELECT 4) AS a,
              (SELECT 1 AS n UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5) AS b;
         INSERT INTO QRTZ_FIRED_TRIGGERS SELECT 'plan', CONCAT('e', a.n, b.n), 'x', 'g', 'host-a1', T-2h, T-2h, 'EXECUTING', 'j', 'g'
         FROM (SELECT 1 AS n UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5) AS a,
              (SELECT 1 AS n UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION
               SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9 UNION SELECT 10) AS b",
        "plan", "stalled no_progress"),
    case("late, and fired only now",
        "INSERT INTO QRTZ_SCHEDULER_STATE VALUES ('plan', 'host-a1', T-3s, 7500);
         INSERT INTO QRTZ_TRIGGERS VALUES ('plan', 't1', 'g', T-1h, T-2h, 'BLOCKED', NULL);
         INSERT INTO QRTZ_FIRED_TRIGGERS VALUES ('plan', 'e1', 't1', 'g', 'host-a1', T-10s, T-2h, 'EXECUTING', 'j', 'g')",
        "plan", "active progressing"),
    case("acquired only now, and not yet fired",
        "INSERT INTO QRTZ_SCHEDULER_STATE VALUES ('plan', 'host-a1', T-3s, 7500);
         INSERT INTO QRTZ_TRIGGERS VALUES ('plan', 't1', 'g', T-1h, T-2h, 'ACQUIRED', NULL);
         INSERT INTO QRTZ_FIRED_TRIGGERS VALUES ('plan', 'e1', 't1', 'g', 'host-a1', T-10s, T-1h, 'ACQUIRED', NULL, NULL)",
        "plan", "stalled no_progress"),
    case("what is paused, complete, in error or never fires again is not due",
        "INSERT INTO QRTZ_SCHEDULER_STATE VALUES ('plan', 'host-a1', T-3s, 7500);
         INSERT INTO QRTZ_TRIGGERS VALUES ('plan', 't1', 'g', T-1h, T-2h, 'PAUSED', NULL),
           ('plan', 't2', 'g', T-1h, T-2h, 'COMPLETE', NULL), ('plan', 't3', 'g', T-1h, T-2h, 'ERROR', NULL),
           ('plan', 't4', 'g', -1, T-2h, 'WAITING', NULL), ('plan', 't5', 'g', NULL, NULL, 'WAITING', NULL)",
        "plan", "idle nothing_due"),
    case("a node without triggers",
        "INSERT INTO QRTZ_SCHEDULER_STATE VALUES ('plan', 'host-a1', T-3s, 7500)",
        "plan", "idle nothing_due"),
    case("the triggers of another scheduler are its own",
        "INSERT INTO QRTZ_SCHEDULER_STATE VALUES ('plan', 'host-a1', T-3s, 7500), ('bill', 'host-a1', T-3s, 7500);
         INSERT INTO QRTZ_TRIGGERS VALUES ('bill', 't1', 'g', T+5s, T-5s, 'WAITING', NULL),
                                          ('plan', 't1', 'g', T-1h, T-2h, 'WAITING', NULL)",
        "plan", "stalled no_progress"),
    case("a check-in that no clock shows costs its own node alone",
        "INSERT INTO QRTZ_SCHEDULER_STATE VALUES ('plan', 'host-a1', 9223372036854775807, 9223372036854775807),
           ('plan', 'host-b1', T-3s, 7500);
         INSERT INTO QRTZ_TRIGGERS VALUES ('plan', 't1', 'g', T+5s, T-5s, 'WAITING', NULL)",
        "plan", "active progressing"),
    case("the ticks of Quartz.NET are no milliseconds",
        "INSERT INTO QRTZ_SCHEDULER_STATE VALUES ('plan', 'host-a1', 639000000000000000, 7500)",
        "plan", "unknown invalid_record"),
];

const SERVERS: [Sql; 2] = [Sql::Postgres, Sql::Mysql];

#[test]
fn quartz_states_follow_its_nodes_and_triggers() {
    for sql in SERVERS {
        system(sql).check(CASES);
    }
}

#[test]
fn the_last_time_of_a_trigger_that_was_deleted_still_counts() {
    for sql in SERVERS {
        let quartz = system(sql);
        let node = "INSERT INTO QRTZ_SCHEDULER_STATE VALUES ('plan', 'host-a1', T-3s, 7500);";
        quartz
            .store(&format!("{node} INSERT INTO QRTZ_TRIGGERS VALUES ('plan', 't1', 'g', -1, T-5s, 'COMPLETE', NULL)"));
        let mut reader = quartz.reader("", "");
        assert_eq!(reader.says("plan"), "active progressing");
        quartz.store(node);
        assert_eq!(reader.says("plan"), "active progressing");
    }
}

#[test]
fn tables_may_have_another_prefix() {
    for sql in SERVERS {
        let quartz = system(sql);
        for table in ["SCHEDULER_STATE", "TRIGGERS", "FIRED_TRIGGERS"] {
            quartz.database.execute(&format!("ALTER TABLE QRTZ_{table} RENAME TO app_{table}"));
        }
        quartz
            .database
            .execute(&quartz.timed("INSERT INTO app_SCHEDULER_STATE VALUES ('plan', 'host-a1', T-3s, 7500)"));
        assert_eq!(quartz.reader("parameters: { table_prefix: app_ }", "").says("plan"), "idle nothing_due");
        let error = quartz.reader("", "").look().unwrap_err();
        assert_eq!(error.failure().as_str(), "schema_mismatch", "{error}");
    }
}
