-- What can be searched: a row an item, a published skill, a knowledge entry (spec: planner 4). Written by the indexer alone,
-- which follows the events from its cursors.
CREATE EXTENSION IF NOT EXISTS vector;

-- organization_id: null for a skill of the platform; project_id: null for what has none. type: a kind of item or of knowledge.
-- ref: an item's key, a skill's name, an entry's id. hash: of title and body. model: what made the embedding; null: not embedded.
CREATE TABLE search_documents (
  kind text NOT NULL CHECK (kind IN ('item', 'skill', 'knowledge')),
  id uuid NOT NULL,
  organization_id uuid REFERENCES organizations,
  project_id uuid REFERENCES projects,
  type text,
  ref text NOT NULL,
  title text NOT NULL,
  body text NOT NULL,
  hash bytea NOT NULL,
  words tsvector NOT NULL,
  model text,
  embedding vector,
  indexed_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (kind, id)
);
CREATE INDEX search_documents_words ON search_documents USING gin (words);
CREATE INDEX search_documents_project ON search_documents (project_id, kind);
CREATE INDEX search_documents_organization ON search_documents (organization_id, kind);

-- Up to which event of a scope the documents are current.
CREATE TABLE search_cursors (
  scope text PRIMARY KEY,
  seq bigint NOT NULL
);
