//! PostgreSQL as a store: the contract, hostile rows, what only PostgreSQL has, and what it costs the server.

use std::path::Path;

use tempfile::TempDir;

use super::harness::store::folder;
use super::harness::{Exporter, Metrics, check, promtool};
use super::servers::{self, Certificates, Database, Kind, Server};

const SOURCE: &str = "own";

/// A source that reads a database by a query; `more` are further keys, a line each.
fn config(database: &Database, more: &str, query: &str) -> String {
    let query = query.replace('\n', "\n      ");
    let more: String = more.lines().map(|line| format!("    {line}\n")).collect();
    format!(
        "sources:\n  - name: {SOURCE}\n    store: {}\n    password_file: {}\n    reuse_for: 0s\n{more}    query: |-\n      \
         {query}\n",
        database.url(),
        database.password_file().display()
    )
}

/// What a look at a source comes to when it cannot be read: the reason, and what is told.
fn refused(folder: &Path, yaml: &str) -> String {
    let check = check(folder, yaml);
    assert_eq!(check.code, Some(2), "{}", check.all());
    let line = check.stdout.lines().find(|line| line.contains("cannot be read"));
    line.unwrap_or_else(|| panic!("{}", check.all())).to_owned()
}

const LEASES: &str = "CREATE TABLE leases (lease text, holder text, epoch numeric, acquired_at timestamptz, \
    renewed_at timestamptz, expires_at timestamptz, ttl_seconds float8, progress_at timestamptz, \
    progress_epoch numeric, progress_cursor text, due int8, oldest_due_at timestamptz);
    INSERT INTO leases SELECT 'sound', 'someone', 7, now() - interval '100 s', now() - interval '1 s', \
    now() + interval '600 s', 600, now() - interval '2 s', 7, '41', 3, now() - interval '1 s';";

const READ: &str =
    "SELECT statement_timestamp() AS store_now, leases.* FROM (SELECT 1) AS one LEFT JOIN leases ON true";

/// A database with one sound lease in it.
struct Table {
    folder: TempDir,
    database: Database,
}

impl Table {
    fn new() -> Self {
        let database = servers::postgres().database();
        database.execute(LEASES);
        Self { folder: folder(), database }
    }

    /// Puts in a row of this name that is sound but for what `change` sets.
    fn add(&self, lease: &str, change: &str) {
        self.database.execute(&format!(
            "CREATE TEMP TABLE made AS SELECT * FROM leases WHERE lease = 'sound';
             UPDATE made SET lease = '{lease}'; UPDATE made SET {change}; INSERT INTO leases SELECT * FROM made;"
        ));
    }

    fn exporter(&self) -> Exporter {
        Exporter::start(self.folder.path(), &config(&self.database, "", READ))
    }
}

fn says<'a>(metrics: &'a Metrics, lease: &str) -> (&'a str, &'a str) {
    metrics.says(SOURCE, lease).unwrap_or_else(|| panic!("no {lease} in\n{}", metrics.text()))
}

fn rejected(metrics: &Metrics, reason: &str) -> f64 {
    metrics.counted("lease_source_rows_rejected_total", SOURCE, reason)
}

