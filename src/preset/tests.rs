use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{Connection, Row};

use super::{Dialect, FILES, Preset, Takes, Value, file};
use crate::lease::{Clock, Column, Kind};
use crate::store::Statement;

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

fn reference() -> &'static str {
    Preset::named("reference").unwrap().sql(Dialect::Sqlite).unwrap()
}

fn store(rows: &str) -> Connection {
    let store = Connection::open_in_memory().unwrap();
    store.execute_batch(SCHEMA).unwrap();
    store.execute_batch(rows).unwrap();
    store
}

fn read(store: &Connection) -> Vec<Vec<Value>> {
    let mut statement = store.prepare(reference()).unwrap();
    let width = statement.column_count();
    let values = |row: &Row<'_>| (0..width).map(|column| row.get(column)).collect();
    statement.query_map([], values).unwrap().collect::<Result<_, _>>().unwrap()
}

fn columns(store: &Connection) -> Vec<String> {
    store.prepare(reference()).unwrap().column_names().into_iter().map(String::from).collect()
}

/// The row of a lease, from its second column on.
fn row(rows: &[Vec<Value>], lease: &str) -> Vec<Value> {
    rows.iter().find(|row| row[1] == Value::Text(lease.into())).unwrap()[1..].to_vec()
}

fn text(value: &str) -> Value {
    Value::Text(value.into())
}

/// A data file that is good, to put mistakes into.
const SMALL: &str = "
name: small
description: Something small
kind: claim
clock: holder
zone: UTC
freshness: While it is there
ttl: None
epoch: None
progress: None
due: Nothing
columns: [store_now, lease]
caveats: []
parameters:
  table: { takes: identifier, default: small, means: The table }
  grace: { takes: duration, default: 90s, means: How long }
stores:
  postgres:
    grants: GRANT SELECT ({column}) ON {table} TO lease_exporter
    probe: SELECT version FROM {table}
    variants: { old: { column: name }, new: { column: title } }
    sql: SELECT now() AS store_now, {column} AS lease, {grace} FROM {table}
  mysql: { grants: GRANT SELECT ON {table} TO lease_exporter, sql: 'SELECT {grace}' }
";

#[test]
fn every_data_file_in_the_folder_is_a_preset() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/preset");
    let mut found: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yml"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    found.sort();
    for (name, text) in FILES {
        if let Err(error) = file::read(name, text) {
            panic!("{name}.yml: {error}");
        }
    }
    assert_eq!(Preset::all().iter().map(Preset::name).collect::<Vec<_>>(), found);
}

#[test]
fn nothing_is_left_open_in_what_a_preset_asks_and_needs() {
    for preset in Preset::all() {
        let name = preset.name();
        assert!(!preset.about.description.contains('\n'), "{name}: the description is one line");
        for dialect in preset.dialects().filter(|dialect| *dialect != Dialect::Redis) {
            let filled = preset.with([]);
            let views = filled.views(dialect);
            assert!(!views.is_empty(), "{name} {dialect:?}");
            let probe = filled.probe(dialect);
            let texts = views.iter().flat_map(|view| [&view.grants, &view.asks]).chain(&probe);
            for text in texts {
                assert!(!text.contains(['{', '}']), "{name} {dialect:?}: {text}");
            }
        }
    }
}

#[test]
fn a_data_file_with_a_mistake_is_refused_with_what_is_wrong() {
    file::read("small", SMALL).unwrap();
    for (from, to, wrong) in [
        ("name: small", "name: other", "the file is named small and its preset other"),
        ("kind: claim", "kind: leader", "`leader` is none of"),
        ("clock: holder", "clock: wall", "`wall` is none of"),
        ("store_now, ", "", "without `store_now`"),
        ("store_now, ", "store_now, dues, ", "`dues` is none of"),
        ("  mysql:", "  oracle:", "`oracle` is none of"),
        ("{ grants:", "{ rights:", "unknown key `rights`"),
        ("zone: UTC", "zone: ' '", "`zone` says nothing"),
        ("due: Nothing\n", "", "`due` is missing"),
        ("default: small", "default: a b", "the default of `table` cannot be this; write letters"),
        ("default: 90s", "default: soon", "the default of `grace` cannot be this; write a number and a unit"),
        ("takes: identifier", "takes: name", "`name` is none of identifier"),
        ("  table:", "  Table:", "`Table` needs a name of small letters"),
        ("means: How long", "means: ''", "`grace` needs a name of small letters and `_`, and a meaning"),
        ("'SELECT {grace}'", "'SELECT {gracious}'", "mysql: `{gracious}` is neither a parameter nor"),
        ("'SELECT {grace}'", "' '", "mysql: `grants` or `sql` is empty"),
        ("parameters:\n", "parameters:\n  idle: { takes: flag, means: x }\n", "nothing has `{idle}` in it"),
        ("takes: duration", "takes: text", "`{grace}` takes any text, which must not get into SQL"),
        (
            "new: { column: title }",
            "new: { title: title }",
            "postgres: the variants give `title`, which nothing asks for",
        ),
        ("new: { column: title }", "new: {}", "postgres: the variant `new` does not give `column`"),
        ("    probe: SELECT version FROM {table}\n", "", "postgres: `probe` and `variants` belong together"),
        ("sql: 'SELECT {grace}'", "sql: 'SELECT {grace}', probe: SELECT 1", "mysql: `probe` and `variants` belong"),
    ] {
        let text = SMALL.replacen(from, to, 1);
        assert_ne!(text, SMALL, "{from}");
        let error = file::read("small", &text).expect_err(to);
        assert!(error.contains(wrong), "{to}: {error}");
    }
}

#[test]
fn parameters_and_variants_fill_what_is_asked() {
    let preset = file::read("small", SMALL).unwrap();
    let filled = preset.with([("table", Value::parse(Takes::Identifier, "mine").unwrap())]);
    let views = filled.views(Dialect::Postgres);
    let of = |variant: &str| views.iter().find(|view| view.variant.as_deref() == Some(variant)).unwrap();
    assert_eq!(of("old").asks, "SELECT now() AS store_now, name AS lease, 90 FROM mine");
    assert_eq!(of("new").grants, "GRANT SELECT (title) ON mine TO lease_exporter");
    let Some(Statement::Probed { probe, variants }) = filled.statement(Dialect::Postgres) else { panic!() };
    assert_eq!(&*probe, "SELECT version FROM mine");
    assert_eq!(*Statement::variant(&variants, Some("new")).unwrap(), *of("new").asks);
    assert!(matches!(filled.statement(Dialect::Mysql), Some(Statement::Fixed(sql)) if *sql == *"SELECT 90"));
    assert!(filled.statement(Dialect::Redis).is_none() && filled.views(Dialect::Redis).is_empty());
    let names = |dialect| preset.parameters_of(dialect).map(|parameter| &*parameter.name).collect::<Vec<_>>();
    assert_eq!((names(Dialect::Postgres), names(Dialect::Sqlite)), (vec!["grace", "table"], vec![]));
}

#[test]
fn reference_is_a_standing_lease_on_the_stores_clock_and_returns_what_it_says() {
    let preset = Preset::named("reference").unwrap();
    assert_eq!((preset.kind, preset.clock), (Kind::Standing, Clock::Store));
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

/// What makes it as fast as a bare join of the tables: every step goes through a key, and nothing but the one row of
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
