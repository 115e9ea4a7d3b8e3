//! The contract between schedulers that share a lease, whatever the store.
//!
//! # The records
//!
//! *Lease*, one per name: `holder` (none once released), `epoch`, and when it was acquired, last renewed, and expires.
//! *Progress*, one per lease: the epoch that made it, when, and a cursor that grows by one with each planned
//! occurrence. *Occurrence*, one per idempotency key: its lease, its action, when it is due, and, once planned, when,
//! under which epoch and by whom. The three are apart so that a renewal can never look like work.
//!
//! # The rules
//!
//! * **ALEASE-101** The epoch belongs to the lease and not to its holder: it stays when the lease is released or
//!   expires. A lease's record is never removed, or its epochs would begin anew.
//! * **ALEASE-102** Every time is written by, and compared with, the store's clock, inside the statement that writes or
//!   compares. No caller sends a time of its own clock. (`due_at` is a time of the store's clock that comes back.)
//! * **ALEASE-103** Each [`MaintenanceAction`](super::MaintenanceAction) says whether it needs fencing before its side
//!   effect. If it does, the effect happens inside the fenced write and nowhere else.
//! * **ALEASE-104** [`acquire`](LeaseProtocol::acquire) is one atomic step: if there is no record, or it has no holder,
//!   or `expires_at <= now`, the caller becomes the holder with epoch + 1 (1 for the first). Of any number that try at
//!   once exactly one wins. Holding the lease already is no exception: a token cannot acquire what it holds.
//! * **ALEASE-105** [`renew`](LeaseProtocol::renew) prolongs for the current holder *and* epoch while
//!   `now < expires_at`, and otherwise changes nothing. At every instant a lease can be either renewed or acquired.
//! * **ALEASE-106** [`plan`](LeaseProtocol::plan), the fenced write, happens only while the lease's record still has
//!   the caller's holder and epoch. The check, the planning and the progress are one transaction that excludes
//!   acquisition. So it is refused once a newer epoch exists, and after the caller's own release. It is *not* refused
//!   for expiry alone: as long as nobody took over, a late write collides with nobody, and whether it came in time
//!   would only be a statement about clocks. Safety rests on epochs; clocks only decide how soon a takeover may come.
//! * **ALEASE-107** An occurrence is enqueued once and planned once per idempotency key, whoever leads and however
//!   often it is tried.
//!
//! [`release`](LeaseProtocol::release) takes the holder out, keeps the epoch, and ends the lease's time at once (but
//! never moves an end that has passed).
//!
//! # For another store
//!
//! The epoch must survive whatever the store survives: a commit that can be lost by a crash or a failover can give an
//! epoch twice. A store whose keys vanish with their TTL has to keep the epoch under a key that does not. The clock
//! must be read while the record is locked, not when the transaction began: a writer that waited must not win with old
//! time.

use std::fmt::{self, Write as _};

use super::authority::{Epoch, InstanceToken, StoreTime, Ttl};
use super::occurrence::{Backlog, Occurrence};

/// A store that schedulers share leases in. See the [module](self) for the rules.
///
/// After an error the outcome is not known: the step was done wholly or not at all. Every step may be tried again. An
/// acquisition that was done unknowingly holds the lease until it expires.
pub trait LeaseProtocol {
    /// What the store's clock shows.
    ///
    /// # Errors
    /// When the store fails.
    fn store_now(&mut self) -> Result<StoreTime, ProtocolError>;

    /// Tries to become the holder (ALEASE-104).
    ///
    /// # Errors
    /// When the store fails.
    fn acquire(&mut self, lease: &str, holder: &InstanceToken, ttl: Ttl) -> Result<Acquire, ProtocolError>;

    /// Prolongs to `ttl` from now (ALEASE-105).
    ///
    /// # Errors
    /// When the store fails.
    fn renew(&mut self, lease: &str, holder: &InstanceToken, epoch: Epoch, ttl: Ttl) -> Result<Renew, ProtocolError>;

