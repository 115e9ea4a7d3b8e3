CREATE TABLE scheduled_tasks (
  task_name varchar(100) NOT NULL,
  task_instance varchar(100) NOT NULL,
  task_data blob,
  execution_time datetime(6) NOT NULL,
  picked boolean NOT NULL,
  picked_by varchar(50),
  last_success datetime(6),
  last_failure datetime(6),
  consecutive_failures int,
  last_heartbeat datetime(6),
  version bigint NOT NULL,
  priority smallint,
  PRIMARY KEY (task_name, task_instance)
);
