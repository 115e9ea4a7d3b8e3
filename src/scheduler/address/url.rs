//! How a URL is read: what names a store, and what does not.

use std::path::PathBuf;

use super::{ServerAddress, StoreAddress, Transport};

/// A URL that names no store. It says what is expected and never repeats what was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidAddress {
    /// Its user put a password where everyone sees it.
    #[error("a password must not stand in it: put it into a file, and name that with --password-file")]
    Password,
    /// A file needs none.
    #[error("an SQLite file has no password: leave out --password-file")]
    PasswordOfFile,
    /// Whoever built the program left this kind of store out.
    #[error("this build leaves out that kind of store: build it with the cargo feature `{feature}`")]
    NotBuilt {
        /// The feature's name.
        feature: &'static str,
    },
    /// It is none of the forms.
    #[error(
        "expected sqlite:///absolute/path or sqlite://relative/path, postgres://user@host:port/database, \
         or redis://user@host:port/number"
    )]
    Form,
}

impl StoreAddress {
    /// Reads a URL. Nothing in it is decoded.
    ///
    /// Between machines PostgreSQL is spoken to over TLS, unless the URL ends in `?sslmode=disable`; Redis is if the
    /// scheme is `rediss`.
    ///
    /// # Errors
    /// When it names no store, or has a password in it.
    pub fn parse(url: &str, password_file: Option<PathBuf>) -> Result<Self, InvalidAddress> {
        let (scheme, rest) = url.split_once("://").ok_or(InvalidAddress::Form)?;
        if scheme == "sqlite" {
            let names_file = !rest.is_empty() && !rest.ends_with('/') && !rest.contains('?');
            return match (names_file, password_file) {
                (false, _) => Err(InvalidAddress::Form),
                (true, Some(_)) => Err(InvalidAddress::PasswordOfFile),
                (true, None) => Ok(Self::Sqlite(rest.into())),
            };
        }
        let (rest, sslmode) = match rest.split_once("?sslmode=") {
            Some((rest, mode)) if scheme.starts_with("postgres") => (rest, Some(mode)),
            _ => (rest, None),
        };
        let usual_port = if scheme.starts_with("redis") { 6379 } else { 5432 };
        let mut server = ServerAddress::parse(rest, usual_port, password_file)?;
        match scheme {
            "postgres" | "postgresql" => {
                server.transport = match sslmode {
                    None if server.is_this_machine() => Transport::Plain,
                    None | Some("verify-full") => Transport::Tls,
                    Some("disable") => Transport::Plain,
                    Some(_) => return Err(InvalidAddress::Form),
                };
                Self::postgres(server)
            }
            "redis" | "rediss" if server.database().is_none_or(|number| number.parse::<u16>().is_ok()) => {
                server.transport = if scheme == "rediss" { Transport::Tls } else { Transport::Plain };
                Self::redis(server)
            }
            _ => Err(InvalidAddress::Form),
        }
    }

    #[cfg(feature = "postgres")]
    fn postgres(server: ServerAddress) -> Result<Self, InvalidAddress> {
        Ok(Self::Postgres { server, schema: None })
    }

    #[cfg(not(feature = "postgres"))]
    fn postgres(_: ServerAddress) -> Result<Self, InvalidAddress> {
        Err(InvalidAddress::NotBuilt { feature: "postgres" })
    }

    #[cfg(feature = "redis")]
    fn redis(server: ServerAddress) -> Result<Self, InvalidAddress> {
        Ok(Self::Redis { server, prefix: super::KEY_PREFIX.to_owned() })
    }

    #[cfg(not(feature = "redis"))]
    fn redis(_: ServerAddress) -> Result<Self, InvalidAddress> {
        Err(InvalidAddress::NotBuilt { feature: "redis" })
    }
}

impl ServerAddress {
    /// Reads `user@host:port/database`, of which only the host is needed.
    fn parse(text: &str, usual_port: u16, password_file: Option<PathBuf>) -> Result<Self, InvalidAddress> {
        // Before anything else is split, for a password may hold whatever character.
        let (user, place) = match text.rsplit_once('@') {
            Some((user, _)) if user.contains(':') => return Err(InvalidAddress::Password),
            Some((user, place)) => (Some(user), place),
            None => (None, text),
        };
        let (place, database) = place.split_once('/').map_or((place, None), |(place, rest)| (place, Some(rest)));
        let (host, port) = match place.strip_prefix('[').map(|place| place.split_once(']')) {
            Some(Some((host, rest))) => (host, rest.strip_prefix(':').or((!rest.is_empty()).then_some("none"))),
            Some(None) => return Err(InvalidAddress::Form),
            None => place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
        };
        let port = port.map_or(Ok(usual_port), str::parse).map_err(|_| InvalidAddress::Form)?;
        let plain = |text: &str| !text.contains(['?', '#', '%', '/', ' ']);
        if host.is_empty() || ![host, user.unwrap_or(""), database.unwrap_or("")].into_iter().all(plain) {
            return Err(InvalidAddress::Form);
        }
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Ok(Self {
            host: host.to_owned(),
            port,
            user: user.and_then(given),
            database: database.and_then(given),
            transport: Transport::Plain,
            password_file,
        })
    }
}

#[cfg(test)]
#[cfg(all(feature = "postgres", feature = "redis"))]
mod tests {
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
    fn a_file_is_a_path_as_it_stands() {
        assert_eq!(parsed("sqlite:///var/a b.db"), Ok(StoreAddress::Sqlite("/var/a b.db".into())));
        assert_eq!(parsed("sqlite://a/b.db"), Ok(StoreAddress::Sqlite("a/b.db".into())));
        let password_file = Some("password".into());
        assert_eq!(StoreAddress::parse("sqlite://a.db", password_file), Err(InvalidAddress::PasswordOfFile));
    }

    #[test]
    fn a_server_is_a_host_and_what_else_is_said() {
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
    }

    #[test]
    fn between_machines_postgres_is_spoken_to_over_tls_unless_told_otherwise() {
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
    fn what_names_no_store_is_refused_without_repeating_it() {
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
        assert_eq!(
            format!("{:?}{:?}", parsed("redis://planted").unwrap(), server("redis://planted")),
            "<redis><server>"
        );
    }
}
