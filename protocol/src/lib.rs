//! A lease protocol with fencing tokens, for schedulers that run as several instances.
//!
//! A *lease* gives one instance, its *holder*, the right to act for a limited time. The holder renews the lease before
//! it expires; if it stops, another instance acquires the lease. An instance that was paused may not notice that its
//! lease has expired and still try to write. The *epoch* prevents this: it is a fencing token that grows by one with
//! each acquisition, and the store refuses a write under an epoch that has been superseded.
//!
//! [`LeaseProtocol`] is the interface of the protocol. It is implemented on
//! - SQLite by [`SqliteProtocol`], for instances on one machine,
//! - PostgreSQL by `PostgresProtocol`, with the feature `postgres`,
//! - Redis and Valkey by `RedisProtocol`, with the feature `redis`.
//!
//! [`StoreAddress`] opens any of them by a URL. [`Scheduler`] is a synthetic scheduler that follows the protocol, and
//! [`spawn`] runs it on a thread; lease-exporter uses them for its demo and its tests. lease-exporter reads leases of
//! this protocol with the setting `preset: reference`.
//!
//! # Example
//!
//! ```
//! use std::time::Duration;
//!
//! use lease_protocol::{
//!     AcquireOutcome, HolderId, LeaseProtocol, MaintenanceAction, Occurrence, PlanOutcome, RenewOutcome,
//!     SqliteProtocol, Ttl,
//! };
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("scheduler.db");
//! let mut store = SqliteProtocol::create(&path)?;
//! let holder = HolderId::random()?;
//! let ttl = Ttl::new(Duration::from_secs(15))?;
//!
//! // Anyone may enqueue work. The key makes sure that an occurrence exists only once.
//! let occurrence = Occurrence {
//!     key: "retention/2026-11-30".into(),
//!     lease: "retention".into(),
//!     action: MaintenanceAction::PlanRetention,
//!     due_at: store.store_now()?,
//! };
//! let _ = store.enqueue(&occurrence)?;
//!
//! let AcquireOutcome::Acquired { epoch } = store.acquire("retention", &holder, ttl)? else {
//!     return Ok(()); // Another instance holds the lease. Try again later.
//! };
//! assert_eq!(store.renew("retention", &holder, epoch, ttl)?, RenewOutcome::Renewed);
//!
//! // The fenced write: the store refuses it once another instance has acquired the lease.
//! let outcome = store.plan(&occurrence.key, "retention", &holder, epoch)?;
//! assert_eq!(outcome, PlanOutcome::Planned);
//! assert_eq!(store.read("retention")?.progress.map(|progress| progress.cursor), Some(1));
//!
//! let _ = store.release("retention", &holder, epoch)?;
//! assert_eq!(store.plan(&occurrence.key, "retention", &holder, epoch)?, PlanOutcome::Fenced);
//! # Ok(())
//! # }
//! ```
//!
//! # Records
//!
//! - The *lease record*, one for each lease: holder (none after a release), epoch, and the times of the acquisition, the
//!   last renewal and the expiry.
//! - The *progress record*, one for each lease: the epoch that made the last progress, its time, and a cursor that grows
//!   by one with each planned occurrence.
//! - The *occurrence*, one for each idempotency key: lease, action, due time and, once planned, the time, epoch and
//!   holder of the plan.
//!
//! They are separate so that a renewal cannot be mistaken for work.
//!
//! # Rules
//!
//! - **ALEASE-101** The epoch belongs to the lease, not to the holder. It survives release and expiry. A lease record is
//!   never deleted, because its epochs would then start again.
//! - **ALEASE-102** Every time is written by, and compared with, the clock of the store, in the statement that writes or
//!   compares it. No caller sends a time of its own clock. (`due_at` is a time of the store's clock.)
//! - **ALEASE-103** Each [`MaintenanceAction`] states whether it needs fencing before its side effect. If it does, the
//!   effect happens in the fenced write and nowhere else.
//! - **ALEASE-104** [`acquire`](LeaseProtocol::acquire) is one atomic step. If there is no record, or the record has no
//!   holder, or `expires_at <= now`, the caller becomes the holder with epoch + 1 (1 for the first acquisition). Of any
//!   number of concurrent callers exactly one succeeds. The present holder cannot acquire its own lease.
//! - **ALEASE-105** [`renew`](LeaseProtocol::renew) extends the lease for the current holder *and* epoch while
//!   `now < expires_at`. Otherwise it changes nothing. At every instant a lease can be either renewed or acquired.
//! - **ALEASE-106** [`plan`](LeaseProtocol::plan), the fenced write, succeeds only while the lease record still has the
//!   caller's holder and epoch. The check, the plan and the progress are one transaction that excludes acquisition. The
//!   write is therefore refused after a newer epoch exists, and after the caller's own release. Expiry alone does not
//!   refuse it: until another instance acquires the lease, a late write conflicts with nobody. Epochs provide safety;
//!   clocks only decide how soon a takeover may happen.
//! - **ALEASE-107** An occurrence is enqueued once and planned once for each idempotency key, whoever leads and however
//!   often it is tried.
//!
//! [`release`](LeaseProtocol::release) removes the holder, keeps the epoch, and moves an expiry that lies in the future
//! to now.
//!
//! # Other stores
//!
//! To implement the protocol on another store, keep two things in mind. The epoch must be as durable as the store: if a
//! crash or failover can lose a commit, an epoch may be given twice. Where keys vanish with their TTL, the epoch needs a
//! key without one. And read the clock while the record is locked, not at the start of the transaction: a writer that
//! waited for the lock must not win with an old time.
#![forbid(unsafe_code)]

pub mod sqlite;

#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "redis")]
pub mod redis;

mod address;
mod column;
mod connect;
mod error;
mod occurrence;
mod protocol;
mod record;
mod scheduler;
mod value;

pub use address::{InvalidAddress, ServerAddress, StoreAddress, Transport};
pub use connect::BoxedProtocol;
pub use error::{ProtocolError, StoreErrorCode};
pub use occurrence::{Backlog, Fencing, MaintenanceAction, Occurrence};
#[cfg(feature = "postgres")]
pub use postgres::PostgresProtocol;
pub use protocol::{AcquireOutcome, EnqueueOutcome, LeaseProtocol, PlanOutcome, ReleaseOutcome, RenewOutcome};
pub use record::{LeaseRecord, LeaseSnapshot, ProgressRecord};
#[cfg(feature = "redis")]
pub use redis::RedisProtocol;
pub use scheduler::{InvalidTiming, Scheduler, SchedulerEvent, SchedulerHandle, SchedulerPanic, Timing, spawn};
pub use sqlite::{SqliteProtocol, VirtualClock};
pub use value::{Epoch, HolderId, InvalidHolderId, InvalidTtl, StoreTime, Ttl};
