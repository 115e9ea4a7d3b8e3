ALTER TABLE dag ADD COLUMN exceeds_max_non_backfill boolean NOT NULL DEFAULT FALSE;
