//! Tests of the servers that other tests use: they answer, fail on request, and leave nothing behind.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use super::harness::{PATIENCE, Process, eventually};
use super::servers::{self, Certificates, Kind, Server, wanted};

const EVERY: [Kind; 4] = [Kind::Postgres, Kind::MariaDb, Kind::Redis, Kind::Valkey];

/// Whether a new client gets a response from a port in time.
fn answers_within(server: &Server, patience: Duration) -> bool {
    let Ok(mut client) = TcpStream::connect(server.address()) else { return false };
    let greeting: &[u8] = match server.kind() {
        // The request for TLS.
        Kind::Postgres => &[0, 0, 0, 8, 4, 210, 22, 47],
        // The server sends first.
        Kind::MariaDb => b"",
        Kind::Redis | Kind::Valkey => b"PING\r\n",
    };
    client.write_all(greeting).unwrap();
    client.set_read_timeout(Some(patience)).unwrap();
    matches!(client.read(&mut [0]), Ok(1))
}

fn answers(server: &Server) -> bool {
    answers_within(server, Duration::from_secs(60))
}

fn is_silent(server: &Server) -> bool {
    !answers_within(server, Duration::from_millis(200))
}

/// Stores a value in the server, and returns a function that checks it.
fn keep(server: &Server) -> Box<dyn Fn() -> String + '_> {
    match server.kind() {
        Kind::Postgres | Kind::MariaDb => {
            let database = server.database();
            database.execute("CREATE TABLE kept (what varchar(9)); INSERT INTO kept VALUES ('this')");
            Box::new(move || database.query("SELECT what FROM kept"))
        }
        Kind::Redis | Kind::Valkey => {
            let keyspace = server.keyspace();
            keyspace.command(&["SET", "kept", "this"]);
            Box::new(move || keyspace.command(&["GET", "kept"]))
        }
    }
}

#[test]
fn a_server_of_each_kind_answers_freezes_dies_and_comes_back_with_its_data_until_its_guard_is_gone() {
    for kind in wanted(&EVERY) {
        let server = Server::start(kind, &[]);
        let (port, folder) = (server.port(), server.socket_dir().to_owned());
        let kept = keep(&server);
        assert!(answers(&server) && kept() == "this", "{kind:?}");
        server.freeze();
        assert!(is_silent(&server), "{kind:?} answers though it is frozen");
        server.thaw();
        assert!(answers(&server) && kept() == "this", "{kind:?}");
        let first = server.pid();
        server.kill();
        assert!(TcpStream::connect(server.address()).is_err(), "{kind:?} listens though it is dead");
        server.restart();
        assert!(answers(&server) && kept() == "this", "{kind:?}");
        server.restart();
        assert!(answers(&server) && kept() == "this", "{kind:?}");
        assert!(server.port() == port && server.pid() != first);
        server.freeze();
        let last = server.pid();
        std::mem::forget(kept);
        drop(server);
        assert!(!folder.exists(), "{kind:?} left its folder");
        assert!(!Path::new("/proc").join(last.as_raw_nonzero().to_string()).exists(), "{kind:?} lives on");
        assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "{kind:?} still listens");
    }
}

/// Runs this test program as another process, which starts servers, freezes one, and is killed.
#[test]
fn a_test_process_that_is_killed_leaves_no_server_and_no_folder() {
    const CHILD: &str = "LEASE_EXPORTER_TESTS_CHILD";
    if std::env::var_os(CHILD).is_some() {
        let servers: Vec<_> =
            wanted(&EVERY).flat_map(|kind| [Server::start(kind, &[]), Server::start(kind, &[])]).collect();
        for (number, server) in servers.iter().enumerate() {
            if number % 2 == 0 {
                server.freeze();
            }
            println!("started {} {}", server.pid().as_raw_nonzero(), server.socket_dir().display());
        }
        println!("started all");
        std::thread::sleep(PATIENCE);
        return;
    }
    let name = std::thread::current().name().unwrap().to_owned();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", &name, "--nocapture"]).env(CHILD, "yes");
    let child = Process::start(child);
    child.stdout.wait_for("started all");
    child.signal(Signal::KILL);
    let said = child.finish().stdout;
    let started: Vec<(&str, &Path)> = said
        .lines()
        .filter_map(|line| line.strip_prefix("started ")?.split_once(' '))
        .map(|(pid, folder)| (pid, Path::new(folder)))
        .collect();
    assert_eq!(started.len(), 2 * wanted(&EVERY).count());
    for (pid, folder) in started {
        eventually("a server's folder to go", || (!folder.exists()).then_some(()));
        assert!(!Path::new("/proc").join(pid).exists(), "a server lives on");
    }
}

