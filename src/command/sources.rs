//! What is configured made into what is observed.

use std::path::Path;
use std::sync::Arc;

use super::Failure;
use crate::config::{Config, Families, Reads, Source};
use crate::expose::metrics::Exposition;
use crate::expose::{ALERTS_STAND_ON, names};
use crate::lease::{Memory, TokenKey};
use crate::observer::{Observable, Observer};
use crate::store::Store;
#[cfg(feature = "mysql")]
use crate::store::mysql::MysqlQuery;
#[cfg(feature = "postgres")]
use crate::store::postgres::PostgresQuery;
#[cfg(feature = "redis")]
use crate::store::redis::RedisKeys;
use crate::store::sqlite::{Query, SqliteStore};

/// The configuration file, which has to be named.
pub(super) fn named(path: Option<&Path>) -> Result<&Path, Failure> {
    path.ok_or_else(|| {
        Failure::Configuration(
            "no configuration: name a file with --config.file=FILE, or run `lease-exporter demo` to see it at work"
                .to_owned(),
        )
    })
}

/// Reads and checks the configuration file.
pub(super) fn configuration(path: &Path) -> Result<Config, Failure> {
    let families: Vec<_> = names().collect();
    let families = Families { all: &families, of_alerts: &ALERTS_STAND_ON };
    Config::load(path, families).map_err(|error| Failure::Configuration(error.to_string()))
}

/// An observer of everything that is configured, for a look or two: without a key of the configuration's, its tokens are
/// of this observer alone.
pub(super) fn passing_observer(config: &Config) -> Result<Observer, Failure> {
    let key = match &config.token_key {
        Some(key) => key.clone(),
        None => random_key()?,
    };
    Ok(observer(config, &key))
}

/// An observer of everything that is configured.
pub(super) fn observer(config: &Config, key: &TokenKey) -> Observer {
    Observer::new(exposition(config), config.sources.iter().map(|source| observable(source, key)).collect())
}

/// The families that are configured.
pub(super) fn exposition(config: &Config) -> Exposition {
    Exposition::without(|family| config.dropped.contains(family))
}

/// A key that nobody knows.
pub(super) fn random_key() -> Result<TokenKey, Failure> {
    let mut secret = [0; 32];
    getrandom::fill(&mut secret)
        .map_err(|error| Failure::System(format!("the system has no random bytes for a token key: {error}")))?;
    Ok(TokenKey::new(&secret))
}

/// A source as it is observed. Nothing is opened yet.
pub(super) fn observable(source: &Source, key: &TokenKey) -> Observable {
    Observable {
        store: store(source),
        memory: Memory::new(Arc::clone(&source.name), source.rules, key.clone(), Arc::clone(&source.policies)),
        name: Arc::clone(&source.name),
        timeout: source.timeout,
        reuse_for: source.reuse_for,
    }
}

/// The store of a source. Nothing is opened yet.
#[must_use]
pub fn store(source: &Source) -> Box<dyn Store> {
    let max_leases = source.rules.max_leases;
    match &source.store {
        Reads::Sqlite { path, sql } => {
            let query = Query::new(Arc::clone(sql), Arc::clone(&source.name), max_leases);
            Box::new(SqliteStore::new(path.clone(), query))
        }
        #[cfg(feature = "postgres")]
        Reads::Postgres(database) => PostgresQuery {
            server: database.server.clone(),
            database: database.name.clone(),
            schema: database.schema.clone(),
            statement: database.statement.clone(),
            time_zone: database.time_zone,
            only_lease: Arc::clone(&source.name),
            max_leases,
        }
        .into_store(),
        #[cfg(feature = "redis")]
        Reads::Redis(keyspace) => RedisKeys {
            place: keyspace.place.clone(),
            user: keyspace.user.clone(),
            password: keyspace.password.clone(),
            tls: keyspace.tls.clone(),
            database: keyspace.database,
            layout: keyspace.layout.clone(),
            only_lease: Arc::clone(&source.name),
            max_leases,
        }
        .into_store(),
        #[cfg(feature = "mysql")]
        Reads::Mysql(database) => MysqlQuery {
            server: database.server.clone(),
            database: database.name.clone(),
            statement: database.statement.clone(),
            time_zone: database.time_zone,
            session_time_zone: database.session_time_zone.clone(),
            only_lease: Arc::clone(&source.name),
            max_leases,
        }
        .into_store(),
    }
}
