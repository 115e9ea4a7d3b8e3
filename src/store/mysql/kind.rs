//! MySQL and MariaDB as a kind of store.

use std::any::Any;
use std::path::Path;
use std::sync::Arc;

use super::{Database, MysqlDriver};
use crate::store::address::ServerAddress;
use crate::store::kind::{PresetFacts, PresetQuery, Query, StoreConfig, StoreKind};
use crate::store::section::{KeySet, KeySpec, Node, Section, StoreDiagnostics, StoreSection};
use crate::store::server_keys::{PASSWORD_FILE, TIME_ZONE, TLS, database_server, zone};
use crate::store::server_store::ServerStore;
use crate::store::sql::{self, PresetSql};
use crate::store::{Scope, Statement, Store};

/// MySQL and MariaDB.
#[derive(Debug)]
pub struct Mysql;

/// The port that a server listens on by default.
const PORT: u16 = 3306;

const SESSION_TIME_ZONE: KeySpec = KeySpec::text("session_time_zone");

impl StoreKind for Mysql {
    fn name(&self) -> &'static str {
        "mysql"
    }

    fn schemes(&self) -> &'static [&'static str] {
        &["mysql", "mariadb"]
    }

    fn query_key(&self) -> KeySpec {
        sql::QUERY
    }

    fn keys(&self) -> &'static [KeySpec] {
        &[PASSWORD_FILE, TLS, TIME_ZONE, SESSION_TIME_ZONE]
    }

    fn query(&self, node: &Node, _line: u64, diagnostics: &mut StoreDiagnostics) -> Option<Box<dyn Query>> {
        Some(Box::new(Statement::of_source(node, diagnostics)?))
    }

    fn configure(&self, section: &mut StoreSection<'_>, query: Option<Box<dyn Query>>) -> Option<Arc<dyn StoreConfig>> {
        let address = section.address(|text| ServerAddress::database(text, self.name(), PORT));
        let time_zone = zone(TIME_ZONE.name, section);
        let session_time_zone = zone(SESSION_TIME_ZONE.name, section);
        let address = address?;
        let name = address.path.clone();
        let server = database_server(section, address);
        Some(Arc::new(Database { server, name, time_zone, session_time_zone, statement: query?.downcast()? }))
    }

    fn preset_keys(&self) -> KeySet {
        sql::PRESET_KEYS
    }

    fn preset_query(&self, section: &Section, preset: &PresetFacts<'_>) -> Result<Box<dyn PresetQuery>, String> {
        Ok(Box::new(PresetSql::of_preset(section, preset)?))
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

    fn equals(&self, other: &dyn StoreConfig) -> bool {
        (other as &dyn Any).downcast_ref() == Some(self)
    }
}
