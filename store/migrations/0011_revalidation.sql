-- Re-validation of the bounded runner (spec: bounded-claude 9, orchestration "Re-validation").

-- A schedule of a role. What is wanted stands here; a worker tells the engine. version: raised by each change;
-- synced_version: what the engine has. triggers, backfills: asked for and not passed on yet. next_times: as the engine
-- says. A deleted one stays until the engine has forgotten it, then for its re-validations.
CREATE TABLE revalidation_schedules (
  id uuid PRIMARY KEY,
  repository_id uuid NOT NULL REFERENCES repositories,
  project_id uuid NOT NULL REFERENCES projects,
  host text NOT NULL,
  role text NOT NULL,
  cron text NOT NULL,
  jitter_seconds integer NOT NULL,
  catchup_seconds integer NOT NULL,
  budget_usd double precision NOT NULL,
  demo boolean NOT NULL DEFAULT false,
  paused boolean NOT NULL DEFAULT false,
  note text NOT NULL DEFAULT '',
  deleted boolean NOT NULL DEFAULT false,
  version integer NOT NULL DEFAULT 1,
  synced_version integer NOT NULL DEFAULT 0,
  triggers integer NOT NULL DEFAULT 0,
  backfills jsonb NOT NULL DEFAULT '[]',
  next_times jsonb NOT NULL DEFAULT '[]',
  missed_catchup integer NOT NULL DEFAULT 0,
  overlap_skipped integer NOT NULL DEFAULT 0,
  claimed_at timestamptz,
  looked_at timestamptz,
  created_by text NOT NULL REFERENCES subjects,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX revalidation_schedules_role ON revalidation_schedules (repository_id, host, role) WHERE NOT deleted;

-- runner, CLI, identity, packets: what it is bound to, set before its first run. confirmed: they were the same at its
-- end. packets_intact: its kept packets are as they were. claim: as it was when its report was written last.
CREATE TABLE revalidations (
  id text PRIMARY KEY,
  repository_id uuid NOT NULL REFERENCES repositories,
  project_id uuid NOT NULL REFERENCES projects,
  schedule_id uuid REFERENCES revalidation_schedules,
  host text NOT NULL,
  role text NOT NULL,
  budget_usd double precision NOT NULL,
  demo boolean NOT NULL DEFAULT false,
  status text NOT NULL DEFAULT 'pending'
    CHECK (status IN ('pending', 'running', 'completed', 'cancelled', 'rejected', 'failed')),
  phase text NOT NULL DEFAULT 'starting',
  problems jsonb NOT NULL DEFAULT '[]',
  identity jsonb,
  cli jsonb,
  runner_sha256 text,
  identity_sha256 text,
  confirmed boolean,
  packets_intact boolean NOT NULL DEFAULT true,
  claim text NOT NULL DEFAULT 'pending' CHECK (claim IN ('holds', 'fails', 'pending', 'stale')),
  report_due boolean NOT NULL DEFAULT false,
  workflow_id text NOT NULL,
  workflow_run_id text UNIQUE,
  cancel_requested_at timestamptz,
  cancel_by text,
  dispatched_at timestamptz,
  created_by text NOT NULL REFERENCES subjects,
  created_at timestamptz NOT NULL DEFAULT now(),
  started_at timestamptz,
  progress_at timestamptz NOT NULL DEFAULT now(),
  ended_at timestamptz
);
CREATE UNIQUE INDEX revalidations_open ON revalidations (repository_id, host, role)
  WHERE status IN ('pending', 'running');
CREATE INDEX revalidations_project ON revalidations (project_id, created_at DESC, id DESC);
CREATE INDEX revalidations_due ON revalidations (repository_id) WHERE report_due;

CREATE TABLE revalidation_packets (
  validation text NOT NULL REFERENCES revalidations,
  position integer NOT NULL,
  text text NOT NULL,
  sha256 text NOT NULL,
  characters integer NOT NULL,
  PRIMARY KEY (validation, position)
);

CREATE TABLE revalidation_runs (
  validation text NOT NULL REFERENCES revalidations,
  position integer NOT NULL,
  run uuid NOT NULL UNIQUE REFERENCES bounded_runs,
  PRIMARY KEY (validation, position)
);

-- What somebody has to inspect, and who did.
CREATE TABLE revalidation_failures (
  validation text NOT NULL REFERENCES revalidations,
  number integer NOT NULL,
  attempt integer,
  kind text NOT NULL,
  detail text NOT NULL,
  inspected_by text REFERENCES subjects,
  inspected_at timestamptz,
  note text,
  PRIMARY KEY (validation, number)
);

-- What the repository's computer has now, as its worker saw it last; null: not found.
CREATE TABLE revalidation_current (
  repository_id uuid NOT NULL REFERENCES repositories,
  host text NOT NULL,
  role text NOT NULL,
  demo boolean NOT NULL,
  runner_sha256 text,
  identity_sha256 text,
  cli_sha256 text,
  looked_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (repository_id, host, role, demo)
);

-- interrupt_first: the first attempt is ended on purpose after its first text. interrupted: that happened.
ALTER TABLE bounded_runs ADD COLUMN interrupt_first boolean NOT NULL DEFAULT false;
ALTER TABLE bounded_attempts ADD COLUMN interrupted boolean NOT NULL DEFAULT false;
