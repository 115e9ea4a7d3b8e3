//! Addresses, read as a configuration reads them.
#![cfg(all(feature = "mysql", feature = "postgres", feature = "redis"))]

use std::path::Path;
use std::sync::Arc;

use crate::store::kind::StoreConfig;
use crate::store::kinds;
use crate::store::section::{Section, StoreDiagnostics, StoreSection, Text};
use crate::store::sqlite::SqliteFile;
use crate::store::{Host, Statement, Tls, mysql, postgres, redis};

/// The configuration that an address makes, or the error.
fn parse(text: &str) -> Result<Arc<dyn StoreConfig>, String> {
    let kind = kinds::of_address(text).map_err(|problem| problem.to_string())?;
    let address: Text = crate::yaml::read(&serde_json::to_string(text).unwrap(), &[]).unwrap();
    let (keys, mut diagnostics) = (Section::default(), StoreDiagnostics::default());
    let section = &mut StoreSection {
        address: &address,
        keys: &keys,
        line: 1,
        base_dir: Path::new("/etc/lease-exporter"),
        diagnostics: &mut diagnostics,
    };
    let layout = || Box::new(redis::keys::tests::layout("lock: a"));
    let config = match kind.name() {
        "redis" => kind.configure(section, Some(layout())),
        _ => kind.configure(section, Some(Box::new(Statement::Fixed("SELECT 1".into())))),
    };
    diagnostics.finish("", config).map_err(|error| error.to_string()).map(Option::unwrap)
}

#[test]
fn a_path_is_absolute_or_starts_at_the_configurations_folder() {
    for (text, path) in [
        ("sqlite:///var/lib/a b@c.db", "/var/lib/a b@c.db"),
        ("sqlite://beside/it.db", "/etc/lease-exporter/beside/it.db"),
    ] {
        assert_eq!(parse(text).unwrap().downcast_ref::<SqliteFile>().unwrap().path, Path::new(path), "{text}");
    }
}

fn database(text: &str) -> (&'static str, Host, Option<String>, String) {
    let config = parse(text).unwrap();
    let (server, name) = match config.downcast_ref::<postgres::Database>() {
        Some(database) => (&database.server, &database.name),
        None => config.downcast_ref::<mysql::Database>().map(|database| (&database.server, &database.name)).unwrap(),
    };
    (config.kind().name(), server.host.clone(), server.user.clone().map(String::from), name.to_string())
}

fn tcp(name: &str, port: u16) -> Host {
    Host::Tcp { name: name.into(), port }
}

#[test]
fn a_servers_address_names_host_port_user_and_database() {
    let some = |user: &str| Some(user.to_owned());
    for (text, expected) in [
        ("postgres://db.example/app", ("postgres", tcp("db.example", 5432), None, "app")),
        ("postgresql://me@[::1]:5433/app", ("postgres", tcp("::1", 5433), some("me"), "app")),
        ("postgres://me%40x@%2Frun%2Fpg/a%20b", ("postgres", Host::Socket("/run/pg".into()), some("me@x"), "a b")),
        ("mysql://me@10.0.0.1/app", ("mysql", tcp("10.0.0.1", 3306), some("me"), "app")),
        ("mariadb://h:3307/app", ("mysql", tcp("h", 3307), None, "app")),
    ] {
        let (kind, host, user, name) = expected;
        assert_eq!(database(text), (kind, host, user, name.to_owned()), "{text}");
    }
}

#[test]
fn an_error_in_a_servers_address_is_explained() {
    for (text, wrong) in [
        ("postgres:", "names no host"),
        ("postgres://", "names no host"),
        ("postgres:///planted", "names no host"),
        ("postgres://planted", "names no database"),
        ("postgres://planted/", "names no database"),
        ("postgres://planted/a/b", "more than the database's name"),
        ("postgres://planted:x/b", "cannot be read"),
        ("postgres://planted/b?sslmode=require", "takes no parameters"),
        ("postgres://%2Fplanted:1/b", "a socket has no port"),
        ("postgres://planted/%00", "zero byte"),
        ("postgres://planted/%ff", "not UTF-8"),
    ] {
        let problem = parse(text).unwrap_err();
        assert!(problem.contains(wrong) && !problem.contains("planted"), "{text}: {problem}");
    }
}

