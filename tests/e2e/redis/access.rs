//! Rights, passwords, roles, transport security and sentinels.

use std::net::TcpListener;
use std::process::Command;

use super::{KINDS, Keys, SOURCE, config, config_at, each, refused, says, shared};
use crate::harness::store::folder;
use crate::harness::{Exporter, Process, check, eventually};
use crate::servers::{Certificates, Kind, Server, wanted};

const LAYOUT: &str = "lock: \"lock:*\", ttl: 60s, epoch: \"{key}:fence\", progress: \"{key}:progress\", \
    fields: [progress_at, progress_epoch], due_set: \"due:{name}\"";

/// A lease that is active for some minutes.
fn put_lease(keys: &Keys) {
    keys.give(&[
        "SET lock:a someone PX 60000",
        "SET lock:a:fence 7",
        "HSET lock:a:progress progress_at @-1 progress_epoch 7",
        "ZADD due:a @-1 x",
    ]);
}

/// The rights that `docs/stores/redis.md` names, and no key but those that are read.
const RIGHTS: [&str; 12] = [
    "resetkeys",
    "~lock:*",
    "~due:*",
    "+multi",
    "+exec",
    "+time",
    "+select",
    "+scan",
    "+pexpiretime",
    "+getrange",
    "+hmget",
    "+zrange",
];

#[test]
fn the_documented_rights_are_those_that_are_tested() {
    let document = crate::harness::contents("docs/stores/redis.md");
    let line = document.lines().find(|line| line.starts_with("ACL SETUSER ")).unwrap();
    // The keys of the document are in database 0, and a new user has no keys.
    for right in RIGHTS.iter().filter(|right| !matches!(**right, "resetkeys" | "+select")) {
        assert!(line.split(' ').any(|word| word == *right), "{right}: {line}");
    }
}

#[test]
fn the_least_rights_are_those_of_the_commands_that_are_given_and_the_keys_that_are_read() {
    for keys in each() {
        put_lease(&keys);
        let rights: Vec<&str> = RIGHTS.into_iter().chain(["+zcount"]).collect();
        keys.keyspace.grant(&rights);
        let metrics = keys.scrape(LAYOUT);
        assert_eq!(says(&metrics, "a"), ("active", "progressing"));

        let url = keys.keyspace.url().replace('@', &format!(":{}@", keys.keyspace.password()));
        let mut connection = redis::Client::open(url).unwrap().get_connection().unwrap();
        for write in ["SET lock:a x", "DEL lock:a", "PEXPIRE lock:a 1", "EVAL return 0", "KEYS *"] {
            let mut words = write.split(' ');
            let mut command = redis::cmd(words.next().unwrap());
            words.for_each(|word| _ = command.arg(word));
            let answer = command.query::<redis::Value>(&mut connection).unwrap_err();
            assert_eq!(answer.code(), Some("NOPERM"), "{write}");
        }
        let yaml = config(&keys.keyspace, "", LAYOUT);
        for right in rights.iter().filter_map(|right| right.strip_prefix('+')) {
            let others: Vec<&str> =
                rights.iter().copied().filter(|other| other.strip_prefix('+') != Some(right)).collect();
            keys.keyspace.grant(&others);
            let line = refused(keys.folder.path(), &yaml);
            assert!(line.contains("(store_refused)") && line.contains(&format!("`+{right}`")), "{right}: {line}");
        }
        let without_due: Vec<&str> = rights.iter().copied().filter(|right| *right != "~due:*").collect();
        keys.keyspace.grant(&without_due);
        let line = refused(keys.folder.path(), &yaml);
        assert!(line.contains("(store_refused)") && line.contains("may not read these keys (`zrange`)"), "{line}");
    }
}

#[test]
fn a_password_is_read_anew_for_each_connection_and_a_wrong_one_is_not_repeated() {
    for keys in each() {
        put_lease(&keys);
        let (file, right) = (keys.keyspace.password_file(), keys.keyspace.password());
        std::fs::write(file, "planted").unwrap();
        let exporter = keys.exporter(LAYOUT);
        assert_eq!(exporter.scrape().source("lease_source_up", SOURCE), Some(0.0));
        let line = exporter.process().stderr.wait_for("reason=store_refused");
        assert!(line.contains("refuses the user or the password") && !line.contains("planted"), "{line}");
        std::fs::write(file, format!("{right}\n")).unwrap();
        assert_eq!(says(&exporter.scrape(), "a"), ("active", "progressing"));
    }
}

