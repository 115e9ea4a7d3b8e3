//! The reference preset on SQLite.

use rusqlite::types::Value;
use rusqlite::{Connection, Row};

use crate::lease::{Clock, Column, LeaseKind};
use crate::preset::Preset;

/// The tables of the reference protocol, as far as reading them goes.
const SCHEMA: &str = "
    CREATE TABLE scheduler_lease (
        lease TEXT NOT NULL PRIMARY KEY, holder TEXT, epoch INTEGER NOT NULL,
        acquired_at_ms INTEGER, renewed_at_ms INTEGER, expires_at_ms INTEGER
    );
    CREATE TABLE scheduler_progress (
        lease TEXT NOT NULL PRIMARY KEY, epoch INTEGER NOT NULL, progress_at_ms INTEGER NOT NULL, cursor INTEGER NOT NULL
    );
    CREATE TABLE occurrence (
        idempotency_key TEXT NOT NULL PRIMARY KEY, lease TEXT NOT NULL, action TEXT NOT NULL, due_at_ms INTEGER NOT NULL,
        planned_at_ms INTEGER, planned_epoch INTEGER, planned_by TEXT
    );
    CREATE INDEX occurrence_unplanned ON occurrence (lease, due_at_ms) WHERE planned_at_ms IS NULL;
";

fn reference() -> String {
    Preset::named("reference").unwrap().query_text("sqlite").unwrap()
}

fn store(rows: &str) -> Connection {
    let store = Connection::open_in_memory().unwrap();
    store.execute_batch(SCHEMA).unwrap();
    store.execute_batch(rows).unwrap();
    store
}

fn read(store: &Connection) -> Vec<Vec<Value>> {
    let mut statement = store.prepare(&reference()).unwrap();
    let width = statement.column_count();
    let values = |row: &Row<'_>| (0..width).map(|column| row.get(column)).collect();
    statement.query_map([], values).unwrap().collect::<Result<_, _>>().unwrap()
}

fn columns(store: &Connection) -> Vec<String> {
    store.prepare(&reference()).unwrap().column_names().into_iter().map(String::from).collect()
}

/// The row of a lease, from its second column on.
fn row(rows: &[Vec<Value>], lease: &str) -> Vec<Value> {
    rows.iter().find(|row| row[1] == Value::Text(lease.into())).unwrap()[1..].to_vec()
}

fn text(value: &str) -> Value {
    Value::Text(value.into())
}

#[test]
fn reference_is_a_standing_lease_on_the_stores_clock_and_returns_what_it_says() {
    let preset = Preset::named("reference").unwrap();
    assert_eq!((preset.kind, preset.clock), (LeaseKind::Standing, Clock::Store));
    let declared: Vec<&str> =
        Column::ALL.into_iter().filter(|column| preset.columns.has(*column)).map(Column::as_str).collect();
    assert_eq!(columns(&store("")), declared);
}

#[test]
fn reference_gives_the_clock_alone_where_there_is_no_lease() {
    let occurrence = "INSERT INTO occurrence (idempotency_key, lease, action, due_at_ms) VALUES ('k', 'a', 'x', 1)";
    for rows in [read(&store("")), read(&store(occurrence))] {
        let [row] = rows.as_slice() else { panic!("{rows:?}") };
        let Value::Real(now) = row[0] else { panic!("{row:?}") };
        assert!((now - crate::clock::unix_seconds()).abs() < 60.0, "{now}");
        assert!(row[1..].iter().all(|value| *value == Value::Null), "{row:?}");
    }
}

#[test]
fn reference_gives_each_lease_with_its_progress_and_what_is_due() {
    let rows = read(&store(
        "INSERT INTO scheduler_lease VALUES
            ('held', 'host-1', 9223372036854775807, 1767225600125, 1767225601250, 1767225602500),
            ('free', NULL, 3, 1767225600000, 1767225600000, 1767225600000),
            ('busy', 'host-2', 1, 1767225600000, 1767225600000, 1767225600000);
         INSERT INTO scheduler_progress VALUES ('held', 4, 1767225600750, 17), ('never held', 1, 1, 1);
         INSERT INTO occurrence VALUES
            ('h1', 'held', 'x', 1767225500500, NULL, NULL, NULL),
            ('h2', 'held', 'x', 1767225400500, NULL, NULL, NULL),
            ('planned', 'held', 'x', 1767225300500, 1767225300600, 4, 'host-1'),
            ('later', 'held', 'x', 253402300799000, NULL, NULL, NULL),
            ('later too', 'free', 'x', 253402300799000, NULL, NULL, NULL);
         WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 10100)
         INSERT INTO occurrence SELECT 'b' || n, 'busy', 'x', 1000 * n, NULL, NULL, NULL FROM number;",
    ));
    let names: Vec<_> = rows.iter().map(|row| row[1].clone()).collect();
    assert_eq!(names, [text("busy"), text("free"), text("held")], "sorted by name");
    assert!(rows.iter().all(|row| row[0] == rows[0][0]), "one clock for all");
    let real = Value::Real;
    assert_eq!(
        row(&rows, "held"),
        [
            text("held"),
            text("host-1"),
            Value::Integer(i64::MAX),
            real(1_767_225_600.125),
            real(1_767_225_601.25),
            real(1_767_225_602.5),
            real(1_767_225_600.75),
            Value::Integer(4),
            Value::Integer(17),
            Value::Integer(2),
            real(1_767_225_400.5),
        ]
    );
    let released = row(&rows, "free");
    assert_eq!(released[1], Value::Null, "the holder");
    assert_eq!(released[6..9], [Value::Null, Value::Null, Value::Null], "no progress");
    assert_eq!(released[9..], [Value::Integer(0), Value::Null], "nothing due");
    assert_eq!(row(&rows, "busy")[9..], [Value::Integer(10_001), real(1.0)], "counting stops");
}

/// The query is as fast as a bare join of the tables: every step goes through a key, and nothing but the one row of
/// the clock is sorted.
#[test]
fn reference_reads_through_keys_and_sorts_no_leases() {
    let store = store("");
    let mut statement = store.prepare(&format!("EXPLAIN QUERY PLAN {}", reference())).unwrap();
    let steps = statement.query_map([], |row| row.get::<_, String>(3)).unwrap();
    let plan: Vec<String> = steps.collect::<Result<_, _>>().unwrap();
    let has = |step: &str| plan.iter().any(|line| line.contains(step));
    assert!(has("MERGE (UNION ALL)"), "{plan:#?}");
    assert!(has("SCAN held USING INDEX sqlite_autoindex_scheduler_lease_1"), "{plan:#?}");
    assert!(has("SEARCH made USING INDEX sqlite_autoindex_scheduler_progress_1 (lease=?)"), "{plan:#?}");
    assert!(has("USING INDEX occurrence_unplanned (lease=? AND due_at_ms<?)"), "{plan:#?}");
    assert!(!has("SCAN occurrence") && !has("AUTOMATIC"), "{plan:#?}");
    assert_eq!(plan.iter().filter(|line| line.contains("MATERIALIZE clock")).count(), 1, "{plan:#?}");
    let sorted = plan.iter().position(|line| line.contains("TEMP B-TREE"));
    let second_half = plan.iter().position(|line| line == "RIGHT");
    assert!(sorted > second_half, "{plan:#?}");
}
