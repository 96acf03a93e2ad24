-- What can be searched: a row an item, a published version of a skill, a knowledge entry (spec: planner 4). Written by the
-- indexer alone, which follows the events from its cursors.
CREATE EXTENSION IF NOT EXISTS vector;

-- version: a skill's, 0 elsewhere. organization_id: null for a skill of the platform; project_id: null for what has none.
-- type: a kind of item or of knowledge. ref: an item's key, a skill's name, an entry's id. hash: of title and body.
-- model: what the hash was embedded with; null: not embedded yet. A model without an embedding: the model refused the text.
CREATE TABLE search_documents (
  kind text NOT NULL CHECK (kind IN ('item', 'skill', 'knowledge')),
  id uuid NOT NULL,
  version integer NOT NULL DEFAULT 0,
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
  PRIMARY KEY (kind, id, version)
);
-- A search reads embeddings and words of many rows, and bodies of the few that are shown: only bodies lie apart.
ALTER TABLE search_documents
  ALTER COLUMN embedding SET STORAGE MAIN,
  ALTER COLUMN words SET STORAGE MAIN,
  SET (toast_tuple_target = 512);
CREATE INDEX search_documents_words ON search_documents USING gin (words);
CREATE INDEX search_documents_project ON search_documents (project_id, kind);
CREATE INDEX search_documents_organization ON search_documents (organization_id, kind);
CREATE INDEX search_documents_model ON search_documents (model);

-- Up to which event of a scope the documents are current.
CREATE TABLE search_cursors (
  scope text PRIMARY KEY,
  seq bigint NOT NULL
);
