//! What the demo makes in a store, and removes: a file, a schema of its own, or keys under a prefix of its own.

use std::path::Path;
use std::thread;

use super::super::Failure;
use crate::scheduler::{InstanceToken, ProtocolError, StoreAddress};

/// A store, or a part of a store, that is the demo's own. Dropped, it is removed unless it is to be kept.
#[derive(Debug)]
pub(super) struct OwnStore {
    address: StoreAddress,
    fate: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Kept,
    Removed,
    ToBeRemoved,
}

impl OwnStore {
    /// Makes it: of a file all, of a server's database a part that has a new name.
    pub(super) async fn make(address: StoreAddress, keep: bool) -> Result<Self, Failure> {
        let name = InstanceToken::random().map_err(|_| {
            Failure::System("the system has no random bytes for the name of a schema or a prefix".to_owned())
        })?;
        let address = address.within(&format!("lease_exporter_demo_{}", &name.as_str()[..12]));
        // Before anything is made, so that what was made is removed if not all could be.
        let own = Self { address, fate: if keep { Fate::Kept } else { Fate::ToBeRemoved } };
        own.away(|address| address.create().map(drop)).await?;
        Ok(own)
    }

    /// Where it is.
    pub(super) fn address(&self) -> &StoreAddress {
        &self.address
    }

    /// Removes it, unless it is to be kept.
    pub(super) async fn clear(&mut self) -> Result<(), Failure> {
        if self.fate == Fate::ToBeRemoved {
            self.away(StoreAddress::remove).await?;
            self.fate = Fate::Removed;
        }
        Ok(())
    }

    /// How to look at it, and how to remove it, if it is kept beside this folder.
    pub(super) fn kept(&self, folder: &Path) -> Vec<String> {
        let mut lines = match &self.address {
            StoreAddress::Sqlite(path) => {
                vec![format!("    sqlite3 -readonly {} 'SELECT * FROM scheduler_lease'", path.display())]
            }
            #[cfg(feature = "postgres")]
            StoreAddress::Postgres { schema, .. } => {
                let schema = schema.as_deref().unwrap_or("public");
                vec![
                    format!("    psql -c 'SELECT * FROM {schema}.scheduler_lease'"),
                    format!("    psql -c 'DROP SCHEMA {schema} CASCADE'"),
                ]
            }
            #[cfg(feature = "redis")]
            StoreAddress::Redis { prefix, .. } => vec![
                format!("    redis-cli --scan --pattern '{prefix}*'"),
                format!("    redis-cli --scan --pattern '{prefix}*' | xargs redis-cli UNLINK"),
            ],
        };
        lines.push(format!("    rm -r {}", folder.display()));
        lines
    }

    /// Does something with the store where no asynchronous work is driven.
    async fn away(
        &self,
        what: impl FnOnce(&StoreAddress) -> Result<(), ProtocolError> + Send + 'static,
    ) -> Result<(), Failure> {
        let address = self.address.clone();
        let done = tokio::task::spawn_blocking(move || what(&address)).await;
        let done = done.map_err(|_| Failure::System("a thread ended unexpectedly".to_owned()))?;
        done.map_err(|error| Failure::System(format!("the demo's store: {error}")))
    }
}

impl Drop for OwnStore {
    fn drop(&mut self) {
        if self.fate == Fate::ToBeRemoved {
            let address = self.address.clone();
            // On the way out of a failure, which is what will be told. On a thread, because this one may drive
            // asynchronous work.
            let _ = thread::spawn(move || address.remove()).join();
        }
    }
}
