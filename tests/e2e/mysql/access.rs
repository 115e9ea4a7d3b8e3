//! Users, transport security, connections and timeouts.

use std::fs;

use super::{SOURCE, STEADY, complaint, config, scrape};
use crate::harness::store::folder;
use crate::harness::{Exporter, Metrics, eventually, now};
use crate::servers::{self, Certificates, Database, Kind, Server};

const LEASE: &str = "leases:\n  - match: { lease: steady }\n";
const ACTIVE: Option<(&str, &str)> = Some(("active", "progressing"));

fn of_steady(metrics: &Metrics) -> Option<(&str, &str)> {
    metrics.says(SOURCE, "steady")
}

/// A status counter of the server.
fn counted(database: &Database, name: &str) -> u64 {
    let told = database.query(&format!("SHOW GLOBAL STATUS WHERE Variable_name = '{name}'"));
    told.split('\t').nth(1).and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{told}"))
}

/// The number of connections of the reader.
fn connections(database: &Database) -> usize {
    let reader = database.reader().name();
    database
        .query(&format!("SELECT COUNT(*) FROM information_schema.processlist WHERE user = '{reader}'"))
        .parse()
        .unwrap()
}

#[test]
fn a_protected_connection_is_made_to_a_server_that_proves_who_it_is_and_to_no_other() {
    let certificates = Certificates::make();
    let server = Server::start_with_tls(Kind::MariaDb, &certificates, &[]);
    let database = server.database();
    let tls = |more: String| config(&database, &format!("tls: {{ {more} }}"), STEADY);
    let ca = format!("ca_file: {}", certificates.ca_file().display());
    assert_eq!(of_steady(&scrape(&tls(ca.clone()))), ACTIVE);
    let ciphers = counted(&database, "Ssl_accepts");
    assert!(ciphers > 0, "no protected connection was made");

    let stranger = format!("ca_file: {}", certificates.stranger_ca_file().display());
    for (wrong, told) in [
        (stranger, "(store_unreachable): TLS: the server's certificate is not signed by anyone trusted"),
        (
            "mode: verify".to_owned(),
            "(store_unreachable): TLS: the server's certificate is not signed by anyone trusted",
        ),
        (
            "mode: off".to_owned(),
            "(store_refused): the server refuses the user, the password, the client's host, or how the connection is protected",
        ),
        ("ca_file: nowhere".to_owned(), "(store_refused): the file that `ca_file` names, /"),
    ] {
        let complaint = complaint(&tls(wrong.clone()));
        assert!(complaint.starts_with(told), "{wrong}: {complaint}");
    }
    let absent = complaint(&tls("ca_file: nowhere".to_owned()));
    assert!(absent.ends_with("/nowhere, is not there"), "{absent}");

    database.require_certificate();
    let with = |certificate: &servers::Certificate| {
        let (cert, key) = (certificate.certificate_file.display(), certificate.key_file.display());
        tls(format!("{ca}, cert_file: {cert}, key_file: {key}"))
    };
    let name = database.reader().name();
    assert_eq!(of_steady(&scrape(&with(&certificates.client(name)))), ACTIVE);
    let without = complaint(&tls(ca.clone()));
    assert!(without.starts_with("(store_refused)"), "{without}");
    let unknown = complaint(&with(&certificates.client_of_stranger(name)));
    assert!(unknown.starts_with("(store_unreachable)") || unknown.starts_with("(store_refused)"), "{unknown}");
}

#[test]
fn a_certificate_for_another_host_is_refused() {
    let certificates = Certificates::for_server(&["elsewhere.example"]);
    let server = Server::start_with_tls(Kind::MariaDb, &certificates, &[]);
    let database = server.database();
    let tls = format!("tls: {{ ca_file: {} }}", certificates.ca_file().display());
    let complaint = complaint(&config(&database, &tls, STEADY));
    assert!(
        complaint.starts_with("(store_unreachable): TLS: the server's certificate is for another host"),
        "{complaint}"
    );
}

