use super::*;

fn parse(text: &str) -> Result<Address, Problem> {
    Address::parse(text, Path::new("/etc/lease-exporter"))
}

#[test]
fn a_path_is_absolute_or_starts_at_the_configurations_folder() {
    for (text, path) in [
        ("sqlite:///var/lib/a b@c.db", "/var/lib/a b@c.db"),
        ("sqlite://beside/it.db", "/etc/lease-exporter/beside/it.db"),
    ] {
        assert_eq!(parse(text), Ok(Address::Sqlite(path.into())), "{text}");
    }
}

fn database(text: &str) -> (Dialect, Host, Option<String>, String) {
    match parse(text).unwrap() {
        Address::Database { dialect, host, user, name } => (dialect, host, user.map(String::from), name.into()),
        other => panic!("{text}: {other:?}"),
    }
}

fn tcp(name: &str, port: u16) -> Host {
    Host::Tcp { name: name.into(), port }
}

#[test]
#[cfg(all(feature = "postgres", feature = "mysql"))]
fn a_servers_address_names_host_port_user_and_database() {
    let some = |user: &str| Some(user.to_owned());
    for (text, expected) in [
        ("postgres://db.example/app", (Dialect::Postgres, tcp("db.example", 5432), None, "app")),
        ("postgresql://me@[::1]:5433/app", (Dialect::Postgres, tcp("::1", 5433), some("me"), "app")),
        (
            "postgres://me%40x@%2Frun%2Fpg/a%20b",
            (Dialect::Postgres, Host::Socket("/run/pg".into()), some("me@x"), "a b"),
        ),
        ("mysql://me@10.0.0.1/app", (Dialect::Mysql, tcp("10.0.0.1", 3306), some("me"), "app")),
        ("mariadb://h:3307/app", (Dialect::Mysql, tcp("h", 3307), None, "app")),
    ] {
        let (dialect, host, user, name) = expected;
        assert_eq!(database(text), (dialect, host, user, name.to_owned()), "{text}");
    }
}

#[test]
#[cfg(feature = "postgres")]
fn what_is_wrong_with_a_servers_address_is_said() {
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
        let problem = parse(text).unwrap_err().to_string();
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
        assert_eq!(parse(text), Err(Problem::SecretInAddress), "{text}");
        assert!(!Problem::SecretInAddress.to_string().contains("planted"));
    }
}

#[test]
fn what_is_no_address_of_a_store_in_this_build_is_refused_without_repeating_it() {
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
        assert_ne!(problem, Problem::SecretInAddress, "{text}");
        assert!(!problem.to_string().contains("planted"), "{problem}");
    }
}

#[test]
#[cfg(feature = "redis")]
fn an_address_of_keys_names_a_server_or_sentinels_and_a_numbered_database() {
    use crate::store::redis::Place;
    let sentinels = |hosts: &[Host]| Place::Sentinels { sentinels: hosts.into(), master: "main".into() };
    for (text, protected, place, user, database) in [
        ("redis://cache.example", false, Place::Server(tcp("cache.example", 6379)), None, 0),
        ("valkey://me@[::1]:7000/12", false, Place::Server(tcp("::1", 7000)), Some("me"), 12),
        ("rediss://me%40x@cache/", true, Place::Server(tcp("cache", 6379)), Some("me@x"), 0),
        ("valkeys://cache", true, Place::Server(tcp("cache", 6379)), None, 0),
        ("redis://%2Frun%2Fredis.sock/3", false, Place::Server(Host::Socket("/run/redis.sock".into())), None, 3),
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
        let expected = Address::Redis { protected, place, user: user.map(Into::into), database };
        assert_eq!(parse(text), Ok(expected), "{text}");
    }
}

proptest::proptest! {
    #[test]
    #[cfg(feature = "redis")]
    fn any_list_of_sentinels_is_taken_or_refused_without_a_panic(rest in "[-a-z0-9:@,/%\\[\\]. ]{0,40}") {
        let _ = parse(&format!("redis+sentinel://{rest}"));
    }
}
