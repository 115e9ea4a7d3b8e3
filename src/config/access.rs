//! How to get at a store: who the exporter is there, how the connection is protected, what its times mean.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use super::address::Address;
use super::problem::{Faults, Problem, Shown};
use super::raw::{RawSource, RawTls, Text};
use crate::preset::Dialect;
use crate::store::keys::KeyLayout;
#[cfg(feature = "redis")]
use crate::store::redis::Place;
use crate::store::{Host, Identity, NoZone, PasswordFile, Server, SessionZone, Statement, Tls, Zone};

/// A store and what to read there.
#[derive(Clone, PartialEq, Eq)]
pub enum Reads {
    /// An SQLite file.
    Sqlite {
        /// The file.
        path: PathBuf,
        /// The statement that reads it, which returns columns of the reading contract.
        sql: Arc<str>,
    },
    /// A PostgreSQL database.
    #[cfg(feature = "postgres")]
    Postgres(Database),
    /// A MySQL or MariaDB database.
    #[cfg(feature = "mysql")]
    Mysql(Database),
    /// Keys of a Redis or Valkey.
    #[cfg(feature = "redis")]
    Redis(Box<Keyspace>),
}

/// What to ask of a store.
pub(super) enum Question {
    /// This, in SQL.
    Statement(Statement),
    /// What these keys hold.
    Keys(KeyLayout),
}

/// A database of a server, and how to read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Database {
    /// The server.
    pub server: Server,
    /// The database's name.
    pub name: Box<str>,
    /// The schema that unqualified names are looked up in; the server's own default if none is given.
    pub schema: Option<Box<str>>,
    /// The statement that reads it, which returns columns of the reading contract.
    pub statement: Statement,
    /// What times without a zone mean.
    pub time_zone: Zone,
    /// The zone that the server is told to convert its times to.
    pub session_time_zone: SessionZone,
}

/// A numbered database of keys and values, and where the leases are in it.
#[cfg(feature = "redis")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyspace {
    /// Where the server is.
    pub place: Place,
    /// The user to read as.
    pub user: Option<Box<str>>,
    /// The user's password.
    pub password: Option<PasswordFile>,
    /// Whether and how connections are protected.
    pub tls: Tls,
    /// The database's number.
    pub database: u32,
    /// Where the leases are.
    pub layout: KeyLayout,
}

/// What the configuration says beside the address.
pub(super) struct Access {
    password: Option<PasswordFile>,
    tls: Option<Tls>,
    schema: Option<Box<str>>,
    time_zone: Zone,
    session_time_zone: SessionZone,
}

impl Access {
    /// Checks the keys that say how to get at the store at this address.
    pub(super) fn new(raw: &RawSource, address: &Address, base_dir: &Path, faults: &mut Faults) -> Option<Self> {
        let before = faults.count();
        note_keys_of_others(raw, address.dialect(), faults);
        let tls = raw.tls.as_ref().and_then(|raw| tls(&raw.value, raw.referenced.line(), base_dir, faults));
        if let (Some(raw), Some(tls)) = (&raw.tls, &tls) {
            faults.keep(raw.referenced.line(), agrees(tls, address));
        }
        let access = Self {
            password: raw.password_file.as_ref().map(|file| PasswordFile::new(base_dir.join(&file.value))),
            tls,
            schema: raw.schema.as_ref().and_then(|text| schema(text, faults)),
            time_zone: zone("time_zone", raw.time_zone.as_ref(), faults),
            session_time_zone: zone("session_time_zone", raw.session_time_zone.as_ref(), faults),
        };
        (faults.count() == before).then_some(access)
    }
}

/// Takes note of keys that say nothing of stores of this kind.
fn note_keys_of_others(raw: &RawSource, dialect: Dialect, faults: &mut Faults) {
    if let (Some(file), Dialect::Sqlite) = (&raw.password_file, dialect) {
        faults.note(file.referenced.line(), Problem::PasswordOfFile);
    }
    let line = |text: &Option<Text>| text.as_ref().map(|text| text.referenced.line());
    let tls = raw.tls.as_ref().map(|tls| tls.referenced.line());
    for (key, line, of) in [
        ("tls", tls, &[Dialect::Postgres, Dialect::Mysql, Dialect::Redis][..]),
        ("schema", line(&raw.schema), &[Dialect::Postgres]),
        ("time_zone", line(&raw.time_zone), &[Dialect::Postgres, Dialect::Mysql]),
        ("session_time_zone", line(&raw.session_time_zone), &[Dialect::Mysql]),
    ] {
        if let Some(line) = line.filter(|_| !of.contains(&dialect)) {
            faults.note(line, Problem::KeyOfOther { key, store: dialect.as_str() });
        }
    }
}