#[test]
fn error_names_who_must_act() {
    for kind in wanted(&KINDS) {
        let server = Server::start(kind, &["maxclients=40"]);
        let keyspace = server.keyspace();
        let folder = folder();
        let port = server.port();
        let wrong = |url: &str, told: &str| {
            let line = refused(folder.path(), &config_at(url, "timeout: 2s", "lock: \"lock:*\""));
            assert!(line.contains(told) && !line.contains("127.0.0.1"), "{url}: {line}");
        };
        wrong(&format!("redis://nobody@127.0.0.1:{port}"), "(store_refused): the server refuses the user");
        wrong(&format!("redis://nobody@127.0.0.1:{port}/5"), "(store_refused): the server refuses the user");
        wrong(
            &format!("rediss://localhost:{port}"),
            "(store_timeout): connecting took too long; the other side may not speak TLS",
        );
        wrong("redis://127.0.0.1:1", "(store_unreachable): nothing listens");
        wrong("redis://%2Fnowhere%2Fredis.sock", "(store_unreachable): there is no socket");
        wrong("redis://no-such-host.invalid", "(store_unreachable): the configured host's name is not known");
        keyspace.command(&["ACL", "SETUSER", "default", "resetpass", ">secret"]);
        wrong(&format!("redis://127.0.0.1:{port}"), "(store_refused): the server asks for a password");
        let idle_clients: Vec<_> = (0..60).map(|_| std::net::TcpStream::connect(("127.0.0.1", port))).collect();
        wrong(&format!("redis://127.0.0.1:{port}"), "(store_refused): the server has no connection left");
        drop(idle_clients);
        let open = Server::start(kind, &[]);
        let keys = Keys { folder: crate::harness::store::folder(), keyspace: open.keyspace() };
        put_lease(&keys);
        keys.keyspace.command(&["CONFIG", "SET", "maxmemory", "1"]);
        let yaml = config(&keys.keyspace, "", LAYOUT);
        if kind == Kind::Redis {
            let told = "(store_refused): the server is out of memory (maxmemory) and queues nothing in a transaction";
            let line = refused(folder.path(), &yaml);
            assert!(line.contains(told), "{line}");
        } else {
            // The server still accepts read commands.
            assert_eq!(check(folder.path(), &yaml).code, Some(0));
        }
        let open = Server::start(kind, &[]);
        let at = |url: String| refused(folder.path(), &config_at(&url, "", "lock: \"lock:*\""));
        let line = at(format!("redis://127.0.0.1:{}/99999", open.port()));
        assert!(line.contains("(schema_mismatch)") && line.contains("no database of this number"), "{line}");
    }
}

#[test]
fn peer_that_is_not_a_redis_server_is_refused() {
    let folder = folder();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answering = std::thread::spawn(move || {
        for answer in ["HTTP/1.1 400 Bad Request\r\n\r\n", "*1000000000\r\n", "$-7\r\n", "+OK\r\n+OK\r\n+OK\r\n+OK\r\n"]
        {
            let (mut stream, _) = listener.accept().unwrap();
            std::io::Write::write_all(&mut stream, answer.as_bytes()).unwrap();
        }
    });
    for _ in 0..4 {
        let line = refused(folder.path(), &config_at(&format!("redis://127.0.0.1:{port}"), "timeout: 2s", "lock: a"));
        assert!(line.contains("(store_unreachable)") || line.contains("(store_timeout)"), "{line}");
    }
    answering.join().unwrap();
}

#[test]
fn a_replica_and_a_cluster_are_refused_with_the_reason() {
    for kind in wanted(&KINDS) {
        let primary = shared(kind);
        let replica = Server::start(kind, &[&format!("replicaof=127.0.0.1 {}", primary.port())]);
        let keyspace = replica.keyspace();
        let folder = folder();
        let line = refused(folder.path(), &config(&keyspace, "", "lock: \"lock:*\""));
        assert!(line.contains("(store_refused)") && line.contains("is a replica"), "{line}");
        let cluster = Server::start(kind, &["cluster-enabled=yes", "databases=1"]);
        let url = format!("redis://127.0.0.1:{}", cluster.port());
        for layout in ["lock: \"lock:*\"", "lock: lock"] {
            let line = refused(folder.path(), &config_at(&url, "", layout));
            assert!(line.contains("(store_refused)") && line.contains("a cluster"), "{line}");
        }
    }
}