    /// Gives the lease back.
    ///
    /// # Errors
    /// When the store fails.
    fn release(&mut self, lease: &str, holder: &InstanceToken, epoch: Epoch) -> Result<Release, ProtocolError>;

    /// Puts an occurrence into the queue unless its key is there (ALEASE-107). Needs no authority.
    ///
    /// # Errors
    /// When the store fails.
    fn enqueue(&mut self, occurrence: &Occurrence) -> Result<Enqueue, ProtocolError>;

    /// The occurrence that has been due longest and is not planned; ties go by key. Claims nothing.
    ///
    /// # Errors
    /// When the store fails.
    fn next_due(&mut self, lease: &str) -> Result<Option<Occurrence>, ProtocolError>;

    /// The fenced write: plans an occurrence and records progress under `epoch`, or changes nothing (ALEASE-106, 107).
    /// A caller without authority is told so before it is told anything of the occurrence.
    ///
    /// # Errors
    /// [`ProtocolError::NoSuchOccurrence`] when the lease has none of that key; otherwise when the store fails.
    fn plan(&mut self, key: &str, lease: &str, holder: &InstanceToken, epoch: Epoch) -> Result<Plan, ProtocolError>;

    /// All that is known of a lease, from one snapshot. Needs no authority.
    ///
    /// # Errors
    /// When the store fails.
    fn read(&mut self, lease: &str) -> Result<Reading, ProtocolError>;
}

/// What came of [`LeaseProtocol::acquire`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Acquire {
    /// The caller holds the lease, under this epoch.
    Acquired {
        /// One more than the lease's last.
        epoch: Epoch,
    },
    /// The lease has a holder whose time is not up.
    HeldByAnother,
}

/// What came of [`LeaseProtocol::renew`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Renew {
    /// The lease is not the caller's any more, or expired.
    Lost,
    /// The lease lives for another time to live.
    Renewed,
}

/// What came of [`LeaseProtocol::release`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Release {
    /// The lease was not the caller's any more.
    Lost,
    /// The lease has no holder now.
    Released,
}

/// What came of [`LeaseProtocol::enqueue`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Enqueue {
    /// The key was there; nothing changed.
    AlreadyThere,
    /// The occurrence is in the queue.
    Enqueued,
}

/// What came of [`LeaseProtocol::plan`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Plan {
    /// The occurrence had been planned; nothing changed, and no progress was recorded.
    AlreadyPlanned,
    /// The caller's authority has been superseded or given back; nothing changed. It has to step down.
    Fenced,
    /// The occurrence is planned and progress recorded.
    Planned,
}

/// A lease's records, from one snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// What the store's clock showed.
    pub now: StoreTime,
    /// The lease's record; `None` if it was never acquired.
    pub lease: Option<LeaseRecord>,
    /// Its progress; `None` if there was none yet.
    pub progress: Option<ProgressRecord>,
    /// What is due.
    pub backlog: Backlog,
}

/// Who has the right to act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseRecord {
    /// Whose it is or, if its time is up, was last; `None` once released.
    pub holder: Option<InstanceToken>,
    /// The newest epoch ever given.
    pub epoch: Epoch,
    /// When this epoch began.
    pub acquired_at: Option<StoreTime>,
    /// When it was last renewed; the acquisition counts.
    pub renewed_at: Option<StoreTime>,
    /// From when on anyone may acquire it; for a released lease, when its time ended.
    pub expires_at: Option<StoreTime>,
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgressRecord {
    /// The epoch that made it.
    pub epoch: Epoch,
    /// When it was last made.
    pub at: StoreTime,
    /// How many occurrences have ever been planned under the lease, whatever the epoch.
    pub cursor: u64,
}

