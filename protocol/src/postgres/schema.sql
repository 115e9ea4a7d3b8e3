-- The tables of the lease protocol, with the same names, columns and checks as on SQLite. All times are Unix milliseconds
-- of the server's clock, written by the statement that changes the row. No CHECK compares times of different statements,
-- because the clock can be set back and is another one after a failover. Names are ordered by their bytes, as on the
-- other stores, whatever the collation of the database.

CREATE TABLE IF NOT EXISTS scheduler_lease (
    lease          text COLLATE "C" PRIMARY KEY CHECK (lease <> ''),
    holder         text   CHECK (holder <> ''),
    epoch          bigint NOT NULL CHECK (epoch >= 1),
    acquired_at_ms bigint,
    renewed_at_ms  bigint,
    expires_at_ms  bigint,
    -- A lease with a holder has all three times.
    CHECK (holder IS NULL OR (acquired_at_ms IS NOT NULL AND renewed_at_ms IS NOT NULL AND expires_at_ms IS NOT NULL)),
    CHECK (holder IS NULL OR expires_at_ms > renewed_at_ms)
);

CREATE TABLE IF NOT EXISTS scheduler_progress (
    lease          text COLLATE "C" PRIMARY KEY CHECK (lease <> ''),
    epoch          bigint NOT NULL CHECK (epoch >= 1),
    progress_at_ms bigint NOT NULL,
    cursor         bigint NOT NULL CHECK (cursor >= 1)
);

-- The queue of synthetic maintenance work. Planning an occurrence sets its last three columns and has no other effect.
CREATE TABLE IF NOT EXISTS occurrence (
    idempotency_key text COLLATE "C" PRIMARY KEY CHECK (idempotency_key <> ''),
    lease           text COLLATE "C" NOT NULL CHECK (lease <> ''),
    action          text   NOT NULL CHECK (action IN ('plan_retention', 'count_backlog')),
    due_at_ms       bigint NOT NULL,
    planned_at_ms   bigint,
    planned_epoch   bigint CHECK (planned_epoch >= 1),
    planned_by      text   CHECK (planned_by <> ''),
    -- An occurrence is planned completely or not at all.
    CHECK ((planned_at_ms IS NULL) = (planned_epoch IS NULL) AND (planned_at_ms IS NULL) = (planned_by IS NULL))
);

CREATE INDEX IF NOT EXISTS occurrence_unplanned
    ON occurrence (lease, due_at_ms, idempotency_key) WHERE planned_at_ms IS NULL;
