//! Redis and Valkey as a kind of store.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::address::KeyspaceAddress;
use super::keys::{self, KeyLayout, PresetKeys};
use super::schedule::DueScheduleTracker;
use super::{Keyspace, RedisDriver};
use crate::diagnostic::QuotedValue;
use crate::store::kind::{StoreConfig, StoreKind};
use crate::store::query::{PresetFacts, PresetQuery, Query};
use crate::store::section::{KeySet, KeySpec, Node, Section, Shape, StoreDiagnostics, StoreSection, line};
use crate::store::server_keys::{PASSWORD_FILE, TLS, password_file, tls, tls_line};
use crate::store::server_store::ServerStore;
use crate::store::{Scope, Server, Store, Tls};

/// Redis and Valkey.
#[derive(Debug)]
pub struct Redis;

impl StoreKind for Redis {
    fn name(&self) -> &'static str {
        "redis"
    }

    fn query_key(&self) -> KeySpec {
        KeySpec { name: "keys", shape: Shape::Section(keys::KEYS) }
    }

    fn keys(&self) -> &'static [KeySpec] {
        &[PASSWORD_FILE, TLS]
    }

    fn query(&self, node: &Node, at: u64, diagnostics: &mut StoreDiagnostics) -> Option<Box<dyn Query>> {
        let Node::Section(section) = node else { return None };
        match KeyLayout::of_section(section) {
            Ok(layout) => Some(Box::new(layout)),
            Err(faults) => {
                for fault in faults {
                    let at = fault.text.map_or(node.line().unwrap_or(at), line);
                    let value = fault.text.map(|text| format!("`{}`: ", QuotedValue::new(&text.value)));
                    diagnostics.note(at, value.unwrap_or_default() + &fault.message);
                }
                None
            }
        }
    }

    fn configure(&self, section: &mut StoreSection<'_>, query: Option<Box<dyn Query>>) -> Option<Arc<dyn StoreConfig>> {
        let address = section.address(|text| KeyspaceAddress::parse(text, self.name()));
        let tls = tls(section);
        let KeyspaceAddress { protected, location, user, database } = address?;
        let contradiction = match &tls {
            Some(_) if !protected => {
                Some("`tls` contradicts `redis://`, which is not protected; write `rediss://`, or leave `tls` out")
            }
            Some(Tls::Off) => {
                Some("`mode: off` contradicts `rediss://`, which is protected; write `redis://`, or leave `mode` out")
            }
            _ => None,
        };
        if let (Some(problem), Some(at)) = (contradiction, tls_line(section)) {
            section.diagnostics.note(at, problem);
        }
        let tls = if protected { tls.unwrap_or(Tls::VERIFY) } else { Tls::Off };
        let layout = query?.downcast()?;
        let server = Server { host: location, user, password: password_file(section), tls };
        Some(Arc::new(Keyspace { server, database, layout }))
    }

    fn preset_keys(&self) -> KeySet {
        keys::PRESET_KEYS
    }

    fn preset_query(&self, section: &Section, preset: &PresetFacts<'_>) -> Result<Box<dyn PresetQuery>, String> {
        Ok(Box::new(PresetKeys::of_preset(section, preset)?))
    }

    fn example(&self) -> &'static [&'static str] {
        &["store: redis://lease_exporter@localhost/0", "password_file: /run/secrets/lease_exporter"]
    }
}

impl Query for KeyLayout {
    fn has_one_lease(&self) -> bool {
        !self.has_many_leases()
    }

    /// `PTTL` reports the remaining time in milliseconds as of its execution, somewhat after `TIME`.
    fn resolution(&self) -> Duration {
        Duration::from_millis(20)
    }
}

impl StoreConfig for Keyspace {
    fn kind(&self) -> &'static dyn StoreKind {
        &Redis
    }

    fn store(&self, scope: Scope) -> Box<dyn Store> {
        let schedules = DueScheduleTracker::new(scope.max_leases);
        Box::new(ServerStore::new(RedisDriver { keyspace: self.clone(), scope, schedules }))
    }

    fn secret_files(&self) -> Vec<(&'static str, &Path)> {
        self.server.secret_files()
    }
}
