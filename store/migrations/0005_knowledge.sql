-- The knowledge base of an organization (spec: planner 4). projects and items hold keys, which never change.
CREATE TABLE knowledge_entries (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations,
  kind text NOT NULL CHECK (kind IN ('document', 'decision', 'note', 'debt')),
  title text NOT NULL,
  body text NOT NULL,
  projects text[] NOT NULL DEFAULT '{}',
  items text[] NOT NULL DEFAULT '{}',
  version integer NOT NULL DEFAULT 1,
  author text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX knowledge_entries_organization ON knowledge_entries (organization_id, id DESC);

-- Every version that ever was, the newest included. Immutable.
CREATE TABLE knowledge_versions (
  entry_id uuid NOT NULL REFERENCES knowledge_entries,
  version integer NOT NULL,
  kind text NOT NULL,
  title text NOT NULL,
  body text NOT NULL,
  projects text[] NOT NULL,
  items text[] NOT NULL,
  author text NOT NULL,
  actor jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (entry_id, version)
);
