ALTER TABLE dag DROP COLUMN is_active;
ALTER TABLE dag ADD COLUMN is_stale boolean;
ALTER TABLE task_instance ADD COLUMN scheduled_dttm timestamptz;
