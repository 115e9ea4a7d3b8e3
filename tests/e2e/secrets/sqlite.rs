//! Content and location of SQLite files.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::harness::exporter::configure;
use crate::harness::process::{Process, command};
use crate::harness::store::{database, folder, reference};
use crate::harness::{Exporter, run};

const HOLDER: &str = "PLANTED-HOLDER";
const PATH: &str = "PLANTED-PATH";
const KEY: &str = "PLANTED-KEY-0123456789abcdef";
const LITERAL: &str = "PLANTED-LITERAL";
const ROW: &str = "PLANTED-ROW";
const MARK: &str = "PLANTED";

/// Queries with a literal, valid and with every kind of error of SQLite and the exporter.
const QUERIES: [&str; 16] = [
    "SELECT unixepoch() AS store_now, 'a' AS lease, holder FROM own WHERE 'PLANTED-LITERAL' <> 'x'",
    "SELECT unixepoch() AS store_now, 'PLANTED-LITERAL'",
    "SELECT unixepoch() AS store_now, length('PLANTED-LITERAL') FROM own",
    "SELECT unixepoch() AS store_now 'PLANTED-LITERAL' FROM own",
    "SELECT unixepoch() AS store_now FROM own WHERE holder = 'PLANTED-LITERAL",
    "SELECT unixepoch() AS store_now FROM own WHERE holder = 'PLANTED-LITERAL'')'",
    "SELECT json_extract('{}', 'PLANTED-LITERAL') AS store_now",
    "SELECT json_extract('{}', secret) AS store_now FROM own",
    "SELECT secret AS store_now FROM own",
    "SELECT unixepoch() AS store_now, 'a' AS lease, secret AS epoch FROM own",
    "SELECT unixepoch() AS store_now, 'a' AS lease, secret AS renewed_at FROM own",
    "SELECT unixepoch() AS store_now, 'a' AS lease, holder FROM own WHERE holder LIKE 'x' ESCAPE 'PLANTED-LITERAL'",
    "SELECT unixepoch() AS store_now FROM own WHERE holder MATCH 'PLANTED-LITERAL'",
    "SELECT unixepoch() AS store_now, load_extension('PLANTED-LITERAL') AS lease",
    "SELECT unixepoch() AS store_now; SELECT 'PLANTED-LITERAL'",
    "DELETE FROM own WHERE holder = 'PLANTED-LITERAL' RETURNING unixepoch() AS store_now, secret AS lease",
];

/// A configuration of many sources with planted secrets, most of them unreadable.
fn plant(planted: &Path) -> String {
    let at = |name: &str| planted.join(name).display().to_string();
    fs::write(at("token.key"), format!("{KEY}\n")).unwrap();
    // If others can read the file, a warning names its path.
    fs::set_permissions(at("token.key"), fs::Permissions::from_mode(0o600)).unwrap();
    drop(reference(Path::new(&at("sound.db"))).execute_batch(&format!(
        "WITH clock AS (SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER) AS now) INSERT INTO scheduler_lease \
         SELECT 'planner', '{HOLDER}', 1, now, now, now + 3600000 FROM clock"
    )));
    database(
        Path::new(&at("own.db")),
        &format!("CREATE TABLE own (holder, secret); INSERT INTO own VALUES ('{HOLDER}', '{ROW}')"),
    );
    database(Path::new(&at("tables.db")), "CREATE TABLE other (x)");
    fs::write(at("text.db"), format!("{ROW} is no database. ").repeat(100)).unwrap();
    fs::create_dir(at("folder.db")).unwrap();
    let mut yaml = format!("token_key_file: {}\nsources:\n", at("token.key"));
    for file in ["sound", "tables", "text", "folder", "missing"] {
        let store = at(&format!("{file}.db"));
        write!(yaml, "  - name: {file}\n    store: sqlite://{store}\n    preset: reference\n    reuse_for: 0s\n")
            .unwrap();
    }
    for (number, query) in QUERIES.iter().enumerate() {
        let store = at("own.db");
        write!(
            yaml,
            "  - name: query-{number}\n    store: sqlite://{store}\n    reuse_for: 0s\n    query: |-\n      {query}\n"
        )
        .unwrap();
    }
    yaml
}

