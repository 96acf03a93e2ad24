-- The model gateway (spec: planner 9): settings of organizations and projects, credentials, usage.

-- settings: {model?, provider?, skill?, daily_tokens?}; what is absent is inherited: project, organization, installation.
ALTER TABLE organizations ADD COLUMN settings jsonb NOT NULL DEFAULT '{}';
ALTER TABLE projects ADD COLUMN settings jsonb NOT NULL DEFAULT '{}';

-- A provider's key, sealed (AES-256-GCM, bound to organization, project, provider and base_url). base_url: the endpoint that
-- the key is for; null: the installation's. key_id tells which key of the installation sealed it.
CREATE TABLE credentials (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations,
  project_id uuid REFERENCES projects,
  provider text NOT NULL CHECK (provider ~ '^[a-z][a-z0-9-]{1,31}$'),
  base_url text,
  sealed bytea NOT NULL,
  key_id text NOT NULL,
  fingerprint text NOT NULL,
  created_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE NULLS NOT DISTINCT (organization_id, project_id, provider)
);

-- One row an attempt of a model call: opened when the call begins, closed once. estimated: the provider reported nothing;
-- while a row is open its tokens are an estimate of what was sent. model: as configured, not as the provider names it.
CREATE TABLE llm_usage (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations,
  project_id uuid NOT NULL REFERENCES projects,
  session_id uuid NOT NULL REFERENCES planner_sessions,
  turn_id uuid NOT NULL REFERENCES planner_turns,
  round integer NOT NULL,
  attempt integer NOT NULL,
  purpose text NOT NULL CHECK (purpose IN ('answer', 'compaction')),
  provider text NOT NULL,
  model text NOT NULL,
  status text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'ok', 'error', 'cancelled', 'lost')),
  input bigint NOT NULL DEFAULT 0,
  output bigint NOT NULL DEFAULT 0,
  cache_read bigint NOT NULL DEFAULT 0,
  cache_write bigint NOT NULL DEFAULT 0,
  estimated boolean NOT NULL DEFAULT false,
  opened_at timestamptz NOT NULL DEFAULT now(),
  closed_at timestamptz
);
-- Budgets sum these three on every call.
CREATE INDEX llm_usage_project ON llm_usage (project_id, opened_at) INCLUDE (input, output, cache_write);
CREATE INDEX llm_usage_organization ON llm_usage (organization_id, opened_at) INCLUDE (input, output, cache_write);
CREATE INDEX llm_usage_session ON llm_usage (session_id, opened_at);
CREATE INDEX llm_usage_turn ON llm_usage (turn_id, opened_at);
CREATE INDEX llm_usage_open ON llm_usage (opened_at) WHERE status = 'open';