#[test]
fn a_password_is_read_anew_for_each_connection() {
    let database = super::database();
    let reader = database.reader();
    fs::write(reader.password_file(), "wrong\n").unwrap();
    let folder = folder();
    let yaml = config(&database, "", STEADY) + LEASE;
    let exporter = Exporter::start_with(folder.path(), &yaml, &["--log.level=debug"]);
    assert_eq!(of_steady(&exporter.scrape()), Some(("unknown", "store_refused")));
    exporter.process().stderr.wait_for("the server refuses the user, the password");
    fs::write(reader.password_file(), format!("{}\n", reader.password())).unwrap();
    assert_eq!(of_steady(&exporter.scrape()), ACTIVE);

    // The password changes during an open connection, which stays usable. The next connection needs the new password.
    database.execute(&format!("ALTER USER {}@'%' IDENTIFIED BY 'another'; FLUSH PRIVILEGES", reader.name()));
    assert_eq!(of_steady(&exporter.scrape()), ACTIVE);
    fs::write(reader.password_file(), "another").unwrap();
    database.execute(&format!("KILL CONNECTION USER {}@'%'", reader.name()));
    assert_eq!(of_steady(&exporter.scrape()), ACTIVE, "a connection that ended meanwhile is replaced within the read");
    for secret in [reader.password(), "another", reader.name(), "127.0.0.1:"] {
        let log = exporter.log().replace(&exporter.address().to_string(), "");
        assert!(!log.contains(secret), "{secret} is in the log: {log}");
    }
}

#[test]
fn a_user_who_may_read_the_columns_of_the_query_and_nothing_else_is_enough() {
    let database = super::database();
    database.execute(
        "CREATE TABLE lease (name VARCHAR(9), host VARCHAR(9), secret INT); INSERT INTO lease VALUES ('a', 'b', 1)",
    );
    let (reader, name) = (database.reader().name(), database.name());
    database.execute(&format!(
        "REVOKE SELECT ON {name}.* FROM {reader}@'%'; GRANT SELECT (name, host) ON {name}.lease TO {reader}@'%'"
    ));
    let query = "SELECT UTC_TIMESTAMP(6) AS store_now, name AS lease, host AS holder FROM lease";
    let folder = folder();
    let exporter = Exporter::start(folder.path(), &config(&database, "", query));
    assert_eq!(exporter.scrape().leases(SOURCE), ["a"]);
    let complaint = complaint(&config(&database, "", &query.replace("host AS holder", "secret AS epoch")));
    assert!(complaint.contains("(store_refused): the user may not read the column `secret`"), "{complaint}");
    // Revoking a right fails the next scrape, and granting it again repairs it.
    database.execute(&format!("REVOKE SELECT (name, host) ON {name}.lease FROM {reader}@'%'"));
    assert_eq!(exporter.scrape().says(SOURCE, "a"), Some(("unknown", "store_refused")));
    database.execute(&format!("GRANT SELECT ON {name}.lease TO {reader}@'%'"));
    assert_eq!(exporter.scrape().source("lease_source_up", SOURCE), Some(1.0));
}

#[test]
fn a_server_that_only_reads_is_a_replica_and_says_nothing_of_leases_until_it_can_be_written_again() {
    let server = Server::start(Kind::MariaDb, &[]);
    let database = server.database();
    let folder = folder();
    let exporter = Exporter::start(folder.path(), &config(&database, "", STEADY));
    assert_eq!(of_steady(&exporter.scrape()), ACTIVE);
    database.execute("SET GLOBAL read_only = ON");
    assert_eq!(of_steady(&exporter.scrape()), Some(("unknown", "store_refused")));
    exporter.process().stderr.wait_for("a replica, whose rows lag behind");
    database.execute("SET GLOBAL read_only = OFF");
    assert_eq!(of_steady(&exporter.scrape()), ACTIVE);
}

