-- Who: organizations, projects, subjects, tokens, role bindings.

CREATE TABLE organizations (
  id uuid PRIMARY KEY,
  key text NOT NULL UNIQUE CHECK (key ~ '^[a-z][a-z0-9-]{1,31}$'),
  name text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE projects (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations,
  key text NOT NULL UNIQUE CHECK (key ~ '^[A-Z][A-Z0-9]{1,9}$'),
  name text NOT NULL,
  description text NOT NULL DEFAULT '',
  last_number integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE subjects (
  subject text PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('human', 'service')),
  name text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);

-- Only the SHA-256 of a token is stored. actions: null, or the only actions that the token carries.
CREATE TABLE tokens (
  id uuid PRIMARY KEY,
  subject text NOT NULL REFERENCES subjects,
  hash bytea NOT NULL UNIQUE,
  label text NOT NULL DEFAULT '',
  actions text[],
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  revoked_at timestamptz
);

-- Bound at the platform when both scopes are null, else at exactly one of them.
CREATE TABLE role_bindings (
  id uuid PRIMARY KEY,
  subject text NOT NULL REFERENCES subjects,
  role text NOT NULL CHECK (role IN ('platform-admin', 'organization-admin', 'engineer', 'approver', 'viewer')),
  organization_id uuid REFERENCES organizations,
  project_id uuid REFERENCES projects,
  created_at timestamptz NOT NULL DEFAULT now(),
  CHECK (organization_id IS NULL OR project_id IS NULL),
  UNIQUE NULLS NOT DISTINCT (subject, role, organization_id, project_id)
);

-- The tracker (spec: planner 1).

CREATE TABLE items (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL REFERENCES projects,
  number integer NOT NULL,
  key text NOT NULL UNIQUE,
  kind text NOT NULL CHECK (kind IN ('milestone', 'epic', 'ticket')),
  title text NOT NULL,
  description text NOT NULL DEFAULT '',
  state text NOT NULL,
  type text,
  acceptance_criteria jsonb NOT NULL DEFAULT '[]',
  review_mode text,
  merge_mode text,
  epic_id uuid REFERENCES items,
  milestone_id uuid REFERENCES items,
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (project_id, number)
);
CREATE INDEX items_epic ON items (epic_id) WHERE epic_id IS NOT NULL;
CREATE INDEX items_milestone ON items (milestone_id) WHERE milestone_id IS NOT NULL;

-- A relates edge is stored once, its smaller id first.
CREATE TABLE dependencies (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL REFERENCES projects,
  type text NOT NULL CHECK (type IN ('blocks', 'relates')),
  from_id uuid NOT NULL REFERENCES items,
  to_id uuid NOT NULL REFERENCES items,
  created_at timestamptz NOT NULL DEFAULT now(),
  CHECK (from_id <> to_id),
  CHECK (type = 'blocks' OR from_id < to_id),
  UNIQUE (type, from_id, to_id)
);
CREATE INDEX dependencies_to ON dependencies (to_id);

-- Changesets (spec: planner 2). base_versions: the version of each item that an operation updates, at propose.
CREATE TABLE changesets (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL REFERENCES projects,
  title text NOT NULL,
  summary text NOT NULL DEFAULT '',
  operations jsonb NOT NULL,
  base_versions jsonb NOT NULL DEFAULT '{}',
  status text NOT NULL DEFAULT 'proposed' CHECK (status IN ('proposed', 'applied', 'rejected')),
  proposed_by jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  decided_by jsonb,
  decided_at timestamptz,
  approved jsonb,
  results jsonb,
  version integer NOT NULL DEFAULT 1
);
CREATE INDEX changesets_project ON changesets (project_id, created_at DESC, id DESC);

-- Events (spec: planner 12). scope: 'project:<id>', 'organization:<id>' or 'installation'. The counter row of a scope is
-- taken by the last statement before commit, so that seq is dense and in commit order.
CREATE TABLE event_counters (
  scope text PRIMARY KEY,
  seq bigint NOT NULL
);

CREATE TABLE events (
  scope text NOT NULL,
  seq bigint NOT NULL,
  id uuid NOT NULL UNIQUE,
  occurred_at timestamptz NOT NULL DEFAULT now(),
  organization_id uuid,
  project_id uuid,
  type text NOT NULL,
  entity_type text NOT NULL,
  entity_id text NOT NULL,
  entity_key text,
  actor jsonb NOT NULL,
  payload jsonb NOT NULL DEFAULT '{}',
  PRIMARY KEY (scope, seq)
);
CREATE INDEX events_entity ON events (scope, entity_key, seq) WHERE entity_key IS NOT NULL;
-- An edge's events carry the key of the item that it leaves; the item that it reaches finds them by this.
CREATE INDEX events_edge_to ON events (scope, (payload ->> 'to'), seq) WHERE entity_type = 'dependency';

-- The conversation (spec: planner 7).

CREATE TABLE planner_sessions (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL REFERENCES projects,
  title text NOT NULL,
  created_by text NOT NULL REFERENCES subjects,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  archived boolean NOT NULL DEFAULT false,
  summary text NOT NULL DEFAULT '',
  summary_up_to integer NOT NULL DEFAULT 0,
  last_seq integer NOT NULL DEFAULT 0
);
CREATE INDEX planner_sessions_project ON planner_sessions (project_id, created_at DESC, id DESC);

-- A turn is pending until its first activity has taken the fence, active until it ends. The partial unique index is what
-- keeps a session to one turn at a time.
-- fence: raised by each activity attempt that takes the turn over; every later write of that attempt presents it.
-- fence_order: (scheduled ms, round, rank, attempt) of the attempt that holds the fence; only a greater one may take it.
-- round and call_attempt: the model call that runs or ran last; call_attempt counts the attempts of that round.
-- outputs_kept: its outputs have not been pruned yet.
CREATE TABLE planner_turns (
  id uuid PRIMARY KEY,
  session_id uuid NOT NULL REFERENCES planner_sessions,
  human text NOT NULL REFERENCES subjects,
  message_id text,
  message_seq integer NOT NULL,
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'active', 'ended')),
  reason text,
  workflow_id text NOT NULL,
  run_id text,
  fence bigint NOT NULL DEFAULT 0,
  fence_order bigint[] NOT NULL DEFAULT '{0,0,0,0}',
  round integer NOT NULL DEFAULT 0,
  call_attempt integer NOT NULL DEFAULT 0,
  rounds integer NOT NULL DEFAULT 0,
  usage jsonb NOT NULL DEFAULT '{"input":0,"output":0,"cache_read":0,"cache_write":0}',
  failure text,
  cancel_requested_at timestamptz,
  cancel_by text,
  dispatched_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  started_at timestamptz,
  progress_at timestamptz NOT NULL DEFAULT now(),
  ended_at timestamptz,
  outputs_kept boolean NOT NULL DEFAULT true
);
CREATE UNIQUE INDEX planner_turns_one_open ON planner_turns (session_id) WHERE status <> 'ended';
CREATE UNIQUE INDEX planner_turns_message_id ON planner_turns (session_id, message_id) WHERE message_id IS NOT NULL;
CREATE INDEX planner_turns_session ON planner_turns (session_id, created_at);
CREATE INDEX planner_turns_open ON planner_turns (progress_at) WHERE status <> 'ended';
CREATE INDEX planner_turns_kept ON planner_turns (ended_at) WHERE outputs_kept AND status = 'ended';

