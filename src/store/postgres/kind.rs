//! PostgreSQL as a kind of store.

use std::path::Path;
use std::sync::Arc;

use super::connect::PORT;
use super::transaction_clock::{self, TransactionClock};
use super::{Database, PostgresDriver};
use crate::diagnostic::QuotedValue;
use crate::store::kind::{StoreConfig, StoreKind};
use crate::store::query::Query;
use crate::store::section::{KeySpec, Node, StoreDiagnostics, StoreProblem, StoreSection, line};
use crate::store::server_keys::{PASSWORD_FILE, TIME_ZONE, TLS, database, zone};
use crate::store::server_store::ServerStore;
use crate::store::{Scope, Statement, Store};

/// PostgreSQL.
#[derive(Debug)]
pub struct Postgres;

const SCHEMA: KeySpec = KeySpec::text("schema");

impl StoreKind for Postgres {
    fn name(&self) -> &'static str {
        "postgres"
    }

    fn keys(&self) -> &'static [KeySpec] {
        &[PASSWORD_FILE, TLS, SCHEMA, TIME_ZONE]
    }

    fn query(&self, node: &Node, _line: u64, diagnostics: &mut StoreDiagnostics) -> Option<Box<dyn Query>> {
        if let Node::Text(text) = node
            && let Some(clock) = transaction_clock::find(&text.value)
        {
            diagnostics.warn(line(text), TransactionClock(clock));
        }
        Some(Box::new(Statement::of_source(node, diagnostics)?))
    }

    fn configure(&self, section: &mut StoreSection<'_>, query: Option<Box<dyn Query>>) -> Option<Arc<dyn StoreConfig>> {
        let schema = section.parsed(SCHEMA.name, schema);
        let time_zone = zone(TIME_ZONE.name, section);
        let (server, name) = database(section, self.name(), PORT)?;
        Some(Arc::new(Database { server, name, schema, time_zone, statement: query?.downcast()? }))
    }

    fn before_grants(&self) -> &'static str {
        "CREATE ROLE lease_exporter LOGIN PASSWORD 'PASSWORD';\n\
         GRANT CONNECT ON DATABASE THE_DATABASE TO lease_exporter;\n\
         GRANT USAGE ON SCHEMA THE_SCHEMA TO lease_exporter;\n\
         SET search_path = THE_SCHEMA;\n"
    }

    fn example(&self) -> &'static [&'static str] {
        &["store: postgres://lease_exporter@localhost/app", "password_file: /run/secrets/lease_exporter"]
    }
}

impl StoreConfig for Database {
    fn kind(&self) -> &'static dyn StoreKind {
        &Postgres
    }

    fn store(&self, scope: Scope) -> Box<dyn Store> {
        Box::new(ServerStore::new(PostgresDriver { database: self.clone(), scope }))
    }

    fn secret_files(&self) -> Vec<(&'static str, &Path)> {
        self.server.secret_files()
    }
}

/// A schema's name, which must need no quotes.
fn schema(text: &str) -> Result<Box<str>, StoreProblem> {
    let plain = (1..=63).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if plain {
        return Ok(text.into());
    }
    let value = QuotedValue::new(text);
    Err(format!("`schema` cannot be this: `{value}`; write one name of letters, digits and `_`").into())
}