#[test]
fn sixteen_scrapes_at_once_are_one_read_at_the_server_and_reads_share_a_connection() {
    let server = Server::start(Kind::MariaDb, &[]);
    let database = server.database();
    let folder = folder();
    let shared = config(&database, "", STEADY).replace("reuse_for: 0s", "reuse_for: 1m");
    let exporter = Exporter::start(folder.path(), &shared);
    let replies = exporter.get_at_once("/metrics", 16);
    assert!(replies.iter().all(|reply| of_steady(&Metrics::parse(&reply.body)) == ACTIVE));
    assert_eq!(counted(&database, "Com_stmt_execute"), 1);
    drop(exporter);

    let exporter = Exporter::start(folder.path(), &config(&database, "", STEADY));
    for _ in 0..10 {
        assert_eq!(of_steady(&exporter.scrape()), ACTIVE);
        assert_eq!(connections(&database), 1);
    }
    assert_eq!(counted(&database, "Com_stmt_execute"), 11);
    assert_eq!(counted(&database, "Com_stmt_prepare"), 2, "prepared once a connection");
}

#[test]
fn slow_query_is_cancelled_at_the_server_and_the_next_scrape_succeeds() {
    let database = super::database();
    database.execute("CREATE TABLE slow (seconds INT); INSERT INTO slow VALUES (600)");
    let query = STEADY.replace("0 AS due", "SLEEP(seconds) AS due FROM slow");
    let folder = folder();
    let exporter = Exporter::start(folder.path(), &(config(&database, "timeout: 1s", &query) + LEASE));
    let began = now();
    assert_eq!(of_steady(&exporter.scrape()), Some(("unknown", "store_timeout")));
    assert!((now() - began).as_secs() < 30, "{:?}", now() - began);
    eventually("the server to be rid of the query", || (connections(&database) == 0).then_some(()));
    database.execute("UPDATE slow SET seconds = 0");
    assert_eq!(of_steady(&exporter.scrape()), ACTIVE);
}

#[test]
fn a_table_that_others_keep_locked_is_a_timeout() {
    let database = super::database();
    database.execute("CREATE TABLE held (a INT); INSERT INTO held VALUES (1)");
    let folder = folder();
    let query = STEADY.replace("0 AS due", "a AS due FROM held");
    let exporter = Exporter::start(folder.path(), &(config(&database, "timeout: 1s", &query) + LEASE));
    std::thread::scope(|scope| {
        scope.spawn(|| database.execute("LOCK TABLES held WRITE; SELECT SLEEP(6)"));
        eventually("the lock", || database.query("SHOW OPEN TABLES WHERE In_use > 0").contains("held").then_some(()));
        assert_eq!(of_steady(&exporter.scrape()), Some(("unknown", "store_timeout")));
    });
    assert_eq!(of_steady(&exporter.scrape()), ACTIVE);
}

#[test]
fn a_server_that_was_killed_is_found_again_by_the_first_scrape_after_it_is_back() {
    let server = Server::start(Kind::MariaDb, &["max_connections=10"]);
    let database = server.database();
    let folder = folder();
    let exporter = Exporter::start(folder.path(), &config(&database, "timeout: 2s", STEADY));
    assert_eq!(of_steady(&exporter.scrape()), ACTIVE);
    for (fault, reason) in [("killed", "store_unreachable"), ("frozen", "store_timeout")] {
        if fault == "killed" {
            server.kill()
        } else {
            server.freeze()
        }
        for _ in 0..3 {
            let metrics = exporter.scrape();
            let said = of_steady(&metrics);
            assert!(
                said == Some(("unknown", reason)) || said == Some(("unknown", "store_unreachable")),
                "{fault}: {said:?}"
            );
            assert_eq!(metrics.of("lease_epoch", SOURCE, "steady"), None);
        }
        if fault == "killed" {
            server.restart()
        } else {
            server.thaw()
        }
        assert_eq!(of_steady(&exporter.scrape()), ACTIVE, "after it was {fault}");
    }
}
