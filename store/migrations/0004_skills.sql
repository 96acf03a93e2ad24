-- Skills (spec: planner 3). A skill of the platform has neither organization nor project; one of a project has both.
-- draft_*: what a publish makes the next version of; latest: the newest published version, 0: none.
CREATE TABLE skills (
  id uuid PRIMARY KEY,
  scope text NOT NULL CHECK (scope IN ('platform', 'organization', 'project')),
  organization_id uuid REFERENCES organizations,
  project_id uuid REFERENCES projects,
  name text NOT NULL CHECK (name ~ '^[a-z][a-z0-9-]{1,63}$'),
  draft_description text NOT NULL,
  draft_body text NOT NULL,
  draft_files jsonb NOT NULL DEFAULT '[]',
  draft_version integer NOT NULL DEFAULT 1,
  latest integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  CHECK ((scope = 'platform') = (organization_id IS NULL)),
  CHECK ((scope = 'project') = (project_id IS NOT NULL)),
  UNIQUE NULLS NOT DISTINCT (organization_id, project_id, name)
);

-- Immutable. files: [{path, content}].
CREATE TABLE skill_versions (
  skill_id uuid NOT NULL REFERENCES skills,
  version integer NOT NULL,
  description text NOT NULL,
  body text NOT NULL,
  files jsonb NOT NULL DEFAULT '[]',
  published_by jsonb NOT NULL,
  published_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (skill_id, version)
);

-- version 0: the latest.
CREATE TABLE skill_pins (
  project_id uuid NOT NULL REFERENCES projects,
  name text NOT NULL,
  version integer NOT NULL DEFAULT 0,
  disabled boolean NOT NULL DEFAULT false,
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (project_id, name)
);