#[test]
fn every_deviation_of_a_query_from_the_contract_is_told_by_name() {
    let (folder, database) = (folder(), servers::postgres().database());
    database.execute(
        "CREATE TABLE job (name text, beat float8, secret text); INSERT INTO job VALUES ('nightly', 1, 'planted')",
    );
    for (query, reason, told) in [
        ("SELECT now() AS store_now, name AS lease, beat AS last_beat FROM job", "schema_mismatch", "`last_beat`"),
        ("SELECT name AS lease FROM job", "schema_mismatch", "`store_now`"),
        ("SELECT now() AS store_now, 1 AS due, 2 AS due", "schema_mismatch", "the column `due` twice"),
        ("SELECT now() AS store_now, 1 AS other WHERE false", "schema_mismatch", "`other`"),
        ("SELECT now() AS store_now FROM jobs", "schema_mismatch", "relation \"jobs\" does not exist"),
        ("SELECT now() AS store_now, title AS lease FROM job", "schema_mismatch", "column \"title\" does not exist"),
        ("SELECT unixepoch() AS store_now", "schema_mismatch", "function unixepoch() does not exist"),
        ("SELEC now() AS store_now", "schema_mismatch", "syntax error"),
        ("SELECT now() AS store_now; DELETE FROM job", "schema_mismatch", "more than one statement"),
        ("SELECT $1::float8 AS store_now", "schema_mismatch", "has parameters"),
        ("COMMIT", "schema_mismatch", "must be one SELECT"),
        ("SET default_transaction_read_only = off", "schema_mismatch", "must be one SELECT"),
        ("SELECT now() AS store_now FROM job WHERE name = 'none'", "invalid_record", "returned no row"),
        ("SELECT NULL AS store_now", "invalid_record", "`store_now` is NULL"),
        ("SELECT 'infinity'::timestamptz AS store_now", "invalid_record", "`store_now` is out_of_range"),
        ("SELECT now() AS store_now, secret::int AS due FROM job", "invalid_record", "(22P02)"),
        ("SELECT now() AS store_now, pg_sleep(30)::text AS lease", "store_timeout", "time"),
    ] {
        let line = refused(folder.path(), &config(&database, "timeout: 2s", query));
        assert!(line.contains(&format!("({reason})")) && line.contains(told), "{query}: {line}");
        assert!(!line.contains("planted"), "{line}");
    }
}

#[test]
fn nothing_can_be_written_even_by_who_may() {
    let (folder, database) = (folder(), servers::postgres().database());
    database.execute("CREATE TABLE job (name text); CREATE SEQUENCE numbers");
    database.execute(&format!(
        "GRANT ALL ON ALL TABLES IN SCHEMA public TO {0}; GRANT ALL ON ALL SEQUENCES IN SCHEMA \
        public TO {0}",
        database.reader().name()
    ));
    for query in [
        "INSERT INTO job VALUES ('x') RETURNING now() AS store_now",
        "WITH gone AS (DELETE FROM job RETURNING 1) SELECT now() AS store_now",
        "TRUNCATE job",
        "DROP TABLE job",
        "CREATE TABLE other (x int)",
        "SELECT now() AS store_now, nextval('numbers')::text AS lease",
        "SELECT now() AS store_now, name AS lease FROM job FOR UPDATE",
    ] {
        let line = refused(folder.path(), &config(&database, "", query));
        assert!(line.contains("(schema_mismatch)") && line.contains("would write"), "{query}: {line}");
    }
}

#[test]
fn a_value_that_a_column_cannot_have_costs_its_own_lease_alone_and_is_counted() {
    let table = Table::new();
    let cases = [
        ("negative epoch", "epoch = -1", "out_of_range"),
        ("epoch with a fraction", "epoch = 1.5", "wrong_type"),
        ("epoch that is none", "epoch = 'NaN'", "wrong_type"),
        ("epoch beyond 64 bits", "epoch = 18446744073709551616", "out_of_range"),
        ("infinite renewal", "renewed_at = 'infinity'", "out_of_range"),
        ("renewal before all time", "renewed_at = '-infinity'", "out_of_range"),
        ("year 20000", "oldest_due_at = '20000-01-01'", "out_of_range"),
        ("4713 BC", "acquired_at = '4713-01-01 BC'", "out_of_range"),
        ("holder of 64 KiB", "holder = repeat('x', 65536)", "name_too_long"),
        ("cursor of 64 KiB", "progress_cursor = repeat('x', 65536)", "out_of_range"),
        ("negative due", "due = -5", "out_of_range"),
        ("no time to live", "ttl_seconds = 0", "out_of_range"),
        ("time to live without end", "ttl_seconds = 'infinity'", "out_of_range"),
    ];
    for (name, change, _) in cases {
        table.add(name, change);
    }
    table.add("x", "lease = repeat('x', 65536)");
    table.add("x", "lease = NULL");
    let exporter = table.exporter();
    let metrics = exporter.scrape();
    assert_eq!(says(&metrics, "sound"), ("active", "progressing"));
    for (name, ..) in cases {
        assert_eq!(says(&metrics, name), ("unknown", "invalid_record"), "{name}");
        assert_eq!(metrics.of("lease_epoch", SOURCE, name), None, "{name}: part of a bad row is shown");
    }
    for reason in ["out_of_range", "wrong_type"] {
        let expected = cases.iter().filter(|(_, _, counted)| *counted == reason).count();
        assert_eq!(rejected(&metrics, reason), expected as f64, "{reason}");
    }
    assert_eq!((rejected(&metrics, "name_too_long"), rejected(&metrics, "no_name")), (2.0, 1.0));
    assert_eq!(metrics.leases(SOURCE).len(), cases.len() + 1);
    promtool::accepts(metrics.text());
    table.database.execute("DELETE FROM leases WHERE lease <> 'sound' OR lease IS NULL");
    for (name, ..) in cases {
        table.add(name, "due = 3");
    }
    let metrics = exporter.scrape();
    for (name, ..) in cases {
        assert_eq!(says(&metrics, name), ("active", "progressing"), "{name}, put right");
    }
}