#[test]
fn server_setting_is_applied() {
    for kind in wanted(&EVERY) {
        let setting = if matches!(kind, Kind::Redis | Kind::Valkey) { "maxclients=11" } else { "max_connections=11" };
        let server = Server::start(kind, &[setting]);
        let says = match kind {
            Kind::Postgres => server.database().query("SHOW max_connections"),
            Kind::MariaDb => server.database().query("SELECT @@max_connections"),
            Kind::Redis | Kind::Valkey => server.keyspace().command(&["CONFIG", "GET", "maxclients"]),
        };
        assert_eq!(says.lines().last(), Some("11"), "{kind:?}");
    }
}

#[test]
fn databases_and_keyspaces_of_a_shared_server_do_not_see_each_other() {
    for shared in wanted(&[Kind::Postgres, Kind::MariaDb]).map(shared) {
        let (first, second) = (shared.database(), shared.database());
        first.execute("CREATE TABLE only_here (x int); INSERT INTO only_here VALUES (1), (2)");
        assert_eq!(first.query("SELECT x FROM only_here ORDER BY x"), "1\n2");
        let listed = "SELECT count(*) FROM information_schema.tables WHERE table_name = 'only_here'";
        assert!(first.name() != second.name() && first.url() != second.url());
        if shared.kind() == Kind::Postgres {
            assert_eq!(second.query(listed), "0");
        }
        assert_ne!(first.reader().password(), second.reader().password());
    }
    for shared in wanted(&[Kind::Redis, Kind::Valkey]).map(shared) {
        let (first, second) = (shared.keyspace(), shared.keyspace());
        first.command(&["RPUSH", "list", "a", "b"]);
        assert_eq!(first.command(&["LRANGE", "list", "0", "-1"]), "a\nb");
        assert_eq!(second.command(&["EXISTS", "list"]), "0");
        first.command(&["SET".as_bytes(), b"bytes", &[0xff, b'\r', b'\n']]);
        assert_eq!(first.command(&["STRLEN", "bytes"]), "3");
    }
}

fn shared(kind: Kind) -> &'static Server {
    match kind {
        Kind::Postgres => servers::postgres(),
        Kind::MariaDb => servers::mariadb(),
        Kind::Redis => servers::redis(),
        Kind::Valkey => servers::valkey(),
    }
}

#[test]
#[should_panic(expected = "is_not_there")]
fn a_statement_that_fails_fails_the_test_with_the_servers_message() {
    servers::postgres().database().execute("SELECT 1; SELECT * FROM is_not_there; SELECT 2");
}

