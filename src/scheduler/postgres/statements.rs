//! The SQL of the reference protocol on PostgreSQL: one statement for each step, and so one transaction.
//!
//! Each runs under READ COMMITTED, and relies on what that does with a row that another transaction held: it waits, and
//! then looks at the row as it is now. Three things about the clock follow.
//!
//! * `statement_timestamp()` and `now()` are from before the wait. Where authority is decided they would let a writer
//!   that waited win with old time, so it is `clock_timestamp()` there.
//! * Even `clock_timestamp()` in the `WHERE` of an `UPDATE` may be from before the wait: if whoever was waited for left
//!   the row as it was, nothing is evaluated again. So the row is locked first (`held`), and the clock read from what
//!   that gives (`timed`); both are materialized, which keeps the two steps apart.
//! * `ON CONFLICT DO UPDATE` locks the row before it evaluates its `SET` and `WHERE`; `excluded` is from before that.
//!
//! Where nobody else has the row, as at the very first acquisition, an insert may have waited for another that was
//! rolled back, and has the time from before. That makes the new lease shorter by the wait, and nothing else.

/// The server's clock in whole Unix milliseconds, now.
macro_rules! now {
    () => {
        "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
    };
}

/// Gives the server's time.
pub(super) const NOW: &str = concat!("SELECT ", now!());

/// `lease, holder, ttl_ms`; gives the epoch if it was acquired, else no row (ALEASE-104).
pub(super) const ACQUIRE: &str = concat!(
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

/// What `lease, holder, epoch` still has, locked, and then the time.
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

/// `lease, holder, epoch, ttl_ms`; changes a row if it was renewed (ALEASE-105).
pub(super) const RENEW: &str = concat!(
    held!(),
    " UPDATE scheduler_lease AS renewed SET renewed_at_ms = timed.now_ms, expires_at_ms = timed.now_ms + $4 ",
    "FROM timed WHERE renewed.lease = timed.lease AND timed.expires_at_ms > timed.now_ms",
);

/// `lease, holder, epoch`; changes a row if it was released.
pub(super) const RELEASE: &str = concat!(
    held!(),
    " UPDATE scheduler_lease AS released SET holder = NULL, ",
    "expires_at_ms = least(timed.expires_at_ms, timed.now_ms) FROM timed WHERE released.lease = timed.lease",
);

/// `key, lease, action, due_at_ms`; changes a row unless the key is there (ALEASE-107).
pub(super) const ENQUEUE: &str = "INSERT INTO occurrence (idempotency_key, lease, action, due_at_ms) \
    VALUES ($1, $2, $3, $4) ON CONFLICT (idempotency_key) DO NOTHING";

/// `lease`; gives key, action and due time of the oldest due, or no row. It decides nothing, so a time that can be
/// looked up in an index will do.
pub(super) const NEXT_DUE: &str = "SELECT idempotency_key, action, due_at_ms FROM occurrence \
    WHERE lease = $1 AND planned_at_ms IS NULL \
    AND due_at_ms <= floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint \
    ORDER BY due_at_ms, idempotency_key LIMIT 1";

/// `lease, holder, epoch, key`; gives whether the authority stands, whether the occurrence was planned now, and whether
/// there is one (ALEASE-106, 107). From the fence to the end of it nobody else can acquire; and a process that is
/// stopped in the midst of it holds nobody up, for the whole of it happens in the server.
pub(super) const PLAN: &str = concat!(
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

/// `lease`; gives one row: time; holder, epoch, acquired, renewed, expires; epoch, time, cursor; due, oldest due. The
/// clock is read after the snapshot was taken, so nothing in the row is later.
pub(super) const READ: &str = concat!(
    "WITH clock AS MATERIALIZED (SELECT ",
    now!(),
    " AS now_ms) ",
    "SELECT now_ms, l.holder, l.epoch, l.acquired_at_ms, l.renewed_at_ms, l.expires_at_ms, ",
    "p.epoch, p.progress_at_ms, p.cursor, o.due, o.oldest_due_at_ms ",
    "FROM clock CROSS JOIN LATERAL (SELECT count(*) AS due, min(due_at_ms) AS oldest_due_at_ms FROM occurrence ",
    "WHERE lease = $1 AND planned_at_ms IS NULL AND due_at_ms <= clock.now_ms) AS o ",
    "LEFT JOIN scheduler_lease AS l ON l.lease = $1 LEFT JOIN scheduler_progress AS p ON p.lease = $1",
);