#[test]
fn what_is_odd_but_possible_is_shown_as_it_is() {
    let table = Table::new();
    let epochs = ["9007199254740993", "9223372036854775807", "18446744073709551615", "0"];
    for epoch in epochs {
        table.add(epoch, &format!("epoch = {epoch}, progress_epoch = {epoch}"));
    }
    table.add("before 1970", "acquired_at = '1969-07-20', progress_at = '1969-07-20'");
    table.add("tomorrow", "renewed_at = now() + interval '1 day', expires_at = now() + interval '2 days'");
    table.add("control \u{1b}[31m and \n line", "due = 0");
    for column in ["holder", "epoch", "renewed_at", "progress_at", "due", "oldest_due_at"] {
        table.add(&format!("null {column}"), &format!("{column} = NULL"));
    }
    table.add("twice", "due = 0");
    table.add("twice", "due = 1");
    let metrics = table.exporter().scrape();
    for epoch in epochs {
        assert_eq!(metrics.text_of("lease_epoch", &[("source", SOURCE), ("lease", epoch)]), Some(epoch));
        assert_eq!(says(&metrics, epoch), ("active", "progressing"), "{epoch}");
    }
    for (lease, expected) in [
        ("before 1970", ("unknown", "invalid_record")),
        ("tomorrow", ("unknown", "clock_skew")),
        ("control \u{1b}[31m and \n line", ("active", "progressing")),
        ("null holder", ("no_leader", "released")),
        ("null epoch", ("unknown", "invalid_record")),
        ("null renewed_at", ("active", "progressing")),
        ("null progress_at", ("unknown", "not_observed_yet")),
        ("null due", ("active", "progressing")),
        ("twice", ("unknown", "invalid_record")),
    ] {
        assert_eq!(says(&metrics, lease), expected, "{lease}");
    }
    assert_eq!(rejected(&metrics, "duplicate"), 2.0);
    promtool::accepts(metrics.text());
}

#[test]
fn every_type_that_a_column_may_have_is_read() {
    let folder = folder();
    let database = servers::postgres().database();
    database.execute("CREATE TYPE mood AS ENUM ('calm'); CREATE DOMAIN named AS text");
    for (value, column) in [
        ("7::int2", "epoch"),
        ("7::int4", "epoch"),
        ("7::int8", "epoch"),
        ("7::numeric", "epoch"),
        ("'7'::text", "epoch"),
        ("'h'::varchar", "holder"),
        ("'h'::char(3)", "holder"),
        ("'h'::name", "holder"),
        ("'h'::named", "holder"),
        ("'calm'::mood", "holder"),
        ("gen_random_uuid()", "holder"),
        ("extract(epoch FROM now())", "renewed_at"),
        ("extract(epoch FROM now())::float8", "renewed_at"),
        ("extract(epoch FROM now())::int8", "renewed_at"),
        ("now()", "renewed_at"),
        ("now() AT TIME ZONE 'UTC'", "renewed_at"),
        ("'2026-01-01'::date", "acquired_at"),
        ("to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')", "renewed_at"),
        ("interval '1 hour'", "ttl_seconds"),
        ("30", "ttl_seconds"),
        ("30.5", "ttl_seconds"),
        ("gen_random_uuid()", "progress_cursor"),
        ("now()", "progress_cursor"),
        ("1.5", "progress_cursor"),
        ("7::numeric", "due"),
    ] {
        let query = format!("SELECT now() AS store_now, 'a' AS lease, {value} AS {column}");
        let checked = check(folder.path(), &config(&database, "", &query));
        assert_eq!(checked.code, Some(0), "{value} AS {column}: {}", checked.all());
    }
    for (value, column) in
        [("true", "due"), ("'{}'::jsonb", "holder"), ("'\\x00'::bytea", "holder"), ("'{1}'::int[]", "due")]
    {
        let query = format!("SELECT now() AS store_now, 'a' AS lease, {value} AS {column}");
        let checked = check(folder.path(), &config(&database, "", &query));
        assert!(checked.stdout.contains(&format!("column {column}: wrong_type")), "{value}: {}", checked.all());
    }
}

