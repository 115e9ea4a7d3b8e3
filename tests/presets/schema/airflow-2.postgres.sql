CREATE TABLE job (
  id serial PRIMARY KEY,
  dag_id varchar(250),
  state varchar(20),
  job_type varchar(30),
  start_date timestamptz,
  end_date timestamptz,
  latest_heartbeat timestamptz,
  executor_class varchar(500),
  hostname varchar(500),
  unixname varchar(1000)
);
CREATE INDEX ON job (job_type, latest_heartbeat);
CREATE TABLE dag (
  dag_id varchar(250) PRIMARY KEY,
  is_paused boolean,
  is_active boolean,
  has_import_errors boolean DEFAULT false,
  next_dagrun_create_after timestamptz
);
CREATE TABLE dag_run (
  id serial PRIMARY KEY,
  dag_id varchar(250) NOT NULL,
  run_id varchar(250) NOT NULL,
  run_type varchar(50) NOT NULL DEFAULT 'scheduled',
  state varchar(50),
  start_date timestamptz,
  end_date timestamptz,
  conf bytea,
  last_scheduling_decision timestamptz,
  UNIQUE (dag_id, run_id)
);
CREATE TABLE task_instance (
  task_id varchar(250) NOT NULL,
  dag_id varchar(250) NOT NULL,
  run_id varchar(250) NOT NULL,
  map_index int NOT NULL DEFAULT -1,
  state varchar(20),
  start_date timestamptz,
  end_date timestamptz,
  duration double precision,
  queued_dttm timestamptz,
  updated_at timestamptz,
  pool varchar(256) NOT NULL DEFAULT 'default_pool',
  executor_config bytea,
  PRIMARY KEY (dag_id, task_id, run_id, map_index)
);
CREATE INDEX ON task_instance (state);
CREATE INDEX ON task_instance (dag_id, run_id);
