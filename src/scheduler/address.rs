//! Where a store is: what a URL says, and nothing secret.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

#[cfg(any(feature = "postgres", feature = "redis"))]
use super::protocol::ProtocolError;

/// What precedes every key unless told otherwise.
#[cfg(feature = "redis")]
pub(super) const KEY_PREFIX: &str = "scheduler:";

/// Where a store is. Only its kind is ever printed.
#[derive(Clone, PartialEq, Eq)]
pub enum StoreAddress {
    /// An SQLite file.
    Sqlite(PathBuf),
    /// Tables on a PostgreSQL server.
    #[cfg(feature = "postgres")]
    Postgres {
        /// Which server and database.
        server: ServerAddress,
        /// The schema that they are in; the user's own if none is given.
        schema: Option<String>,
    },
    /// Keys on a Redis or Valkey server.
    #[cfg(feature = "redis")]
    Redis {
        /// Which server and database.
        server: ServerAddress,
        /// What each of them begins with.
        prefix: String,
    },
}

/// A server, who asks, and for which database.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerAddress {
    host: String,
    port: u16,
    user: Option<String>,
    database: Option<String>,
    transport: Transport,
    password_file: Option<PathBuf>,
}

/// How what is said reaches a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// As it is.
    Plain,
    /// Over TLS, to a server that proves its name by a certificate that the system trusts.
    Tls,
}

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
        Ok(Self::Redis { server, prefix: KEY_PREFIX.to_owned() })
    }

    #[cfg(not(feature = "redis"))]
    fn redis(_: ServerAddress) -> Result<Self, InvalidAddress> {
        Err(InvalidAddress::NotBuilt { feature: "redis" })
    }

    /// The server; `None` for a file.
    #[must_use]
    pub fn server(&self) -> Option<&ServerAddress> {
        match self {
            Self::Sqlite(_) => None,
            #[cfg(feature = "postgres")]
            Self::Postgres { server, .. } => Some(server),
            #[cfg(feature = "redis")]
            Self::Redis { server, .. } => Some(server),
        }
    }

    /// The same server, in a schema or under a prefix of this name. A file stays the same file.
    #[must_use]
    #[cfg_attr(
        not(any(feature = "postgres", feature = "redis")),
        expect(unused_variables, reason = "a file needs no name")
    )]
    pub fn within(self, name: &str) -> Self {
        match self {
            Self::Sqlite(path) => Self::Sqlite(path),
            #[cfg(feature = "postgres")]
            Self::Postgres { server, .. } => Self::Postgres { server, schema: Some(name.to_owned()) },
            #[cfg(feature = "redis")]
            Self::Redis { server, .. } => Self::Redis { server, prefix: format!("{name}:") },
        }
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

    /// The host's name or address.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Who asks, if the URL says.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// Which database, if the URL says.
    #[must_use]
    pub fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    /// How to speak to it.
    #[must_use]
    pub fn transport(&self) -> Transport {
        self.transport
    }

    /// The file that holds the password.
    #[must_use]
    pub fn password_file(&self) -> Option<&Path> {
        self.password_file.as_deref()
    }

    /// The password as its file has it now, without the end of the line.
    #[cfg(any(feature = "postgres", feature = "redis"))]
    pub(super) fn password(&self) -> Result<Option<String>, ProtocolError> {
        let Some(path) = &self.password_file else { return Ok(None) };
        let text = std::fs::read_to_string(path).map_err(|_| ProtocolError::PasswordFile)?;
        Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
    }

    /// The same user and database by another way, on which nothing is encrypted.
    #[must_use]
    pub fn at(&self, place: SocketAddr) -> Self {
        Self { host: place.ip().to_string(), port: place.port(), transport: Transport::Plain, ..self.clone() }
    }

    /// The address as a URL, to be written where no secret is seen by more than may read it.
    #[must_use]
    pub fn url(&self, scheme: &str) -> String {
        let user = self.user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        let database = self.database.as_ref().map(|name| format!("/{name}")).unwrap_or_default();
        format!("{scheme}://{user}{host}:{}{database}", self.port)
    }

    fn is_this_machine(&self) -> bool {
        self.host == "localhost" || self.host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

impl fmt::Debug for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sqlite(_) => "<sqlite>",
            #[cfg(feature = "postgres")]
            Self::Postgres { .. } => "<postgres>",
            #[cfg(feature = "redis")]
            Self::Redis { .. } => "<redis>",
        })
    }
}

impl fmt::Debug for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<server>")
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