/// The same moment stored without a zone by an application in Tokyo; the session's zone must not matter.
#[test]
fn a_timestamp_without_zone_is_of_the_declared_zone_whatever_the_sessions_is() {
    let folder = folder();
    let database = servers::postgres().database();
    for session in ["Asia/Tokyo", "America/Los_Angeles", "UTC"] {
        database.execute(&format!("ALTER ROLE {} SET timezone = '{session}'", database.reader().name()));
        for (declared, written) in [("UTC", "UTC"), ("+09:00", "Asia/Tokyo")] {
            let query = format!(
                "SELECT now() AS store_now, 'a' AS lease, 'h' AS holder, \
                 (now() - interval '7 s') AT TIME ZONE '{written}' AS renewed_at, \
                 (now() + interval '60 s') AT TIME ZONE '{written}' AS expires_at"
            );
            let more = format!("time_zone: \"{declared}\"");
            let exporter = Exporter::start(folder.path(), &config(&database, &more, &query));
            let age = exporter.scrape().of("lease_age_seconds", SOURCE, "a");
            assert_eq!(age, Some(7.0), "declared {declared}, session {session}");
        }
    }
}

#[test]
fn rows_that_row_level_security_would_hide_are_noticed() {
    let table = Table::new();
    let exporter = table.exporter();
    assert_eq!(says(&exporter.scrape(), "sound"), ("active", "progressing"));
    table.database.execute("ALTER TABLE leases ENABLE ROW LEVEL SECURITY");
    assert_eq!(says(&exporter.scrape(), "sound"), ("unknown", "store_refused"));
    let line = exporter.process().stderr.wait_for("reason=store_refused");
    assert!(line.contains("row-level security hides rows") && line.contains("leases"), "{line}");
    table.database.execute(&format!("ALTER ROLE {} BYPASSRLS", table.database.reader().name()));
    assert_eq!(says(&exporter.scrape(), "sound"), ("active", "progressing"));
}