/// Why a store could not do a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// Others kept the store locked for too long. Trying again helps.
    #[error("the store stayed locked by others for too long")]
    Busy,
    /// The store failed in a way that has no name here. The code is the store's own.
    #[error("the store failed with code {code}")]
    Failed {
        /// As the store names it.
        code: StoreCode,
    },
    /// It is the wrong server, or set to take no writes. Whoever named it must act.
    #[error("the server takes no writes: it only follows another, or is set to read only")]
    Follower,
    /// A record holds, or would have to hold, a value outside the contract. Someone else writes to these tables.
    #[error("a record holds a value outside the contract")]
    InvalidRecord,
    /// The server does not let this user in, or not with this password. Whoever named them must act.
    #[error("the server refuses the user or the password")]
    Login,
    /// The server is there, and has no database of this name or number. Whoever named it must act.
    #[error("the server has no such database")]
    NoSuchDatabase,
    /// The caller tried to plan what was never enqueued under that lease.
    #[error("the lease has no such occurrence")]
    NoSuchOccurrence,
    /// The file that holds the password cannot be read. Whoever named it must act.
    #[error("the password file cannot be read")]
    PasswordFile,
    /// The store cannot be written with the rights given. Its operator must act.
    #[error("the store refuses to be written")]
    Refused,
    /// The tables of the protocol are missing or have another shape. Whoever set up the store must act.
    #[error("the store does not have the scheduler's tables")]
    SchemaMismatch,
    /// The store cannot be opened or reached. Its operator must act.
    #[error("the store cannot be reached")]
    Unreachable,
}

/// A store's own name for a failure, and nothing else that it says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreCode {
    /// SQLite's extended result code.
    Number(i32),
    /// A word of capitals and digits, filled up with zeros: PostgreSQL's SQLSTATE, or the first word of Redis's error.
    Word([u8; Self::LONGEST]),
}

impl StoreCode {
    const LONGEST: usize = 12;

    /// A code from a store. What does not look like one could be anything, and becomes `OTHER`.
    #[must_use]
    pub fn word(code: &str) -> Self {
        let is_code = |code: &&str| {
            code.len() <= Self::LONGEST && code.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
        };
        let code = Some(code).filter(is_code).unwrap_or("OTHER");
        let mut word = [0; Self::LONGEST];
        word.iter_mut().zip(code.bytes()).for_each(|(place, byte)| *place = byte);
        Self::Word(word)
    }
}

impl fmt::Display for StoreCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Word(word) => {
                word.iter().take_while(|byte| **byte != 0).try_for_each(|byte| f.write_char((*byte).into()))
            }
        }
    }
}

/// A store of whatever kind.
impl<P: LeaseProtocol + ?Sized> LeaseProtocol for Box<P> {
    fn store_now(&mut self) -> Result<StoreTime, ProtocolError> {
        (**self).store_now()
    }

    fn acquire(&mut self, lease: &str, holder: &InstanceToken, ttl: Ttl) -> Result<Acquire, ProtocolError> {
        (**self).acquire(lease, holder, ttl)
    }

    fn renew(&mut self, lease: &str, holder: &InstanceToken, epoch: Epoch, ttl: Ttl) -> Result<Renew, ProtocolError> {
        (**self).renew(lease, holder, epoch, ttl)
    }

    fn release(&mut self, lease: &str, holder: &InstanceToken, epoch: Epoch) -> Result<Release, ProtocolError> {
        (**self).release(lease, holder, epoch)
    }

    fn enqueue(&mut self, occurrence: &Occurrence) -> Result<Enqueue, ProtocolError> {
        (**self).enqueue(occurrence)
    }

    fn next_due(&mut self, lease: &str) -> Result<Option<Occurrence>, ProtocolError> {
        (**self).next_due(lease)
    }

    fn plan(&mut self, key: &str, lease: &str, holder: &InstanceToken, epoch: Epoch) -> Result<Plan, ProtocolError> {
        (**self).plan(key, lease, holder, epoch)
    }

    fn read(&mut self, lease: &str) -> Result<Reading, ProtocolError> {
        (**self).read(lease)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_that_could_be_anything_is_not_kept() {
        assert_eq!(StoreCode::word("CROSSSLOT").to_string(), "CROSSSLOT");
        for other in ["planted", "A B", "ABCDEFGHIJKLM", "\u{e9}"] {
            assert_eq!(StoreCode::word(other).to_string(), "OTHER", "{other}");
        }
    }
}
