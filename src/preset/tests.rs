mod reference;

use std::path::Path;

use super::{FILES, ParameterType, Preset, Value, file};
use crate::store::Statement;
use crate::store::query::Query;
use crate::store::redis::keys::KeyLayout;

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
  mysql:
    grants: GRANT SELECT ON {table} TO lease_exporter
    sql: 'SELECT {grace}'
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
        for store in preset.stores().filter(|store| *store != "redis") {
            let filled = preset.with([]);
            let views = filled.views(store);
            assert!(!views.is_empty(), "{name} {store}");
            let probe = filled.probe(store);
            let texts = views.iter().flat_map(|view| [&view.grants, &view.query]).chain(&probe);
            for text in texts {
                assert!(!text.contains(['{', '}']), "{name} {store}: {text}");
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
        ("  mysql:\n    grants:", "  mysql:\n    rights:", "unknown key `rights`"),
        ("zone: UTC", "zone: ' '", "`zone` says nothing"),
        ("due: Nothing\n", "", "`due` is missing"),
        ("default: small", "default: a b", "the default of `table` cannot be this; write letters"),
        ("default: 90s", "default: soon", "the default of `grace` cannot be this; write a number and a unit"),
        ("default: 90s", "example: soon", "the example of `grace` cannot be this; write a number and a unit"),
        ("takes: identifier", "takes: name", "`name` is none of identifier"),
        ("  table:", "  Table:", "`Table` needs a name of small letters"),
        ("means: How long", "means: ''", "`grace` needs a name of small letters and `_`, and a meaning"),
        ("'SELECT {grace}'", "'SELECT {gracious}'", "mysql: `{gracious}` is neither a parameter nor"),
        ("'SELECT {grace}'", "' '", "mysql: `sql` is missing or empty"),
        ("grants: GRANT SELECT ON {table} TO lease_exporter", "grants: ''", "mysql: `grants` is empty"),
        ("  mysql:", "  redis:", "unknown key `sql`; the keys here are grants, keys"),
        ("parameters:\n", "parameters:\n  idle: { takes: flag, means: x }\n", "nothing has `{idle}` in it"),
        ("takes: duration", "takes: text", "`{grace}` takes any text, which must not get into SQL"),
        (
            "new: { column: title }",
            "new: { title: title }",
            "postgres: the variants give `title`, which nothing asks for",
        ),
        ("new: { column: title }", "new: {}", "postgres: the variant `new` does not give `column`"),
        ("    probe: SELECT version FROM {table}\n", "", "postgres: `probe` and `variants` belong together"),
        ("sql: 'SELECT {grace}'", "sql: 'SELECT {grace}'\n    probe: SELECT 1", "mysql: `probe` and `variants` belong"),
    ] {
        let text = SMALL.replacen(from, to, 1);
        assert_ne!(text, SMALL, "{from}");
        let error = file::read("small", &text).expect_err(to);
        assert!(error.contains(wrong), "{to}: {error}");
    }
}

/// The same in a store of keys.
const KEYS: &str = "
name: keys
description: Something small
kind: standing
clock: store
zone: UTC
freshness: While it is there
ttl: None
epoch: None
progress: None
due: Nothing
columns: [store_now, lease, holder, renewed_at, expires_at, due, oldest_due_at]
caveats: []
parameters:
  prefix: { takes: text, default: 'app:', means: The prefix }
  lasts: { takes: duration, default: 90s, means: How long }
stores:
  redis:
    grants: ACL SETUSER lease_exporter on ~{prefix}*
    keys: { lock: '{prefix}lock:*', ttl: '{lasts}', due_set: '{key}:due' }
";

#[test]
fn parameters_fill_keys_and_what_keys_say_of_the_lease_stays() {
    let preset = file::read("keys", KEYS).unwrap();
    let filled = preset.with([("prefix", Value::parse(ParameterType::Text, "mine:").unwrap())]);
    let [view] = filled.views("redis").try_into().unwrap();
    assert_eq!(view.grants, "ACL SETUSER lease_exporter on ~mine:*");
    assert_eq!(view.query, "lock: mine:lock:*\nttl: 1m 30s\ndue_set: {key}:due\n");
    let is_layout = |query: Box<dyn Query>| query.downcast::<KeyLayout>().is_some();
    assert!(filled.query("redis").is_some_and(is_layout) && filled.query("postgres").is_none());
    for (from, to, wrong) in [
        ("due_set: '{key}:due'", "sets: x", "unknown key `sets`"),
        ("due_set: '{key}:due'", "due_set: due", "redis: `due_set` is the same key for all leases"),
        ("holder, ", "", "redis: such keys give `holder` too, which `columns` leaves out"),
        ("'{lasts}'", "soon", "redis: `ttl` is no length of time"),
        ("  prefix:", "  name:", "redis: `{name}` stands for the lease's in keys"),
    ] {
        let error = file::read("keys", &KEYS.replacen(from, to, 1)).expect_err(to);
        assert!(error.contains(wrong), "{to}: {error}");
    }
}

#[test]
fn parameters_and_variants_fill_what_is_asked() {
    let preset = file::read("small", SMALL).unwrap();
    let filled = preset.with([("table", Value::parse(ParameterType::Identifier, "mine").unwrap())]);
    let views = filled.views("postgres");
    let of = |variant: &str| views.iter().find(|view| view.variant.as_deref() == Some(variant)).unwrap();
    assert_eq!(of("old").query, "SELECT now() AS store_now, name AS lease, 90 FROM mine");
    assert_eq!(of("new").grants, "GRANT SELECT (title) ON mine TO lease_exporter");
    let statement = |store| filled.query(store).unwrap().downcast::<Statement>();
    let probed = statement("postgres").unwrap();
    assert_eq!(probed.probe().map(|probe| &**probe), Some("SELECT version FROM mine"));
    assert_eq!(*probed.chosen(Some("new")).unwrap(), *of("new").query);
    assert!(matches!(statement("mysql"), Some(Statement::Fixed(sql)) if *sql == *"SELECT 90"));
    assert!(filled.query("redis").is_none() && filled.views("redis").is_empty());
    let names = |store| preset.parameters_of(store).map(|parameter| &*parameter.name).collect::<Vec<_>>();
    assert_eq!((names("postgres"), names("sqlite")), (vec!["grace", "table"], vec![]));
}
