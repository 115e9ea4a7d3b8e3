//! All SQL of the protocol on SQLite, replaceable so that a simulation can run a mutated protocol.

use std::borrow::Cow;

/// The clock in Unix milliseconds, in SQL that every version of SQLite supports. SQLite reads its clock once in each step
/// of a statement, after it has acquired the lock that the statement needs.
macro_rules! now {
    () => {
        "CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)"
    };
}

/// One statement for each step of the protocol, with named parameters. A mutated statement must still contain all of its
/// parameters, because binding an absent one is an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statements {
    /// Returns the store's time.
    pub now: Cow<'static, str>,
    /// `:lease :holder :ttl_ms`; returns the epoch if the lease was acquired, else no row (ALEASE-104).
    pub acquire: Cow<'static, str>,
    /// `:lease :holder :epoch :ttl_ms`; changes a row if the lease was renewed (ALEASE-105).
    pub renew: Cow<'static, str>,
    /// `:lease :holder :epoch`; changes a row if the lease was released.
    pub release: Cow<'static, str>,
    /// `:key :lease :action :due_at_ms`; changes a row unless the key exists (ALEASE-107).
    pub enqueue: Cow<'static, str>,
    /// `:lease`; returns key, action and due time of the oldest due occurrence, or no row.
    pub next_due: Cow<'static, str>,
    /// `:lease :holder :epoch`; returns 1 if the lease has this holder and epoch, else 0 (ALEASE-106). It is the first
    /// statement in the transaction of a fenced write, and the only check of the lease in it.
    pub fence: Cow<'static, str>,
    /// `:key :lease :holder :epoch`; changes a row if the occurrence was not planned before (ALEASE-107).
    pub plan: Cow<'static, str>,
    /// `:key :lease`; returns 1 if the occurrence exists, else 0.
    pub known: Cow<'static, str>,
    /// `:lease :epoch`; records progress.
    pub progress: Cow<'static, str>,
    /// `:lease`; returns one row: time; holder, epoch, acquired, renewed, expires; epoch, time, cursor; due, oldest due.
    pub read: Cow<'static, str>,
}

impl Statements {
    /// The statements of the protocol.
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
