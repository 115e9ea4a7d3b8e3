-- The tables of the lease protocol. All times are Unix milliseconds of the store's clock, written by the statement that
-- changes the row. Leases, progress and work are kept in separate tables. No CHECK compares times of different
-- statements, because the clock can be set back.

CREATE TABLE IF NOT EXISTS scheduler_lease (
    lease          TEXT    NOT NULL PRIMARY KEY CHECK (typeof(lease) = 'text' AND lease <> ''),
    holder         TEXT             CHECK (holder IS NULL OR (typeof(holder) = 'text' AND holder <> '')),
    epoch          INTEGER NOT NULL CHECK (typeof(epoch) = 'integer' AND epoch >= 1),
    acquired_at_ms INTEGER          CHECK (typeof(acquired_at_ms) IN ('integer', 'null')),
    renewed_at_ms  INTEGER          CHECK (typeof(renewed_at_ms) IN ('integer', 'null')),
    expires_at_ms  INTEGER          CHECK (typeof(expires_at_ms) IN ('integer', 'null')),
    -- A lease with a holder has all three times.
    CHECK (holder IS NULL OR (acquired_at_ms IS NOT NULL AND renewed_at_ms IS NOT NULL AND expires_at_ms IS NOT NULL)),
    CHECK (holder IS NULL OR expires_at_ms > renewed_at_ms)
);

CREATE TABLE IF NOT EXISTS scheduler_progress (
    lease          TEXT    NOT NULL PRIMARY KEY CHECK (typeof(lease) = 'text' AND lease <> ''),
    epoch          INTEGER NOT NULL CHECK (typeof(epoch) = 'integer' AND epoch >= 1),
    progress_at_ms INTEGER NOT NULL CHECK (typeof(progress_at_ms) = 'integer'),
    cursor         INTEGER NOT NULL CHECK (typeof(cursor) = 'integer' AND cursor >= 1)
);

-- The queue of synthetic maintenance work. Planning an occurrence sets its last three columns and has no other effect.
CREATE TABLE IF NOT EXISTS occurrence (
    idempotency_key TEXT    NOT NULL PRIMARY KEY CHECK (typeof(idempotency_key) = 'text' AND idempotency_key <> ''),
    lease           TEXT    NOT NULL CHECK (typeof(lease) = 'text' AND lease <> ''),
    action          TEXT    NOT NULL CHECK (action IN ('plan_retention', 'count_backlog')),
    due_at_ms       INTEGER NOT NULL CHECK (typeof(due_at_ms) = 'integer'),
    planned_at_ms   INTEGER          CHECK (typeof(planned_at_ms) IN ('integer', 'null')),
    planned_epoch   INTEGER          CHECK (typeof(planned_epoch) IN ('integer', 'null') AND planned_epoch >= 1),
    planned_by      TEXT             CHECK (planned_by IS NULL OR (typeof(planned_by) = 'text' AND planned_by <> '')),
    -- An occurrence is planned completely or not at all.
    CHECK ((planned_at_ms IS NULL) = (planned_epoch IS NULL) AND (planned_at_ms IS NULL) = (planned_by IS NULL))
);

CREATE INDEX IF NOT EXISTS occurrence_unplanned ON occurrence (lease, due_at_ms) WHERE planned_at_ms IS NULL;
