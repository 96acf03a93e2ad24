-- Repositories that bounded runs may plan for (spec: bounded-claude 1). machine: the computer that holds it, whose worker
-- listens on the queue bounded-<machine>; path: real and absolute there; path_hash: of machine and path.
CREATE TABLE repositories (
  id uuid PRIMARY KEY,
  alias text NOT NULL UNIQUE CHECK (alias ~ '^[a-z0-9][a-z0-9._-]{0,63}$'),
  project_id uuid NOT NULL REFERENCES projects,
  machine text NOT NULL,
  path text NOT NULL,
  path_hash text NOT NULL UNIQUE CHECK (path_hash ~ '^[0-9a-f]{8}$'),
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (machine, path)
);

-- A run is pending until its preflight has accepted it, running until it ends. A rejected one keeps nothing but its
-- reasons: its run id is free again. run_key: the run id without case.
-- cycle: 0, raised by each resume that a person asks for; what an earlier cycle still writes comes too late.
-- phase: what it does, for people. failure_kind while it runs: why it waits.
-- artifacts_done: its directories hold everything, its claim is given back. outputs_kept: not pruned yet.
CREATE TABLE bounded_runs (
  id uuid PRIMARY KEY,
  repository_id uuid NOT NULL REFERENCES repositories,
  project_id uuid NOT NULL REFERENCES projects,
  run_id text NOT NULL,
  run_key text NOT NULL,
  host text NOT NULL,
  role text NOT NULL,
  packet text NOT NULL,
  packet_sha256 text NOT NULL,
  packet_chars integer NOT NULL,
  packet_name text NOT NULL,
  output text NOT NULL,
  limits jsonb NOT NULL,
  lowered jsonb NOT NULL DEFAULT '[]',
  budget_usd double precision NOT NULL,
  allow_unverified boolean NOT NULL DEFAULT false,
  demo boolean NOT NULL DEFAULT false,
  identity jsonb,
  approval jsonb,
  cli jsonb,
  work_dir text,
  status text NOT NULL DEFAULT 'pending'
    CHECK (status IN ('pending', 'running', 'succeeded', 'failed', 'cancelled', 'rejected')),
  phase text NOT NULL DEFAULT 'starting',
  failure_kind text,
  failure_detail text,
  problems jsonb,
  cycle integer NOT NULL DEFAULT 0,
  attempts integer NOT NULL DEFAULT 0,
  cost_usd double precision NOT NULL DEFAULT 0,
  cost_estimated boolean NOT NULL DEFAULT false,
  workflow_id text NOT NULL,
  workflow_run_id text,
  dir_claimed boolean NOT NULL DEFAULT false,
  cancel_requested_at timestamptz,
  cancel_by text,
  dispatched_at timestamptz,
  created_by text NOT NULL REFERENCES subjects,
  created_at timestamptz NOT NULL DEFAULT now(),
  started_at timestamptz,
  progress_at timestamptz NOT NULL DEFAULT now(),
  ended_at timestamptz,
  artifacts_done boolean NOT NULL DEFAULT false,
  outputs_kept boolean NOT NULL DEFAULT true
);
CREATE UNIQUE INDEX bounded_runs_run_id ON bounded_runs (repository_id, run_key) WHERE status <> 'rejected';
CREATE INDEX bounded_runs_project ON bounded_runs (project_id, id DESC);
CREATE INDEX bounded_runs_key ON bounded_runs (run_key);
CREATE INDEX bounded_runs_open ON bounded_runs (progress_at) WHERE status IN ('pending', 'running');
CREATE INDEX bounded_runs_untidy ON bounded_runs (repository_id) WHERE NOT artifacts_done;
CREATE INDEX bounded_runs_kept ON bounded_runs (ended_at) WHERE outputs_kept;

-- One row a CLI that was or will be started. fence: raised by whoever supervises or recovers it; later writes present it.
-- checkpoint: its visible text, redacted; on success the plan. outcome: what its metadata says.
CREATE TABLE bounded_attempts (
  run uuid NOT NULL REFERENCES bounded_runs,
  attempt integer NOT NULL,
  cycle integer NOT NULL,
  host text NOT NULL,
  role text NOT NULL,
  identity jsonb NOT NULL,
  approval jsonb,
  session_id uuid NOT NULL,
  session_kind text NOT NULL CHECK (session_kind IN ('fresh', 'resume')),
  packet_held boolean NOT NULL DEFAULT false,
  budget_usd double precision NOT NULL,
  cli jsonb NOT NULL,
  status text NOT NULL DEFAULT 'running' CHECK (status IN ('running', 'succeeded', 'failed')),
  fence bigint NOT NULL DEFAULT 0,
  failure_kind text,
  failure_detail text,
  checkpoint text NOT NULL DEFAULT '',
  warnings jsonb NOT NULL DEFAULT '[]',
  outcome jsonb,
  session_cost_usd double precision,
  cost_usd double precision NOT NULL DEFAULT 0,
  cost_estimated boolean NOT NULL DEFAULT false,
  recovery text,
  workflow_run_id text NOT NULL,
  started_at timestamptz NOT NULL DEFAULT now(),
  ended_at timestamptz,
  PRIMARY KEY (run, attempt)
);

-- A stream of outputs is a session's or a bounded run's: session_id and turn_id of a run's outputs are the run's id.
ALTER TABLE planner_output_counters DROP CONSTRAINT planner_output_counters_session_id_fkey;