#[test]
fn nothing_planted_is_in_a_metric_a_page_a_table_a_check_or_a_log() {
    let folder = folder();
    let planted = folder.path().join(PATH);
    fs::create_dir(&planted).unwrap();
    let yaml = plant(&planted);
    for mark in [KEY, LITERAL, PATH, ROW, HOLDER] {
        assert!(mark.starts_with(MARK));
    }
    let mut said = Vec::new();
    for format in ["logfmt", "json"] {
        let (level, format) = ("--log.level=debug", format!("--log.format={format}"));
        let exporter = Exporter::start_with(folder.path(), &yaml, &[level, &format]);
        for path in ["/metrics", "/api/v1/leases", "/", "/-/healthy", "/elsewhere"] {
            said.push((path.to_owned(), exporter.get(path).body));
        }
        let metrics = exporter.scrape();
        assert_eq!(metrics.source("lease_source_up", "sound"), Some(1.0));
        assert_eq!(metrics.source("lease_source_up", "query-0"), Some(1.0));
        let finished = exporter.stop();
        assert!(!finished.stderr.contains("no token_key_file"), "the key is not used");
        for failing in ["missing", "text", "query-15"] {
            assert!(finished.stderr.contains(failing), "{failing} is not logged: {}", finished.stderr);
        }
        said.push((format!("the log as {format}"), finished.all()));
    }
    let config = format!("--config.file={}", configure(folder.path(), &yaml).display());
    for arguments in
        [vec!["status", &config, "--log.level=debug"], vec!["check", &config], vec!["check", "--connect", &config]]
    {
        said.push((arguments.join(" "), run(&arguments).all()));
    }
    for (what, text) in &said {
        let found = text.lines().find(|line| line.contains(MARK));
        assert!(found.is_none(), "{what} says what was planted: {found:?}");
    }
    // The readable sources are shown, so the output was not empty.
    let shown = &said[0].1;
    assert!(shown.contains("lease_holder_info{source=\"sound\",lease=\"planner\",holder=\""), "{shown}");
    let checked = &said.last().unwrap().1;
    for number in 1..QUERIES.len() {
        let source = format!("query-{number}: ");
        let after = checked.split_once(&source).unwrap_or_else(|| panic!("nothing on {source}:\n{checked}")).1;
        let told = after.lines().nth(1).unwrap_or_default();
        assert!(told.contains("cannot be read") || told.contains("read: "), "{source}{told}");
    }
}

#[test]
fn tokens_of_holders_agree_between_exporters_with_one_key_and_differ_without() {
    let folder = folder();
    drop(reference(&folder.path().join("sound.db")).execute_batch(&format!(
        "INSERT INTO scheduler_lease VALUES ('planner', '{HOLDER}', 1, 1000, 1000, 99999999999999)"
    )));
    let source = "sources:\n  - name: s\n    store: sqlite://sound.db\n    preset: reference\n";
    fs::write(folder.path().join("token.key"), KEY).unwrap();
    let token = |yaml: &str| {
        let exporter = Exporter::start(folder.path(), yaml);
        let metrics = exporter.scrape();
        let line = metrics.text().lines().find(|line| line.starts_with("lease_holder_info{")).unwrap_or_default();
        (line.to_owned(), exporter.log().contains("no token_key_file is set"))
    };
    let keyed = format!("token_key_file: token.key\n{source}");
    let (one, warned) = token(&keyed);
    assert!(one.contains("holder=\"") && !warned);
    assert_eq!(token(&keyed).0, one);
    let (random, warned) = token(source);
    assert!(warned);
    assert_ne!(random, one);
    assert_ne!(token(source).0, random);
}

#[test]
fn errors_on_the_command_line_do_not_repeat_a_stores_path() {
    let folder = folder();
    let planted = folder.path().join(PATH);
    fs::create_dir(&planted).unwrap();
    fs::write(planted.join("text.db"), "no database ".repeat(100)).unwrap();
    for file in ["missing.db", "text.db"] {
        let store = format!("--store=sqlite://{}", planted.join(file).display());
        let refused = run(&["scheduler", &store, "--lease=planner"]);
        assert_eq!(refused.code, Some(4), "{}", refused.all());
        assert!(!refused.all().contains(MARK), "{}", refused.all());
    }
    for store in ["sqlite:///PLANTED-PATH/x.db?key=PLANTED-KEY", "sqlite://u:PLANTED-KEY@h/x.db", "PLANTED-PATH"] {
        let yaml = format!("sources:\n  - name: s\n    store: {store}\n    preset: reference\n");
        let config = format!("--config.file={}", configure(folder.path(), &yaml).display());
        let refused = Process::start(command([config])).finish();
        assert_eq!(refused.code, Some(3), "{}", refused.all());
        assert!(!refused.all().contains(MARK), "{}", refused.all());
    }
}