-- round: null on human text; on an assistant message the round it answers; on tool results the round of their calls.
CREATE TABLE planner_messages (
  session_id uuid NOT NULL REFERENCES planner_sessions,
  seq integer NOT NULL,
  role text NOT NULL CHECK (role IN ('user', 'assistant')),
  blocks jsonb NOT NULL,
  author text,
  turn_id uuid NOT NULL REFERENCES planner_turns,
  round integer,
  stop_reason text,
  model text,
  usage jsonb,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (session_id, seq)
);
CREATE UNIQUE INDEX planner_messages_round ON planner_messages (turn_id, round, role) WHERE round IS NOT NULL;

-- One row a tool call, committed together with the call's effect.
CREATE TABLE planner_tool_results (
  turn_id uuid NOT NULL REFERENCES planner_turns,
  round integer NOT NULL,
  tool_use_id text NOT NULL,
  tool text NOT NULL,
  text text NOT NULL,
  is_error boolean NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (turn_id, round, tool_use_id)
);

-- Turn outputs (spec: planner 7, orchestration Streaming). number ascends in commit order: its counter row is held until
-- the commit. pruned: every number up to and including it may be gone.
CREATE TABLE planner_output_counters (
  session_id uuid PRIMARY KEY REFERENCES planner_sessions,
  number bigint NOT NULL DEFAULT 0,
  pruned bigint NOT NULL DEFAULT 0
);

CREATE TABLE planner_outputs (
  session_id uuid NOT NULL,
  number bigint NOT NULL,
  turn_id uuid NOT NULL,
  attempt integer NOT NULL,
  type text NOT NULL,
  body jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (session_id, number)
);
CREATE INDEX planner_outputs_turn ON planner_outputs (turn_id, number);

-- Answers of POST requests by Idempotency-Key (spec: planner 10). status 0: in progress.
CREATE TABLE idempotency_keys (
  subject text NOT NULL,
  key text NOT NULL,
  request_hash bytea NOT NULL,
  status integer NOT NULL,
  response jsonb,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (subject, key)
);