/// Runs the client program of the server, to test the login.
fn client(program: &str, arguments: &[&str], password: &str) -> (bool, String) {
    let output = Command::new(servers::program(program))
        .args(arguments)
        .envs([("PGPASSWORD", password), ("MYSQL_PWD", password), ("REDISCLI_AUTH", password)])
        .output()
        .unwrap();
    (output.status.success(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

fn psql(url: &str, password: &str, sql: &str) -> (bool, String) {
    client("psql", &["-XAt", "-c", sql, url], password)
}

fn mariadb(server: &Server, login: &servers::Login, password: &str, tls: &[&str], sql: &str) -> (bool, String) {
    let (port, user) = (format!("--port={}", server.port()), format!("--user={}", login.name()));
    let database = login.url().rsplit('/').next().unwrap();
    let fixed = ["--no-defaults", "--host=127.0.0.1", &port, &user, database, "-N", "-e", sql];
    client("mariadb", &[&fixed[..1], tls, &fixed[1..]].concat(), password)
}

#[test]
fn the_reader_of_a_database_needs_its_password_and_may_only_read() {
    if !Kind::Postgres.is_left_out() {
        let database = servers::postgres().database();
        let [reader, owner] = [database.reader(), database.owner()];
        let run = |login: &servers::Login, sql: &str| psql(login.url(), login.password(), sql);
        assert!(run(owner, "CREATE TABLE t (x int); INSERT INTO t VALUES (7)").0);
        assert_eq!(run(reader, "SELECT x FROM t"), (true, "7\n".to_owned()));
        assert!(run(reader, "INSERT INTO t VALUES (8)").1.contains("permission denied"));
        assert!(psql(reader.url(), "wrong", "SELECT 1").1.contains("password authentication failed"));
        database.execute(&format!("REVOKE SELECT ON t FROM {}", reader.name()));
        assert!(run(reader, "SELECT x FROM t").1.contains("permission denied"));
    }
    if !Kind::MariaDb.is_left_out() {
        let server = servers::mariadb();
        let database = server.database();
        let [reader, owner] = [database.reader(), database.owner()];
        let run = |login: &servers::Login, sql: &str| mariadb(server, login, login.password(), &[], sql);
        assert!(run(owner, "CREATE TABLE t (x int); INSERT INTO t VALUES (7)").0);
        assert_eq!(run(reader, "SELECT x FROM t"), (true, "7\n".to_owned()));
        assert!(run(reader, "INSERT INTO t VALUES (8)").1.contains("denied"));
        assert!(mariadb(server, reader, "wrong", &[], "SELECT 1").1.contains("Access denied"));
        database.execute(&format!("REVOKE SELECT ON {}.* FROM {}@'%'", database.name(), reader.name()));
        assert!(run(reader, "SELECT x FROM t").1.contains("denied"));
    }
}

#[test]
fn the_reader_of_a_keyspace_needs_its_password_and_may_only_read() {
    for server in wanted(&[Kind::Redis, Kind::Valkey]).map(shared) {
        let keyspace = server.keyspace();
        keyspace.command(&["SET", "here", "7"]);
        let port = server.port().to_string();
        let number = keyspace.number().to_string();
        let fixed = ["-p", &port, "--user", keyspace.reader(), "--no-auth-warning", "-n", &number];
        let run = |password: &str, words: &[&str]| client("redis-cli", &[&fixed, words].concat(), password).1;
        assert_eq!(run(keyspace.password(), &["GET", "here"]), "7\n");
        assert!(run(keyspace.password(), &["SET", "here", "8"]).contains("NOPERM"));
        assert!(run(keyspace.password(), &["KEYS", "*"]).contains("NOPERM"));
        assert!(run("wrong", &["GET", "here"]).contains("WRONGPASS"));
        keyspace.grant(&["+ping"]);
        assert!(run(keyspace.password(), &["GET", "here"]).contains("NOPERM"));
    }
}

#[test]
fn a_standby_follows_its_primary_and_only_reads() {
    let primary = Server::start(Kind::Postgres, &[]);
    let database = primary.database();
    let standby = primary.standby(&[]);
    database.execute("CREATE TABLE t (x int); INSERT INTO t VALUES (7)");
    let reader = database.reader();
    let there = reader.url().replace(&primary.port().to_string(), &standby.port().to_string());
    eventually("the standby to have the row", || {
        (psql(&there, reader.password(), "SELECT x FROM t").1 == "7\n").then_some(())
    });
    assert_eq!(psql(&there, reader.password(), "SELECT pg_is_in_recovery()").1, "t\n");
    let owner = database.owner();
    let there = owner.url().replace(&primary.port().to_string(), &standby.port().to_string());
    assert!(psql(&there, owner.password(), "INSERT INTO t VALUES (8)").1.contains("read-only transaction"));
}

#[test]
fn with_tls_a_port_speaks_nothing_else_and_knows_whose_certificates_to_trust() {
    let certificates = Certificates::make();
    let path = |path: std::path::PathBuf| path.to_str().unwrap().to_owned();
    let [ca, stranger] = [certificates.ca_file(), certificates.stranger_ca_file()].map(path);
    if !Kind::Postgres.is_left_out() {
        let server = Server::start_with_tls(Kind::Postgres, &certificates, &[]);
        let database = server.database();
        let login = database.reader();
        let run = |more: &str| psql(&format!("{}?{more}", login.url()), login.password(), "SELECT 7");
        assert_eq!(run(&format!("sslmode=verify-full&sslrootcert={ca}")), (true, "7\n".to_owned()));
        assert!(!run(&format!("sslmode=verify-full&sslrootcert={stranger}")).0);
        assert!(run("sslmode=disable").1.contains("no encryption"));
        database.require_certificate();
        let with = |client: servers::Certificate| {
            let [certificate, key] = [client.certificate_file, client.key_file].map(path);
            // `psql` refuses a key that others can read.
            std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
            run(&format!("sslmode=verify-full&sslrootcert={ca}&sslcert={certificate}&sslkey={key}"))
        };
        assert!(!run(&format!("sslmode=verify-full&sslrootcert={ca}")).0);
        assert_eq!(with(certificates.client(login.name())), (true, "7\n".to_owned()));
        assert!(!with(certificates.client("someone-else")).0);
        assert!(!with(certificates.client_of_stranger(login.name())).0);
    }
    if !Kind::MariaDb.is_left_out() {
        let server = Server::start_with_tls(Kind::MariaDb, &certificates, &[]);
        let database = server.database();
        let login = database.reader();
        let run = |tls: &[&str]| mariadb(&server, login, login.password(), tls, "SELECT 7");
        let [trusts, mistrusts] = [&ca, &stranger].map(|ca| format!("--ssl-ca={ca}"));
        let verify = "--ssl-verify-server-cert";
        assert_eq!(run(&[&trusts, verify]), (true, "7\n".to_owned()));
        assert!(!run(&[&mistrusts, verify]).0);
        assert!(run(&["--skip-ssl"]).1.contains("Access denied"));
        database.require_certificate();
        assert!(!run(&[&trusts, verify]).0);
        let client = certificates.client("anyone");
        let (certificate, key) = (path(client.certificate_file), path(client.key_file));
        let (certificate, key) = (format!("--ssl-cert={certificate}"), format!("--ssl-key={key}"));
        assert_eq!(run(&[&trusts, verify, &certificate, &key]), (true, "7\n".to_owned()));
    }
    // The installed Valkey has no TLS.
    if !Kind::Redis.is_left_out() {
        let server = Server::start_with_tls(Kind::Redis, &certificates, &[]);
        let keyspace = server.keyspace();
        let port = server.port().to_string();
        let run = |tls: &[&str]| {
            let fixed = ["-p", &port, "--user", keyspace.reader(), "--no-auth-warning"];
            client("redis-cli", &[&fixed, tls, &["ECHO", "7"]].concat(), keyspace.password())
        };
        assert_eq!(run(&["--tls", "--cacert", &ca]).1, "7\n");
        assert_ne!(run(&["--tls", "--cacert", &stranger]).1, "7\n");
        assert_ne!(run(&[]).1, "7\n");
        keyspace.command(&["CONFIG", "SET", "tls-auth-clients", "yes"]);
        assert_ne!(run(&["--tls", "--cacert", &ca]).1, "7\n");
        let client = certificates.client("anyone");
        let (certificate, key) = (path(client.certificate_file), path(client.key_file));
        assert_eq!(run(&["--tls", "--cacert", &ca, "--cert", &certificate, "--key", &key]).1, "7\n");
    }
}
