CREATE TABLE job (
  id int AUTO_INCREMENT PRIMARY KEY,
  dag_id varchar(250),
  state varchar(20),
  job_type varchar(30),
  start_date timestamp(6) NULL,
  end_date timestamp(6) NULL,
  latest_heartbeat timestamp(6) NULL,
  executor_class varchar(500),
  hostname varchar(500),
  unixname varchar(1000)
);
CREATE INDEX job_type_heart ON job (job_type, latest_heartbeat);
CREATE TABLE dag (
  dag_id varchar(250) PRIMARY KEY,
  is_paused boolean,
  is_active boolean,
  has_import_errors boolean DEFAULT FALSE,
  next_dagrun_create_after timestamp(6) NULL
);
CREATE TABLE dag_run (
  id int AUTO_INCREMENT PRIMARY KEY,
  dag_id varchar(250) NOT NULL,
  run_id varchar(250) NOT NULL,
  run_type varchar(50) NOT NULL DEFAULT 'scheduled',
  state varchar(50),
  start_date timestamp(6) NULL,
  end_date timestamp(6) NULL,
  conf blob,
  last_scheduling_decision timestamp(6) NULL,
  UNIQUE (dag_id, run_id)
);
CREATE TABLE task_instance (
  task_id varchar(250) NOT NULL,
  dag_id varchar(250) NOT NULL,
  run_id varchar(250) NOT NULL,
  map_index int NOT NULL DEFAULT -1,
  state varchar(20),
  start_date timestamp(6) NULL,
  end_date timestamp(6) NULL,
  duration double,
  queued_dttm timestamp(6) NULL,
  updated_at timestamp(6) NULL,
  pool varchar(256) NOT NULL DEFAULT 'default_pool',
  executor_config blob,
  PRIMARY KEY (dag_id, task_id, run_id, map_index)
);
CREATE INDEX ti_state ON task_instance (state);
CREATE INDEX ti_dag_run ON task_instance (dag_id, run_id);
