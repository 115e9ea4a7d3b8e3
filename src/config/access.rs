//! How to get at a store: who the exporter is there, how the connection is protected, what its times mean.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use super::address::Address;
use super::problem::{Diagnostics, Problem};
use super::raw::{RawSource, RawTls, Text};
use crate::diagnostic::QuotedValue;
use crate::preset::Dialect;
use crate::store::keys::KeyLayout;
#[cfg(feature = "mysql")]
use crate::store::mysql;
#[cfg(feature = "postgres")]
use crate::store::postgres;
#[cfg(feature = "redis")]
use crate::store::redis;
#[cfg(any(feature = "mysql", feature = "postgres"))]
use crate::store::{Host, Server};
use crate::store::{Identity, NoZone, PasswordFile, SessionZone, Statement, Tls, Zone};

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
    Postgres(postgres::Database),
    /// A MySQL or MariaDB database.
    #[cfg(feature = "mysql")]
    Mysql(mysql::Database),
    /// Keys of a Redis or Valkey.
    #[cfg(feature = "redis")]
    Redis(Box<redis::Keyspace>),
}

/// What to ask of a store.
pub(super) enum Question {
    /// This, in SQL.
    Statement(Statement),
    /// What these keys hold.
    Keys(KeyLayout),
}

/// What the configuration says beside the address.
#[cfg_attr(
    not(all(feature = "mysql", feature = "postgres", feature = "redis")),
    expect(dead_code, reason = "checked, and then refused, where its store is left out of the build")
)]
pub(super) struct Access {
    password: Option<PasswordFile>,
    tls: Option<Tls>,
    schema: Option<Box<str>>,
    time_zone: Zone,
    session_time_zone: SessionZone,
}

impl Access {
    /// Checks the keys that say how to get at the store at this address.
    pub(super) fn new(raw: &RawSource, address: &Address, base_dir: &Path, faults: &mut Diagnostics) -> Option<Self> {
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
fn note_keys_of_others(raw: &RawSource, dialect: Dialect, faults: &mut Diagnostics) {
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
fn tls(raw: &RawTls, line: u64, base_dir: &Path, faults: &mut Diagnostics) -> Option<Tls> {
    let file = |text: &Text| base_dir.join(&text.value);
    let off = match raw.mode.as_ref().map(|mode| (&*mode.value, mode.referenced.line())) {
        None | Some(("verify", _)) => false,
        Some(("off", _)) => true,
        Some((other, line)) => {
            let value = QuotedValue::new(other);
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

fn schema(text: &Text, faults: &mut Diagnostics) -> Option<Box<str>> {
    let plain = !text.value.is_empty()
        && text.value.len() <= 63
        && text.value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let schema =
        if plain { Ok(text.value.as_str().into()) } else { Err(Problem::Schema(QuotedValue::new(&text.value))) };
    faults.keep(text.referenced.line(), schema)
}

/// UTC unless something else is given.
fn zone<Z>(key: &'static str, text: Option<&Text>, faults: &mut Diagnostics) -> Z
where
    Z: FromStr<Err = NoZone> + Default,
{
    let Some(text) = text else { return Z::default() };
    let zone = text.value.parse().map_err(|fault| Problem::Zone { key, value: QuotedValue::new(&text.value), fault });
    faults.keep(text.referenced.line(), zone).unwrap_or_default()
}

impl Reads {
    /// Puts together where a store is, how to get at it and what to read; `None` where they do not belong together, which
    /// is noted before.
    #[cfg_attr(
        not(any(feature = "mysql", feature = "postgres", feature = "redis")),
        expect(unused_variables, reason = "a file is got at by its path alone")
    )]
    pub(super) fn new(address: Address, access: Access, question: Question) -> Option<Self> {
        match (address, question) {
            (Address::Sqlite(path), Question::Statement(Statement::Fixed(sql))) => Some(Self::Sqlite { path, sql }),
            #[cfg(any(feature = "mysql", feature = "postgres"))]
            (Address::Database { dialect, host, user, name }, Question::Statement(statement)) => {
                let server = Server { tls: access.tls_for(&host), password: access.password, host, user };
                let time_zone = access.time_zone;
                match dialect {
                    #[cfg(feature = "postgres")]
                    Dialect::Postgres => {
                        let schema = access.schema;
                        Some(Self::Postgres(postgres::Database { server, name, schema, statement, time_zone }))
                    }
                    #[cfg(feature = "mysql")]
                    Dialect::Mysql => {
                        let session_time_zone = access.session_time_zone;
                        Some(Self::Mysql(mysql::Database { server, name, statement, time_zone, session_time_zone }))
                    }
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
                Some(Self::Redis(Box::new(redis::Keyspace { place, user, password, tls, database, layout })))
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

#[cfg(any(feature = "mysql", feature = "postgres"))]
impl Access {
    /// Whether and how connections to a server of databases are protected.
    ///
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
