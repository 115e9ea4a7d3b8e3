CREATE TYPE river_job_state AS ENUM
  ('available', 'cancelled', 'completed', 'discarded', 'pending', 'retryable', 'running', 'scheduled');
CREATE UNLOGGED TABLE river_leader (
  elected_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  leader_id text NOT NULL,
  name text PRIMARY KEY DEFAULT 'default' CHECK (name = 'default')
);
CREATE TABLE river_job (
  id bigserial PRIMARY KEY,
  state river_job_state NOT NULL DEFAULT 'available',
  queue text NOT NULL DEFAULT 'default',
  priority smallint NOT NULL DEFAULT 1,
  kind text NOT NULL DEFAULT 'mail',
  args jsonb NOT NULL DEFAULT '{"secret": "of the job"}',
  attempt smallint NOT NULL DEFAULT 0,
  attempted_at timestamptz,
  attempted_by text[],
  created_at timestamptz NOT NULL DEFAULT now(),
  finalized_at timestamptz,
  scheduled_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ON river_job (state, finalized_at) WHERE finalized_at IS NOT NULL;
CREATE INDEX ON river_job (state, queue, priority, scheduled_at, id);
