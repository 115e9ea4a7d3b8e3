//! MySQL and MariaDB as a kind of store.

use std::path::Path;
use std::sync::Arc;

use super::{Database, MysqlDriver};
use crate::store::kind::{StoreConfig, StoreKind};
use crate::store::query::Query;
use crate::store::section::{KeySpec, StoreSection};
use crate::store::server_keys::{PASSWORD_FILE, TIME_ZONE, TLS, database, zone};
use crate::store::server_store::ServerStore;
use crate::store::{Scope, Store};

/// MySQL and MariaDB.
#[derive(Debug)]
pub struct Mysql;

const PORT: u16 = 3306;

const SESSION_TIME_ZONE: KeySpec = KeySpec::text("session_time_zone");

impl StoreKind for Mysql {
    fn name(&self) -> &'static str {
        "mysql"
    }

    fn keys(&self) -> &'static [KeySpec] {
        &[PASSWORD_FILE, TLS, TIME_ZONE, SESSION_TIME_ZONE]
    }

    fn configure(&self, section: &mut StoreSection<'_>, query: Option<Box<dyn Query>>) -> Option<Arc<dyn StoreConfig>> {
        let time_zone = zone(TIME_ZONE.name, section);
        let session_time_zone = zone(SESSION_TIME_ZONE.name, section);
        let (server, name) = database(section, self.name(), PORT)?;
        Some(Arc::new(Database { server, name, time_zone, session_time_zone, statement: query?.downcast()? }))
    }

    fn before_grants(&self) -> &'static str {
        "CREATE USER lease_exporter IDENTIFIED BY 'PASSWORD';\n\
         USE THE_DATABASE;\n"
    }

    fn example(&self) -> &'static [&'static str] {
        &["store: mysql://lease_exporter@localhost/app", "password_file: /run/secrets/lease_exporter"]
    }
}

impl StoreConfig for Database {
    fn kind(&self) -> &'static dyn StoreKind {
        &Mysql
    }

    fn store(&self, scope: Scope) -> Box<dyn Store> {
        Box::new(ServerStore::new(MysqlDriver { database: self.clone(), scope }))
    }

    fn secret_files(&self) -> Vec<(&'static str, &Path)> {
        self.server.secret_files()
    }
}
