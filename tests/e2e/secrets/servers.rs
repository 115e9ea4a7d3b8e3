//! Content and errors of servers, and the credentials for them.

use std::fs;
use std::path::Path;

use super::environment::{everything, sound};
use super::output::CollectedOutput;
use crate::harness::store::folder;
use crate::servers::{Database, Kind, mariadb, postgres, redis};

/// Sources of one kind of server.
struct Sources<'a> {
    folder: &'a Path,
    yaml: String,
    count: usize,
}

impl Sources<'_> {
    /// Adds a source with the given lines after its name.
    fn add(&mut self, what: &str) {
        self.count += 1;
        let lines: String = what.lines().map(|line| format!("    {line}\n")).collect();
        self.yaml += &format!("  - name: source-{}\n    timeout: 3s\n{lines}", self.count);
    }

    /// Adds sources with wrong credentials. `reads` has the lines of the query.
    fn add_strangers(&mut self, url: &str, user: &str, password_file: &Path, reads: &str) {
        let wrong = self.folder.join("wrong.password");
        fs::write(&wrong, "PLANTED-wrong\n").unwrap();
        let lines = self.folder.join("lines.password");
        fs::write(&lines, "PLANTED-one\nPLANTED-two\n").unwrap();
        let (good, wrong) = (password_file.display(), wrong.display());
        let port = url.rsplit_once(':').unwrap().1.split('/').next().unwrap();
        let at = |from: &str, to: &str| {
            assert!(url.contains(from), "{from} is not in {url}");
            url.replace(from, to)
        };
        for (store, file) in [
            (url.to_owned(), wrong.to_string()),
            // The path of an unusable file is shown, and its content is not.
            (url.to_owned(), format!("{}/none.password", self.folder.display())),
            (url.to_owned(), lines.display().to_string()),
            (at(user, "PLANTED-user"), good.to_string()),
            (at(&format!(":{port}"), ":1"), good.to_string()),
            (at("127.0.0.1", "PLANTED.invalid"), good.to_string()),
        ] {
            self.add(&format!("store: {store}\npassword_file: {file}\n{reads}"));
        }
    }

    /// Collects all output and searches it for planted secrets.
    fn go(self, said: &mut CollectedOutput) {
        let checked = everything(self.folder, &self.yaml, &[], "", said);
        for number in 1..=self.count {
            let source = format!("source-{number}: ");
            let after = checked.split_once(&source).unwrap_or_else(|| panic!("nothing on {source}:\n{checked}")).1;
            let told = after.lines().nth(1).unwrap_or_default();
            assert!(told.contains("cannot be read") || told.contains("read: "), "{source}{told}");
        }
        let faults = ["cannot be read", "not used"].map(|fault| checked.matches(fault).count());
        assert!(faults[0] >= 5 && faults.iter().sum::<usize>() > 10, "{checked}");
        assert!(checked.split("source-1: ").nth(1).unwrap().contains("  read: 1 leases"), "{checked}");
        said.holds_nothing_planted();
    }
}

const TABLE: &str = "CREATE TABLE own (holder varchar(99), secret varchar(99)); \
    INSERT INTO own VALUES ('PLANTED-holder', 'PLANTED-row');";

/// A database whose reader has a planted password, and sources with the given queries.
fn of_sql(database: &Database, clock: &str, queries: &[&str]) {
    let (folder, mut said) = (folder(), CollectedOutput::default());
    fs::write(database.password_file(), "PLANTED-password\n").unwrap();
    let mut sources = Sources { folder: folder.path(), yaml: sound(folder.path()), count: 0 };
    let store = format!("store: {}\npassword_file: {}", database.url(), database.password_file().display());
    for query in queries {
        sources.add(&format!("{store}\nquery: |-\n  SELECT {clock} AS store_now, {query}"));
    }
    let reads = format!("query: SELECT {clock} AS store_now");
    // A server without TLS, and a missing database.
    sources.add(&format!("{store}\ntls: {{}}\n{reads}"));
    let elsewhere = database.url().replace(&format!("/{}", database.name()), "/PLANTED-database");
    sources.add(&format!("store: {elsewhere}\npassword_file: {}\n{reads}", database.password_file().display()));
    sources.add_strangers(database.url(), database.reader().name(), database.password_file(), &reads);
    said.forbid(database.owner().password());
    sources.go(&mut said);
}

#[test]
fn no_secret_of_postgresql_is_shown() {
    if Kind::Postgres.is_left_out() {
        return;
    }
    let database = postgres().database();
    database.execute(&format!(
        "{TABLE} CREATE FUNCTION shout(state text, said text) RETURNS text LANGUAGE plpgsql AS \
         $$ BEGIN RAISE EXCEPTION '%', said USING ERRCODE = state, DETAIL = said, HINT = said; END $$; \
         ALTER ROLE {} PASSWORD 'PLANTED-password'",
        database.reader().name()
    ));
    of_sql(
        &database,
        "now()",
        &[
            "'a' AS lease, holder FROM own",
            "secret FROM own",
            "secret AS epoch FROM own",
            "secret AS renewed_at FROM own",
            "secret::int AS epoch FROM own",
            "secret::timestamptz AS renewed_at FROM own",
            "secret::regclass::text AS lease FROM own",
            "('{' || secret)::json ->> 'x' AS lease FROM own",
            "'PLANTED-literal'::int AS epoch",
            "'PLANTED-literal",
            "'x' 'PLANTED-literal' FROM own",
            "shout('P0001', secret) AS lease FROM own",
            "shout('42P01', 'relation \"' || secret || '\" does not exist') AS lease FROM own",
            "shout('42501', 'permission denied for table ' || secret) AS lease FROM own",
            "shout('28P01', secret) AS lease FROM own",
            "shout('57014', secret) AS lease FROM own",
            "shout('22021', secret) AS lease FROM own",
        ],
    );
}