/// A database without an encoding takes any bytes for text.
#[test]
fn a_text_in_invalid_utf8_costs_its_own_lease_alone() {
    let table = Table::new();
    let name = format!("{}_ascii", table.database.name());
    table.database.execute(&format!(
        "CREATE DATABASE {name} ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    ));
    table.database.execute(&format!(
        "\\connect {name}\n{LEASES} GRANT SELECT ON leases TO {};
         INSERT INTO leases SELECT 'holder', E'\\xc3\\x28', 7, acquired_at, renewed_at, expires_at FROM leases;
         INSERT INTO leases SELECT E'\\xff\\xfe', 'h', 7, acquired_at, renewed_at, expires_at FROM leases LIMIT 1;",
        table.database.reader().name()
    ));
    let yaml =
        config(&table.database, "", READ).replace(&format!("/{}\n", table.database.name()), &format!("/{name}\n"));
    let exporter = Exporter::start(table.folder.path(), &yaml);
    let metrics = exporter.scrape();
    assert_eq!(says(&metrics, "sound"), ("active", "progressing"), "{}", exporter.log());
    assert_eq!(says(&metrics, "holder"), ("unknown", "invalid_record"));
    assert_eq!((metrics.leases(SOURCE).len(), rejected(&metrics, "unreadable")), (2, 2.0));
    drop(exporter);
    table.database.execute(&format!("DROP DATABASE {name} WITH (FORCE)"));
}

/// What looks like a name in a server's message may be a value of a row.
#[test]
fn no_value_of_a_row_is_told_as_a_name() {
    let (folder, database) = (folder(), servers::postgres().database());
    database.execute(
        "CREATE TABLE job (secret text); INSERT INTO job VALUES ('planted');
         CREATE FUNCTION raised(code text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN
             RAISE EXCEPTION 'column % does not exist', (SELECT secret FROM job) USING ERRCODE = code;
         END $$;",
    );
    for value in ["secret::regclass::text", "raised('42703')", "raised('42501')", "raised('42P01')", "raised('P0001')"]
    {
        let query = format!("SELECT now() AS store_now, {value} AS lease FROM job");
        let line = refused(folder.path(), &config(&database, "", &query));
        assert!(!line.contains("planted"), "{value}: {line}");
    }
}

#[test]
fn a_socket_stands_in_the_place_of_the_host() {
    let table = Table::new();
    let server = servers::postgres();
    // Whoever reaches the private socket is let in.
    let socket = server.socket_dir().join(format!(".s.PGSQL.{}", server.port()));
    let socket = socket.to_str().unwrap().replace('/', "%2F");
    let host = format!("127.0.0.1:{}", server.port());
    let read = check(table.folder.path(), &config(&table.database, "", READ).replace(&host, &socket));
    assert_eq!(read.code, Some(0), "{}", read.all());
}

#[test]
fn a_schema_is_where_unqualified_names_are_looked_up() {
    let folder = folder();
    let database = servers::postgres().database();
    database.execute(&format!(
        "CREATE SCHEMA \"Jobs\"; GRANT USAGE ON SCHEMA \"Jobs\" TO {}; SET search_path = \"Jobs\"; {LEASES}",
        database.reader().name()
    ));
    assert!(refused(folder.path(), &config(&database, "", READ)).contains("relation \"leases\" does not exist"));
    let exporter = Exporter::start(folder.path(), &config(&database, "schema: Jobs", READ));
    assert_eq!(says(&exporter.scrape(), "sound"), ("active", "progressing"));
}

#[test]
fn the_least_right_is_to_select_the_columns_that_are_read() {
    let folder = folder();
    let database = servers::postgres().database();
    let reader = database.reader().name();
    database.execute(&format!(
        "CREATE TABLE job (name text, payload text); INSERT INTO job VALUES ('nightly', 'planted');
         REVOKE ALL ON job FROM {reader}; GRANT SELECT (name) ON job TO {reader};"
    ));
    let sound = "SELECT now() AS store_now, name AS lease FROM job";
    assert_eq!(check(folder.path(), &config(&database, "", sound)).code, Some(0));
    let line = refused(folder.path(), &config(&database, "", "SELECT now() AS store_now, payload AS lease FROM job"));
    assert!(line.contains("(store_refused)") && line.contains("permission denied for table job"), "{line}");
}

#[test]
fn a_standby_is_refused_with_the_reason_be_its_tables_logged_or_not() {
    let primary = Server::start(Kind::Postgres, &[]);
    let database = primary.database();
    database.execute(LEASES);
    database.execute("CREATE UNLOGGED TABLE unlogged AS SELECT * FROM leases");
    let standby = primary.standby(&[]);
    let folder = folder();
    let at_standby = |query: &str| {
        config(&database, "", query).replace(&format!(":{}/", primary.port()), &format!(":{}/", standby.port()))
    };
    for query in [READ.to_owned(), READ.replace("leases", "unlogged")] {
        assert_eq!(check(folder.path(), &config(&database, "", &query)).code, Some(0), "on the primary");
        let line = refused(folder.path(), &at_standby(&query));
        assert!(line.contains("(store_refused)") && line.contains("is a standby"), "{line}");
    }
}

#[test]
fn a_protected_connection_is_verified_and_may_ask_for_a_certificate() {
    let certificates = Certificates::make();
    let server = Server::start_with_tls(Kind::Postgres, &certificates, &[]);
    let database = server.database();
    database.execute(LEASES);
    let folder = folder();
    let yaml = |tls: &str| config(&database, &format!("tls: {{ {tls} }}"), READ);
    let ca = format!("ca_file: {}", certificates.ca_file().display());
    let read = check(folder.path(), &yaml(&ca));
    assert_eq!(read.code, Some(0), "{}", read.all());
    let stranger = format!("ca_file: {}", certificates.stranger_ca_file().display());
    for (tls, reason, told) in [
        ("mode: \"off\"", "store_refused", "refuses"),
        ("mode: verify", "store_unreachable", "not signed by anyone trusted"),
        (stranger.as_str(), "store_unreachable", "not signed by anyone trusted"),
        ("ca_file: none.pem", "store_refused", "`ca_file` names is not there"),
    ] {
        let line = refused(folder.path(), &yaml(tls));
        assert!(line.contains(&format!("({reason})")) && line.contains(told), "{tls}: {line}");
    }
    // With a certificate in its name the reader needs no password.
    database.require_certificate();
    let identity = |certificate: servers::Certificate| {
        let (cert, key) = (certificate.certificate_file, certificate.key_file);
        format!("{ca}, cert_file: {}, key_file: {}", cert.display(), key.display())
    };
    let reader = database.reader().name();
    let without_password = |tls: &str| {
        let yaml = yaml(tls);
        yaml.lines().filter(|line| !line.contains("password_file")).map(|line| format!("{line}\n")).collect::<String>()
    };
    let read = check(folder.path(), &without_password(&identity(certificates.client(reader))));
    assert_eq!(read.code, Some(0), "{}", read.all());
    for tls in [identity(certificates.client_of_stranger(reader)), ca.clone()] {
        let line = refused(folder.path(), &without_password(&tls));
        assert!(!line.contains(reader), "{line}");
    }
}

#[test]
fn a_server_without_tls_is_not_read_where_it_is_asked_for() {
    let table = Table::new();
    let line = refused(table.folder.path(), &config(&table.database, "tls: { mode: verify }", READ));
    assert!(line.contains("(store_unreachable)") && line.contains("offers no TLS"), "{line}");
}

#[test]
fn a_password_is_read_anew_for_each_connection() {
    let table = Table::new();
    let (file, right) = (table.database.password_file(), table.database.reader().password());
    std::fs::write(file, "planted").unwrap();
    let exporter = Exporter::start(table.folder.path(), &config(&table.database, "", READ));
    assert_eq!(exporter.scrape().source("lease_source_up", SOURCE), Some(0.0));
    let line = exporter.process().stderr.wait_for("reason=store_refused");
    assert!(line.contains("password") && !line.contains("planted"), "{line}");
    std::fs::write(file, format!("{right}\n")).unwrap();
    assert_eq!(says(&exporter.scrape(), "sound"), ("active", "progressing"));
}

/// Counted at the server: one reading is one statement, whoever asks for it.
#[test]
fn sixteen_scrapers_cause_one_read_per_reuse() {
    let table = Table::new();
    table.database.execute("CREATE EXTENSION pg_stat_statements");
    let read = READ.replace("leases.*", "leases.*, pg_sleep(0.2)::text = '' AS due");
    let read = read.replace("leases.*, ", "lease, holder, ").replace("::text = '' AS due", "::text AS progress_cursor");
    let yaml = config(&table.database, "", &read).replace("reuse_for: 0s", "reuse_for: 1m");
    let exporter = Exporter::start(table.folder.path(), &yaml);
    for replies in [exporter.get_at_once("/metrics", 16), exporter.get_at_once("/metrics", 16)] {
        assert!(replies.iter().all(|reply| reply.status == 200 && reply.body.contains("lease=\"sound\"")));
    }
    let counted = table.database.query(
        "SELECT sum(calls) FROM pg_stat_statements AS s JOIN pg_database AS d ON d.oid = s.dbid \
         WHERE d.datname = current_database() AND query LIKE '%progress_cursor%' AND query LIKE '%pg_sleep%' \
         AND query NOT LIKE '%pg_stat_statements%'",
    );
    assert_eq!(counted, "1");
}
