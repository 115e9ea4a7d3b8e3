//! Users, transport security, connections and timeouts.

use super::{LEASES, READ, SOURCE, Table, config, refused, says};
use crate::harness::store::folder;
use crate::harness::{Exporter, check};
use crate::servers::{self, Certificates, Kind, Server};

#[test]
fn socket_can_be_given_instead_of_a_host() {
    let table = Table::new();
    let server = servers::postgres();
    // The private socket needs no password.
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
        ("ca_file: none.pem", "store_refused", "/none.pem, is not there"),
    ] {
        let line = refused(folder.path(), &yaml(tls));
        assert!(line.contains(&format!("({reason})")) && line.contains(told), "{tls}: {line}");
    }
    // The reader needs no password if its certificate has its name.
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
