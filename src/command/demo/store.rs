//! The demo's part of a store: an SQLite file, a schema, or the keys under a prefix.

use std::thread;

use lease_protocol::{HolderId, ProtocolError, StoreAddress};

use super::super::Failure;

/// A store, or a part of a store, that the demo has created. Dropping it removes it, unless it is to be kept.
#[derive(Debug)]
pub(super) struct DemoStore {
    pub(super) address: StoreAddress,
    pub(super) removes_on_drop: bool,
}

impl DemoStore {
    /// Creates the file, or a part with a new name in a server's database.
    pub(super) async fn create(address: StoreAddress, keep: bool) -> Result<Self, Failure> {
        let name = HolderId::random().map_err(|_| {
            Failure::System("the system has no random bytes for the name of a schema or a prefix".to_owned())
        })?;
        let address = address.with_namespace(&format!("lease_exporter_demo_{}", &name.as_str()[..12]));
        // Before the creation, so that an incomplete creation is removed too.
        let store = Self { address, removes_on_drop: !keep };
        store.on_blocking_thread(|address| address.create().map(drop)).await?;
        Ok(store)
    }

    /// Removes the demo's part of the store.
    pub(super) async fn remove(&self) -> Result<(), Failure> {
        self.on_blocking_thread(StoreAddress::remove).await
    }

    async fn on_blocking_thread(
        &self,
        operation: impl FnOnce(&StoreAddress) -> Result<(), ProtocolError> + Send + 'static,
    ) -> Result<(), Failure> {
        let address = self.address.clone();
        let done = tokio::task::spawn_blocking(move || operation(&address)).await;
        done.map_err(|_| Failure::System("a thread ended unexpectedly".to_owned()))?.map_err(store_failure)
    }
}

/// The failure of the demo for an error of its store.
pub(super) fn store_failure(error: ProtocolError) -> Failure {
    Failure::System(format!("the demo's store: {error}"))
}

impl Drop for DemoStore {
    fn drop(&mut self) {
        if self.removes_on_drop {
            let address = self.address.clone();
            // An earlier failure is reported instead of this result. The removal blocks, and this thread may be one of
            // the runtime.
            let _ = thread::spawn(move || address.remove()).join();
        }
    }
}
