//! What the demo makes in a store, and removes: a file, a schema of its own, or keys under a prefix of its own.

use std::thread;

use super::super::Failure;
use crate::scheduler::{InstanceToken, ProtocolError, StoreAddress};

/// A store, or a part of a store, that is the demo's own. Dropped, it is removed unless it is to be kept.
#[derive(Debug)]
pub(super) struct OwnStore {
    address: StoreAddress,
    fate: Fate,
}

/// What becomes of it when it is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Kept,
    Removed,
}

impl OwnStore {
    /// Makes it: of a file all, of a server's database a part that has a new name.
    pub(super) async fn make(address: StoreAddress, keep: bool) -> Result<Self, Failure> {
        let name = InstanceToken::random().map_err(|_| {
            Failure::System("the system has no random bytes for the name of a schema or a prefix".to_owned())
        })?;
        let address = address.within(&format!("lease_exporter_demo_{}", &name.as_str()[..12]));
        // Before anything is made, so that what was made is removed if not all could be.
        let own = Self { address, fate: if keep { Fate::Kept } else { Fate::Removed } };
        away(own.address.clone(), |address| address.create().map(drop)).await?;
        Ok(own)
    }

    /// Where it is.
    pub(super) fn address(&self) -> &StoreAddress {
        &self.address
    }

    /// Where it is, and from here on nothing removes it by itself.
    pub(super) fn release(mut self) -> StoreAddress {
        self.fate = Fate::Kept;
        self.address.clone()
    }
}

/// Removes what was made there.
pub(super) async fn remove(store: StoreAddress) -> Result<(), Failure> {
    away(store, StoreAddress::remove).await
}

/// Does something with a store where no asynchronous work is driven.
async fn away(
    store: StoreAddress,
    what: impl FnOnce(&StoreAddress) -> Result<(), ProtocolError> + Send + 'static,
) -> Result<(), Failure> {
    let done = tokio::task::spawn_blocking(move || what(&store)).await;
    let done = done.map_err(|_| Failure::System("a thread ended unexpectedly".to_owned()))?;
    done.map_err(told)
}

/// A failure of the store, as it ends the demo.
pub(super) fn told(error: ProtocolError) -> Failure {
    Failure::System(format!("the demo's store: {error}"))
}

impl Drop for OwnStore {
    fn drop(&mut self) {
        if self.fate == Fate::Removed {
            let address = self.address.clone();
            // On the way out of a failure, which is what will be told. On a thread, because this one may drive
            // asynchronous work.
            let _ = thread::spawn(move || address.remove()).join();
        }
    }
}
