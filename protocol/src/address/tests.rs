use super::*;

fn parsed(url: &str) -> Result<StoreAddress, InvalidAddress> {
    StoreAddress::parse(url, None)
}

fn server(url: &str) -> ServerAddress {
    match parsed(url) {
        Ok(StoreAddress::Postgres { server, .. } | StoreAddress::Redis { server, .. }) => server,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_sqlite_path_is_used_as_written() {
    assert_eq!(parsed("sqlite:///var/a b.db"), Ok(StoreAddress::Sqlite("/var/a b.db".into())));
    assert_eq!(parsed("sqlite://a/b.db"), Ok(StoreAddress::Sqlite("a/b.db".into())));
    let password_file = Some("password".into());
    assert_eq!(StoreAddress::parse("sqlite://a.db", password_file), Err(InvalidAddress::PasswordOfFile));
}

#[test]
fn a_server_url_names_host_port_user_and_database() {
    let full = server("postgres://me@db.example:6432/jobs");
    assert_eq!(
        (full.host(), full.port(), full.user(), full.database()),
        ("db.example", 6432, Some("me"), Some("jobs"))
    );
    let bare = server("redis://db.example");
    assert_eq!((bare.host(), bare.port(), bare.user(), bare.database()), ("db.example", 6379, None, None));
    let six = server("postgresql://[::1]:5433/jobs");
    assert_eq!((six.host(), six.port()), ("::1", 5433));
    assert_eq!(server("redis://[::1]/2").database(), Some("2"));
    let encoded = server("postgres://me%40x@db/a%20b");
    assert_eq!((encoded.user(), encoded.database()), (Some("me@x"), Some("a b")));
}

#[test]
fn connections_to_postgres_on_another_machine_use_tls_by_default() {
    for (url, transport) in [
        ("postgres://db.example/jobs", Transport::Tls),
        ("postgres://db.example/jobs?sslmode=verify-full", Transport::Tls),
        ("postgres://db.example/jobs?sslmode=disable", Transport::Plain),
        ("postgres://localhost/jobs", Transport::Plain),
        ("postgres://127.0.0.2/jobs", Transport::Plain),
        ("postgres://[::1]/jobs", Transport::Plain),
        ("postgres://127.0.0.1/jobs?sslmode=verify-full", Transport::Tls),
        ("redis://db.example", Transport::Plain),
        ("rediss://localhost", Transport::Tls),
    ] {
        assert_eq!(server(url).transport(), transport, "{url}");
    }
}

#[test]
fn a_url_that_names_no_store_is_refused_without_being_repeated() {
    for wrong in [
        "",
        "planted",
        "/planted.db",
        "sqlite:",
        "sqlite://",
        "sqlite:///",
        "sqlite:///planted?mode=ro",
        "postgres://",
        "postgres:///planted",
        "postgres://planted:port/db",
        "postgres://planted/a/b",
        "postgres://planted/db?password=planted",
        "postgres://planted/db?sslmode=prefer",
        "postgres://[::1/planted",
        "postgres://[::1]5432/planted",
        "postgres://%2Fplanted/db",
        "postgres://planted/a%2Fb",
        "redis://planted/first",
        "redis://planted/0?protocol=3",
        "mysql://planted/db",
    ] {
        assert_eq!(parsed(wrong), Err(InvalidAddress::Form), "{wrong}");
    }
    for secret in ["postgres://me:planted@host/db", "redis://:planted@host", "redis://me:a@b/c@host"] {
        assert_eq!(parsed(secret), Err(InvalidAddress::Password), "{secret}");
    }
    for told in [InvalidAddress::Form, InvalidAddress::Password, InvalidAddress::PasswordOfFile] {
        assert!(!told.to_string().contains("planted"));
    }
    assert_eq!(format!("{:?}{:?}", parsed("redis://planted").unwrap(), server("redis://planted")), "<redis><server>");
}

#[test]
fn the_url_of_a_server_names_the_same_server() {
    for url in ["postgres://me%40x@db.example:5432/a%20b", "postgres://[::1]:5433/jobs", "postgres://db-1.example:1"] {
        assert_eq!(server(url).url("postgres"), url);
    }
    let proxy = server("postgres://me@db.example/jobs").through_proxy(([127, 0, 0, 1], 7).into());
    assert_eq!((proxy.url("postgres"), proxy.transport()), ("postgres://me@127.0.0.1:7/jobs".into(), Transport::Plain));
}