#[test]
fn a_protected_connection_is_verified_and_may_ask_for_a_certificate() {
    let certificates = Certificates::make();
    // The installed Valkey may be built without TLS.
    for kind in wanted(&[Kind::Redis]) {
        let server = Server::start_with_tls(kind, &certificates, &[]);
        let keys = Keys { folder: folder(), keyspace: server.keyspace() };
        put_lease(&keys);
        let yaml = |tls: &str| config(&keys.keyspace, &format!("tls: {{ {tls} }}"), LAYOUT);
        let ca = format!("ca_file: {}", certificates.ca_file().display());
        let read = check(keys.folder.path(), &yaml(&ca));
        assert_eq!(read.code, Some(0), "{}", read.all());
        let stranger = format!("ca_file: {}", certificates.stranger_ca_file().display());
        for (tls, reason, told) in [
            ("mode: verify", "store_unreachable", "not signed by anyone trusted"),
            (stranger.as_str(), "store_unreachable", "not signed by anyone trusted"),
            ("ca_file: none.pem", "store_refused", "`ca_file`"),
            (&format!("ca_file: {}", keys.keyspace.password_file().display()), "store_refused", "holds no certificate"),
        ] {
            let line = refused(keys.folder.path(), &yaml(tls));
            assert!(line.contains(&format!("({reason})")) && line.contains(told), "{tls}: {line}");
        }
        let plain = config(&keys.keyspace, "", LAYOUT).replace("rediss://", "redis://");
        let line = refused(keys.folder.path(), &plain);
        assert!(line.contains("(store_unreachable)"), "{line}");

        let strict = Server::start_with_tls(kind, &certificates, &["tls-auth-clients=yes"]);
        let url = format!("rediss://localhost:{}", strict.port());
        let yaml = |tls: &str| config_at(&url, &format!("tls: {{ {tls} }}"), "lock: lock");
        let identity = |certificate: crate::servers::Certificate| {
            let (cert, key) = (certificate.certificate_file, certificate.key_file);
            format!("{ca}, cert_file: {}, key_file: {}", cert.display(), key.display())
        };
        let read = check(keys.folder.path(), &yaml(&identity(certificates.client("reader"))));
        assert_eq!(read.code, Some(0), "{}", read.all());
        let line = refused(keys.folder.path(), &yaml(&ca));
        assert!(line.contains("(store_unreachable)") && line.contains("asks for a client certificate"), "{line}");
        let line = refused(keys.folder.path(), &yaml(&identity(certificates.client_of_stranger("reader"))));
        assert!(line.contains("(store_unreachable)") && line.contains("client certificate"), "{line}");
    }
}

/// A sentinel that monitors a server.
fn sentinel(server: &Server, folder: &std::path::Path) -> (Process, u16) {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let file = folder.join("sentinel.conf");
    std::fs::write(
        &file,
        format!("port {port}\nbind 127.0.0.1\nsentinel monitor main 127.0.0.1 {} 1\n", server.port()),
    )
    .unwrap();
    let mut command = Command::new("redis-server");
    command.arg(file).arg("--sentinel").arg("--dir").arg(folder);
    (Process::start(command), port)
}

#[test]
fn sentinels_are_asked_for_the_server_at_each_connection() {
    if Kind::Redis.is_left_out() {
        return;
    }
    let (first, second) = (Server::start(Kind::Redis, &[]), Server::start(Kind::Redis, &[]));
    let keys = Keys { folder: folder(), keyspace: first.keyspace() };
    put_lease(&keys);
    let (_sentinel, port) = sentinel(&first, keys.folder.path());
    let (reader, number) = (keys.keyspace.reader(), keys.keyspace.number());
    // A missing sentinel is skipped.
    let url = |master: &str| format!("redis+sentinel://{reader}@127.0.0.1:1,127.0.0.1:{port}/{master}/{number}");
    let password = format!("password_file: {}", keys.keyspace.password_file().display());
    let exporter = Exporter::start(keys.folder.path(), &config_at(&url("main"), &password, LAYOUT));
    exporter.until(SOURCE, "a", "active", "progressing");
    let line = refused(keys.folder.path(), &config_at(&url("other"), &password, LAYOUT));
    assert!(line.contains("(schema_mismatch)") && line.contains("no master of the name"), "{line}");
    let line = refused(keys.folder.path(), &config_at(keys.keyspace.url(), "", LAYOUT));
    assert!(line.contains("(store_refused)"), "{line}");

    // The new server of the sentinel has no such user.
    let mut asked = redis::Client::open(format!("redis://127.0.0.1:{port}")).unwrap().get_connection().unwrap();
    for words in [vec!["REMOVE", "main"], vec!["MONITOR", "main", "127.0.0.1", &second.port().to_string(), "1"]] {
        redis::cmd("SENTINEL").arg(words).exec(&mut asked).unwrap();
    }
    assert_eq!(says(&exporter.scrape(), "a"), ("active", "progressing"), "the connection is kept");
    keys.keyspace.command(&["CLIENT", "KILL", "USER", reader]);
    eventually("the other server to be asked", || {
        (exporter.scrape().source("lease_source_up", SOURCE) == Some(0.0)).then_some(())
    });
    exporter.process().stderr.wait_for("refuses the user or the password");
}
