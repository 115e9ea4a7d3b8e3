//! The SQL of the protocol on PostgreSQL. Each step is one statement and therefore one transaction.
//!
//! The statements run under READ COMMITTED and rely on how it treats a row that another transaction has locked: it waits,
//! then evaluates the new version of the row. This affects the clock in three ways.
//!
//! - `statement_timestamp()` and `now()` are from before the wait, so a writer that waited could win with an old time.
//!   Wherever the lease is decided, the statements use `clock_timestamp()`.
//! - Even `clock_timestamp()` in the `WHERE` of an `UPDATE` may be from before the wait: if the other transaction left the
//!   row unchanged, the condition is not evaluated again. The row is therefore locked first (`held`), and the clock is
//!   read from that result (`timed`). Both are materialized, which keeps the steps in order.
//! - `ON CONFLICT DO UPDATE` locks the row before it evaluates `SET` and `WHERE`, but `excluded` is from before the lock.
//!
//! An insert that waited for another insert which was then rolled back has the time from before the wait. This happens
//! only at the very first acquisition, and only makes the lease shorter.

/// The present time of the server's clock in whole Unix milliseconds.
macro_rules! now {
    () => {
        "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
    };
}

/// Returns the server's time.
pub const NOW: &str = concat!("SELECT ", now!());

/// `lease, holder, ttl_ms`; returns the epoch if the lease was acquired, else no row (ALEASE-104).
pub const ACQUIRE: &str = concat!(
    "INSERT INTO scheduler_lease AS held (lease, holder, epoch, acquired_at_ms, renewed_at_ms, expires_at_ms) ",
    "SELECT $1, $2, 1, now_ms, now_ms, now_ms + $3 FROM (SELECT ",
    now!(),
    " AS now_ms) AS clock ",
    "ON CONFLICT (lease) DO UPDATE SET holder = excluded.holder, epoch = held.epoch + 1, ",
    "(acquired_at_ms, renewed_at_ms, expires_at_ms) = (SELECT now_ms, now_ms, now_ms + $3 FROM (SELECT ",
    now!(),
    " AS now_ms) AS clock) ",
    "WHERE held.holder IS NULL OR held.expires_at_ms <= ",
    now!(),
    " RETURNING epoch",
);

/// Locks the lease record if it has this `lease, holder, epoch`, then reads the clock.
macro_rules! held {
    () => {
        concat!(
            "WITH held AS MATERIALIZED (SELECT lease, expires_at_ms FROM scheduler_lease ",
            "WHERE lease = $1 AND holder = $2 AND epoch = $3 FOR NO KEY UPDATE), ",
            "timed AS MATERIALIZED (SELECT lease, expires_at_ms, ",
            now!(),
            " AS now_ms FROM held)",
        )
    };
}

/// `lease, holder, epoch, ttl_ms`; changes a row if the lease was renewed (ALEASE-105).
pub const RENEW: &str = concat!(
    held!(),
    " UPDATE scheduler_lease AS renewed SET renewed_at_ms = timed.now_ms, expires_at_ms = timed.now_ms + $4 ",
    "FROM timed WHERE renewed.lease = timed.lease AND timed.expires_at_ms > timed.now_ms",
);

/// `lease, holder, epoch`; changes a row if the lease was released.
pub const RELEASE: &str = concat!(
    held!(),
    " UPDATE scheduler_lease AS released SET holder = NULL, ",
    "expires_at_ms = least(timed.expires_at_ms, timed.now_ms) FROM timed WHERE released.lease = timed.lease",
);

/// `key, lease, action, due_at_ms`; changes a row unless the key exists (ALEASE-107).
pub const ENQUEUE: &str = "INSERT INTO occurrence (idempotency_key, lease, action, due_at_ms) \
    VALUES ($1, $2, $3, $4) ON CONFLICT (idempotency_key) DO NOTHING";

/// `lease`; returns key, action and due time of the oldest due occurrence, or no row. It decides nothing about the lease,
/// so it uses `statement_timestamp()`, which an index scan can use.
pub const NEXT_DUE: &str = "SELECT idempotency_key, action, due_at_ms FROM occurrence \
    WHERE lease = $1 AND planned_at_ms IS NULL \
    AND due_at_ms <= floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint \
    ORDER BY due_at_ms, idempotency_key LIMIT 1";

/// `lease, holder, epoch, key`; returns whether the fence was passed, whether the occurrence was planned now, and whether
/// it exists (ALEASE-106, 107). Acquisition is excluded from the fence to the end of the statement. A client that is
/// stopped meanwhile blocks nobody, because the statement runs in the server.
pub const PLAN: &str = concat!(
    held!(),
    ", planned AS (UPDATE occurrence SET planned_at_ms = timed.now_ms, planned_epoch = $3, planned_by = $2 ",
    "FROM timed WHERE idempotency_key = $4 AND occurrence.lease = timed.lease AND planned_at_ms IS NULL ",
    "RETURNING occurrence.lease, timed.now_ms), ",
    "progressed AS (INSERT INTO scheduler_progress AS made (lease, epoch, progress_at_ms, cursor) ",
    "SELECT lease, $3, now_ms, 1 FROM planned ON CONFLICT (lease) DO UPDATE SET epoch = excluded.epoch, ",
    "progress_at_ms = excluded.progress_at_ms, cursor = made.cursor + 1) ",
    "SELECT EXISTS (SELECT FROM held), EXISTS (SELECT FROM planned), ",
    "EXISTS (SELECT FROM occurrence WHERE idempotency_key = $4 AND lease = $1)",
);

/// `lease`; returns one row: time; holder, epoch, acquired, renewed, expires; epoch, time, cursor; due, oldest due. The
/// clock is read after the snapshot is taken, so no time in the row is later than it.
pub const READ: &str = concat!(
    "WITH clock AS MATERIALIZED (SELECT ",
    now!(),
    " AS now_ms) ",
    "SELECT now_ms, l.holder, l.epoch, l.acquired_at_ms, l.renewed_at_ms, l.expires_at_ms, ",
    "p.epoch, p.progress_at_ms, p.cursor, o.due, o.oldest_due_at_ms ",
    "FROM clock CROSS JOIN LATERAL (SELECT count(*) AS due, min(due_at_ms) AS oldest_due_at_ms FROM occurrence ",
    "WHERE lease = $1 AND planned_at_ms IS NULL AND due_at_ms <= clock.now_ms) AS o ",
    "LEFT JOIN scheduler_lease AS l ON l.lease = $1 LEFT JOIN scheduler_progress AS p ON p.lease = $1",
);
