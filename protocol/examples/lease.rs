//! Each step of the protocol once, on an SQLite file in a temporary folder.
//!
//!     cargo run -p lease-protocol --example lease
#![allow(clippy::print_stdout, reason = "an example")]

use std::error::Error;
use std::thread::sleep;
use std::time::Duration;

use lease_protocol::{
    AcquireOutcome, Epoch, HolderId, LeaseProtocol, MaintenanceAction, Occurrence, PlanOutcome, SqliteProtocol, Ttl,
};

const LEASE: &str = "retention";

/// The protocol's tests run this too.
pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let mut store = SqliteProtocol::create(&directory.path().join("scheduler.db"))?;
    let ttl = Ttl::new(Duration::from_millis(500))?;

    // Two instances. Each takes a new random id when it starts.
    let (first, second) = (HolderId::random()?, HolderId::random()?);

    let epoch = acquire(&mut store, &first, ttl)?.ok_or("nobody else competes for the lease")?;
    println!("the first instance holds the lease under epoch {epoch}");
    println!("the second instance: {:?}", store.acquire(LEASE, &second, ttl)?);
    println!("renewal: {:?}", store.renew(LEASE, &first, epoch, ttl)?);

    for key in ["monday", "tuesday"] {
        let due_at = store.store_now()?;
        let action = MaintenanceAction::PlanRetention;
        println!("{key}: {:?}", store.enqueue(&Occurrence { key: key.into(), lease: LEASE.into(), action, due_at })?);
    }

    // The fenced write carries the epoch. It records the work and the progress in one transaction.
    println!("write under epoch {epoch}: {:?}", store.plan("monday", LEASE, &first, epoch)?);

    // The first instance is paused for longer than the TTL, and the second takes over.
    sleep(Duration::from(ttl) + Duration::from_millis(50));
    let next = acquire(&mut store, &second, ttl)?.ok_or("the lease has expired")?;
    println!("the second instance holds the lease under epoch {next}");

    // The first instance continues and does not know that it was paused. The store refuses its write.
    let outcome = store.plan("tuesday", LEASE, &first, epoch)?;
    println!("late write under epoch {epoch}: {outcome:?}");
    assert_eq!(outcome, PlanOutcome::Fenced);
    println!("write under epoch {next}: {:?}", store.plan("tuesday", LEASE, &second, next)?);

    println!("release: {:?}", store.release(LEASE, &second, next)?);
    let snapshot = store.read(LEASE)?;
    println!("{} occurrences planned, {} due", snapshot.progress.map_or(0, |made| made.cursor), snapshot.backlog.due);
    Ok(())
}

fn acquire(store: &mut impl LeaseProtocol, holder: &HolderId, ttl: Ttl) -> Result<Option<Epoch>, Box<dyn Error>> {
    match store.acquire(LEASE, holder, ttl)? {
        AcquireOutcome::Acquired { epoch } => Ok(Some(epoch)),
        AcquireOutcome::HeldByAnother => Ok(None),
    }
}
