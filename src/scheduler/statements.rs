//! The SQL of the reference protocol on SQLite, all of it, so that a simulation can run a mutated protocol.

use std::borrow::Cow;

/// The store's clock in Unix milliseconds, in the words of any SQLite there is. Within one step of one statement SQLite
/// reads its clock once, after it has the lock that the statement needs.
macro_rules! now {
    () => {
        "CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)"
    };
}

/// One statement for each step of the protocol. Parameters are named; each field says which it takes. A mutated
/// statement must still mention them all, because binding one that is not there is an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statements {
    /// Gives the store's time.
    pub now: Cow<'static, str>,
    /// `:lease :holder :ttl_ms`; gives the epoch if it was acquired, else no row (ALEASE-104).
    pub acquire: Cow<'static, str>,
    /// `:lease :holder :epoch :ttl_ms`; changes a row if it was renewed (ALEASE-105).
    pub renew: Cow<'static, str>,
    /// `:lease :holder :epoch`; changes a row if it was released.
    pub release: Cow<'static, str>,
    /// `:key :lease :action :due_at_ms`; changes a row unless the key is there (ALEASE-107).
    pub enqueue: Cow<'static, str>,
    /// `:lease`; gives key, action and due time of the oldest due, or no row.
    pub next_due: Cow<'static, str>,
    /// `:lease :holder :epoch`; gives 1 while the authority stands, else 0 (ALEASE-106). First in the transaction of a
    /// fenced write, and the only check of authority in it.
    pub fence: Cow<'static, str>,
    /// `:key :lease :holder :epoch`; changes a row if the occurrence had not been planned (ALEASE-107).
    pub plan: Cow<'static, str>,
    /// `:key :lease`; gives 1 if there is such an occurrence, else 0.
    pub known: Cow<'static, str>,
    /// `:lease :epoch`; records progress.
    pub progress: Cow<'static, str>,
    /// `:lease`; gives one row: time; holder, epoch, acquired, renewed, expires; epoch, time, cursor; due, oldest due.
    pub read: Cow<'static, str>,
}

impl Statements {
    /// The protocol as it should be.
    #[must_use]
    pub fn reference() -> Self {
        Self {
            now: Cow::Borrowed(concat!("SELECT ", now!())),
            acquire: Cow::Borrowed(concat!(
                "INSERT INTO scheduler_lease (lease, holder, epoch, acquired_at_ms, renewed_at_ms, expires_at_ms) ",
                "VALUES (:lease, :holder, 1, ",
                now!(),
                ", ",
                now!(),
                ", ",
                now!(),
                " + :ttl_ms) ",
                "ON CONFLICT (lease) DO UPDATE SET holder = excluded.holder, epoch = scheduler_lease.epoch + 1, ",
                "acquired_at_ms = excluded.acquired_at_ms, renewed_at_ms = excluded.renewed_at_ms, ",
                "expires_at_ms = excluded.expires_at_ms ",
                "WHERE scheduler_lease.holder IS NULL OR scheduler_lease.expires_at_ms <= ",
                now!(),
                " ",
                "RETURNING epoch",
            )),
            renew: Cow::Borrowed(concat!(
                "UPDATE scheduler_lease SET renewed_at_ms = ",
                now!(),
                ", expires_at_ms = ",
                now!(),
                " + :ttl_ms ",
                "WHERE lease = :lease AND holder = :holder AND epoch = :epoch AND expires_at_ms > ",
                now!(),
            )),
            release: Cow::Borrowed(concat!(
                "UPDATE scheduler_lease SET holder = NULL, expires_at_ms = MIN(expires_at_ms, ",
                now!(),
                ") ",
                "WHERE lease = :lease AND holder = :holder AND epoch = :epoch",
            )),
            enqueue: Cow::Borrowed(concat!(
                "INSERT INTO occurrence (idempotency_key, lease, action, due_at_ms) ",
                "VALUES (:key, :lease, :action, :due_at_ms) ON CONFLICT (idempotency_key) DO NOTHING",
            )),
            next_due: Cow::Borrowed(concat!(
                "SELECT idempotency_key, action, due_at_ms FROM occurrence ",
                "WHERE lease = :lease AND planned_at_ms IS NULL AND due_at_ms <= ",
                now!(),
                " ",
                "ORDER BY due_at_ms, idempotency_key LIMIT 1",
            )),
            fence: Cow::Borrowed(concat!(
                "SELECT EXISTS (SELECT 1 FROM scheduler_lease ",
                "WHERE lease = :lease AND holder = :holder AND epoch = :epoch)",
            )),
            plan: Cow::Borrowed(concat!(
                "UPDATE occurrence SET planned_at_ms = ",
                now!(),
                ", planned_epoch = :epoch, planned_by = :holder ",
                "WHERE idempotency_key = :key AND lease = :lease AND planned_at_ms IS NULL",
            )),
            known: Cow::Borrowed(
                "SELECT EXISTS (SELECT 1 FROM occurrence WHERE idempotency_key = :key AND lease = :lease)",
            ),
            progress: Cow::Borrowed(concat!(
                "INSERT INTO scheduler_progress (lease, epoch, progress_at_ms, cursor) ",
                "VALUES (:lease, :epoch, ",
                now!(),
                ", 1) ON CONFLICT (lease) DO UPDATE SET epoch = excluded.epoch, ",
                "progress_at_ms = excluded.progress_at_ms, cursor = scheduler_progress.cursor + 1",
            )),
            read: Cow::Borrowed(concat!(
                "SELECT ",
                now!(),
                ", l.holder, l.epoch, l.acquired_at_ms, l.renewed_at_ms, l.expires_at_ms, ",
                "p.epoch, p.progress_at_ms, p.cursor, o.due, o.oldest_due_at_ms ",
                "FROM (SELECT COUNT(*) AS due, MIN(due_at_ms) AS oldest_due_at_ms FROM occurrence ",
                "WHERE lease = :lease AND planned_at_ms IS NULL AND due_at_ms <= ",
                now!(),
                ") o ",
                "LEFT JOIN scheduler_lease l ON l.lease = :lease LEFT JOIN scheduler_progress p ON p.lease = :lease",
            )),
        }
    }
}

impl Default for Statements {
    fn default() -> Self {
        Self::reference()
    }
}