#[test]
fn no_secret_of_mariadb_is_shown() {
    if Kind::MariaDb.is_left_out() {
        return;
    }
    let database = mariadb().database();
    database.execute(&format!(
        "{TABLE} GRANT EXECUTE ON {1}.* TO {0}@'%'; ALTER USER {0}@'%' IDENTIFIED BY 'PLANTED-password';",
        database.reader().name(),
        database.name()
    ));
    for (name, raises) in [
        ("shout", "SQLSTATE '45000' SET"),
        ("missing", "SQLSTATE '42S02' SET MYSQL_ERRNO = 1146,"),
        ("denied", "SQLSTATE '42000' SET MYSQL_ERRNO = 1142,"),
    ] {
        let body = format!("BEGIN SIGNAL {raises} MESSAGE_TEXT = said; RETURN 1; END");
        database.execute(&format!("DELIMITER //\nCREATE FUNCTION {name}(said TEXT) RETURNS INT {body}//\n"));
    }
    of_sql(
        &database,
        "UTC_TIMESTAMP(6)",
        &[
            "'a' AS lease, holder FROM own",
            "secret FROM own",
            "secret AS epoch FROM own",
            "secret AS renewed_at FROM own",
            "CAST(secret AS DATETIME) AS renewed_at FROM own",
            "extractvalue('<a/>', concat('~', secret)) AS lease FROM own",
            "json_extract(secret, '$') AS lease FROM own",
            "'PLANTED-literal",
            "'x' AS lease PLANTED 'y' FROM own",
            "shout(secret) AS due FROM own",
            "missing(concat('Table ''x.', secret, ''' doesn''t exist')) AS due FROM own",
            "denied(concat('SELECT command denied to user for table `', secret, '`')) AS due FROM own",
            "ST_AsText(ST_GeomFromText(secret)) AS lease FROM own",
        ],
    );
}

#[test]
fn no_secret_of_redis_is_shown() {
    if Kind::Redis.is_left_out() {
        return;
    }
    let keyspace = redis().keyspace();
    keyspace.command(&["ACL", "SETUSER", keyspace.reader(), ">PLANTED-password"]);
    fs::write(keyspace.password_file(), "PLANTED-password\n").unwrap();
    keyspace.command(&["SET", "lock:a", "PLANTED-holder", "EX", "3600"]);
    for field in ["epoch", "renewed_at", "progress_at", "due"] {
        keyspace.command(&["HSET", &format!("hash:{field}"), "holder", "PLANTED-holder", "secret", "PLANTED-row"]);
        keyspace.command(&["HSET", &format!("hash:{field}"), field, "PLANTED-row"]);
    }
    keyspace.command(&["SET", "lock:a:epoch", "PLANTED-row"]);
    keyspace.command(&["HSET", "hash:a", "progress_at", "PLANTED-row", "due", "PLANTED-row"]);
    keyspace.command(&["RPUSH", "list:a", "PLANTED-row"]);
    keyspace.command(&["ZADD", "set:a", "1", "PLANTED-row"]);
    let (folder, mut said) = (folder(), CollectedOutput::default());
    let mut sources = Sources { folder: folder.path(), yaml: sound(folder.path()), count: 0 };
    let store = format!("store: {}\npassword_file: {}", keyspace.url(), keyspace.password_file().display());
    for keys in [
        "{ lock: 'lock:*' }",
        "{ lock: 'lock:*', ttl: 1h, epoch: '{key}:epoch', progress: 'hash:{name}', due_set: 'set:{name}' }",
        "{ hash: 'hash:*' }",
        "{ lock: 'list:*' }",
        "{ hash: 'list:*' }",
        "{ hash: 'lock:*' }",
        "{ lock: 'lock:*', epoch: 'list:{name}' }",
        "{ lock: 'lock:*', due_list: 'hash:{name}' }",
        "{ lock: 'lock:*', due_set: 'list:{name}' }",
        "{ lock: 'lock:*', progress: 'list:{name}' }",
    ] {
        sources.add(&format!("{store}\nkeys: {keys}"));
    }
    let reads = "keys: { lock: 'lock:*' }";
    sources.add(&format!("{}\n{reads}", store.replace("redis://", "rediss://")));
    sources.add_strangers(keyspace.url(), keyspace.reader(), keyspace.password_file(), reads);
    said.forbid(keyspace.password());
    sources.go(&mut said);
}