/// Whether what `tls` says is what the address says, where that says anything.
fn agrees(tls: &Tls, address: &Address) -> Result<(), Problem> {
    match (address, tls) {
        #[cfg(feature = "redis")]
        (Address::Redis { protected: false, .. }, _) => Err(Problem::TlsOfPlainScheme),
        #[cfg(feature = "redis")]
        (Address::Redis { protected: true, .. }, Tls::Off) => Err(Problem::TlsOffOfScheme),
        _ => Ok(()),
    }
}

/// `None` also where something is wrong, which is then noted.
fn tls(raw: &RawTls, line: u64, base_dir: &Path, faults: &mut Faults) -> Option<Tls> {
    let file = |text: &Text| base_dir.join(&text.value);
    let off = match raw.mode.as_ref().map(|mode| (&*mode.value, mode.referenced.line())) {
        None | Some(("verify", _)) => false,
        Some(("off", _)) => true,
        Some((other, line)) => {
            let value = Shown::new(other);
            faults.note(line, Problem::Choice { key: "mode", value, known: "`verify` or `off`" });
            return None;
        }
    };
    let identity = match (&raw.cert_file, &raw.key_file) {
        (Some(cert), Some(key)) => Some(Identity { cert_file: file(cert), key_file: file(key) }),
        (None, None) => None,
        _ => {
            faults.note(line, Problem::HalfIdentity);
            return None;
        }
    };
    match (off, &raw.ca_file, identity) {
        (true, None, None) => Some(Tls::Off),
        (true, ..) => {
            faults.note(line, Problem::TlsOffWithFiles);
            None
        }
        (false, ca_file, identity) => Some(Tls::Verify { ca_file: ca_file.as_ref().map(file), identity }),
    }
}

fn schema(text: &Text, faults: &mut Faults) -> Option<Box<str>> {
    let plain = !text.value.is_empty()
        && text.value.len() <= 63
        && text.value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let schema = if plain { Ok(text.value.as_str().into()) } else { Err(Problem::Schema(Shown::new(&text.value))) };
    faults.keep(text.referenced.line(), schema)
}

/// UTC unless something else is given.
fn zone<Z>(key: &'static str, text: Option<&Text>, faults: &mut Faults) -> Z
where
    Z: FromStr<Err = NoZone> + Default,
{
    let Some(text) = text else { return Z::default() };
    let zone = text.value.parse().map_err(|fault| Problem::Zone { key, value: Shown::new(&text.value), fault });
    faults.keep(text.referenced.line(), zone).unwrap_or_default()
}

impl Reads {
    /// Puts together where a store is, how to get at it and what to read; `None` where they do not belong together, which
    /// is noted before.
    pub(super) fn new(address: Address, access: Access, question: Question) -> Option<Self> {
        match (address, question) {
            (Address::Sqlite(path), Question::Statement(Statement::Fixed(sql))) => Some(Self::Sqlite { path, sql }),
            (Address::Database { dialect, host, user, name }, Question::Statement(statement)) => {
                #[cfg_attr(
                    not(any(feature = "mysql", feature = "postgres")),
                    expect(unused_variables, reason = "such an address is refused in such a build")
                )]
                let database = Database {
                    server: Server { tls: access.tls_for(&host), password: access.password, host, user },
                    name,
                    schema: access.schema,
                    statement,
                    time_zone: access.time_zone,
                    session_time_zone: access.session_time_zone,
                };
                match dialect {
                    #[cfg(feature = "postgres")]
                    Dialect::Postgres => Some(Self::Postgres(database)),
                    #[cfg(feature = "mysql")]
                    Dialect::Mysql => Some(Self::Mysql(database)),
                    _ => None,
                }
            }
            #[cfg(feature = "redis")]
            (Address::Redis { protected, place, user, database }, Question::Keys(layout)) => {
                let tls = match (protected, access.tls) {
                    (false, _) => Tls::Off,
                    (true, Some(tls)) => tls,
                    (true, None) => Tls::Verify { ca_file: None, identity: None },
                };
                let password = access.password;
                Some(Self::Redis(Box::new(Keyspace { place, user, password, tls, database, layout })))
            }
            _ => None,
        }
    }

    /// The language that the store is read in.
    #[must_use]
    pub const fn dialect(&self) -> Dialect {
        match self {
            Self::Sqlite { .. } => Dialect::Sqlite,
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => Dialect::Postgres,
            #[cfg(feature = "mysql")]
            Self::Mysql(_) => Dialect::Mysql,
            #[cfg(feature = "redis")]
            Self::Redis(_) => Dialect::Redis,
        }
    }
}

impl Access {
    /// Nobody can listen in on what never leaves the machine; anything else is protected unless told otherwise.
    fn tls_for(&self, host: &Host) -> Tls {
        match &self.tls {
            Some(tls) => tls.clone(),
            None if host.is_local() => Tls::Off,
            None => Tls::Verify { ca_file: None, identity: None },
        }
    }
}

/// The kind of store alone: a source's name is what tells people which one is meant.
impl fmt::Display for Reads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.dialect().as_str())
    }
}

impl fmt::Debug for Reads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