#[test]
fn a_secret_is_found_wherever_it_stands_and_never_repeated() {
    for text in [
        "postgres://u:planted@h/db",
        "postgres://u:pla/n@ted@h/db",
        "postgres://u:planted?@h/db",
        "redis://:planted@h",
        "mysql://h/db?password=planted",
        "postgres://h/db?sslpassword=planted@x",
        "host=h user=u password=planted",
        "u:planted@h/db",
        "nosuch://u:planted@h/db",
    ] {
        assert_eq!(parse(text).unwrap_err(), kinds::SECRET_IN_ADDRESS, "{text}");
        assert!(!kinds::SECRET_IN_ADDRESS.contains("planted"));
    }
}

#[test]
fn an_address_that_this_build_cannot_read_is_refused_without_repeating_it() {
    for text in [
        "",
        "planted",
        "/planted",
        "sqlite:/planted",
        "sqlite://",
        "sqlite:",
        "sqlite://:memory:",
        "sqlite:///planted?mode=ro",
        "sqlite:///db?key=planted",
        "sqlite:///db#password=planted",
        "sqlite://u:planted@h/db",
        "kubernetes:",
        "nosuch://planted",
    ] {
        let problem = parse(text).unwrap_err();
        assert_ne!(problem, kinds::SECRET_IN_ADDRESS, "{text}");
        assert!(!problem.contains("planted"), "{problem}");
    }
}

#[test]
fn an_address_of_keys_names_a_server_or_sentinels_and_a_numbered_database() {
    use redis::{Keyspace, ServerLocation};
    let sentinels = |hosts: &[Host]| ServerLocation::Sentinels { sentinels: hosts.into(), master: "main".into() };
    for (text, protected, place, user, database) in [
        ("redis://cache.example", false, ServerLocation::Server(tcp("cache.example", 6379)), None, 0),
        ("valkey://me@[::1]:7000/12", false, ServerLocation::Server(tcp("::1", 7000)), Some("me"), 12),
        ("rediss://me%40x@cache/", true, ServerLocation::Server(tcp("cache", 6379)), Some("me@x"), 0),
        ("valkeys://cache", true, ServerLocation::Server(tcp("cache", 6379)), None, 0),
        (
            "redis://%2Frun%2Fredis.sock/3",
            false,
            ServerLocation::Server(Host::Socket("/run/redis.sock".into())),
            None,
            3,
        ),
        ("redis+sentinel://s1/main", false, sentinels(&[tcp("s1", 26379)]), None, 0),
        (
            "rediss+sentinel://me@s1:1,[::1]:2,10.0.0.1,[fe80::1]/main/7",
            true,
            sentinels(&[tcp("s1", 1), tcp("::1", 2), tcp("10.0.0.1", 26379), tcp("fe80::1", 26379)]),
            Some("me"),
            7,
        ),
        ("valkey+sentinel://s1/ma%69n", false, sentinels(&[tcp("s1", 26379)]), None, 0),
    ] {
        let config = parse(text).unwrap();
        let found = config.downcast_ref::<Keyspace>().unwrap();
        assert_eq!((found.server.tls != Tls::Off, &found.server.host), (protected, &place), "{text}");
        assert_eq!((found.server.user.as_deref(), found.database), (user, database), "{text}");
    }
}

proptest::proptest! {
    #[test]
        fn any_list_of_sentinels_is_taken_or_refused_without_a_panic(rest in "[-a-z0-9:@,/%\\[\\]. ]{0,40}") {
        let _ = parse(&format!("redis+sentinel://{rest}"));
    }
}
