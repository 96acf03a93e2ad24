-- What can be searched: a document an item, a published version of a skill, a knowledge entry (spec: planner 4). Written by
-- the indexer alone, which follows the events from its cursors. pgvector 0.7 or newer.
CREATE EXTENSION IF NOT EXISTS vector;

-- version: a skill's, 0 elsewhere. owner: whoever may read what is the owner's may find it: an item's project, an entry's
-- organization, the skill itself. type: a kind of item or of knowledge. ref: an item's key, a skill's name, an entry's id.
-- hash: of title and body. model: what embedded them; null: not embedded as they now read.
CREATE TABLE search_documents (
  doc bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('item', 'skill', 'knowledge')),
  id uuid NOT NULL,
  version integer NOT NULL DEFAULT 0,
  owner uuid NOT NULL,
  type text,
  ref text NOT NULL,
  title text NOT NULL,
  body text NOT NULL,
  hash bytea NOT NULL,
  model text,
  indexed_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (kind, id, version)
);
CREATE INDEX search_documents_model ON search_documents (model);

-- A search reads words and embeddings of many documents and shows few: they lie apart, in narrow rows.
CREATE TABLE search_words (
  doc bigint PRIMARY KEY REFERENCES search_documents ON DELETE CASCADE,
  owner uuid NOT NULL,
  type text,
  version integer NOT NULL,
  words tsvector NOT NULL
);
ALTER TABLE search_words ALTER COLUMN words SET STORAGE EXTERNAL;
CREATE INDEX search_words_words ON search_words USING gin (words);
CREATE INDEX search_words_owner ON search_words (owner) INCLUDE (type, version);

-- Of any dimension; only those of one model and dimension are compared. Half precision: a cosine needs no more, and a search
-- reads them all.
CREATE TABLE search_embeddings (
  doc bigint PRIMARY KEY REFERENCES search_documents ON DELETE CASCADE,
  owner uuid NOT NULL,
  type text,
  version integer NOT NULL,
  model text NOT NULL,
  embedding halfvec NOT NULL
);
ALTER TABLE search_embeddings ALTER COLUMN embedding SET STORAGE MAIN;
CREATE INDEX search_embeddings_owner ON search_embeddings (owner);

-- Up to which event of a scope the documents are current.
CREATE TABLE search_cursors (
  scope text PRIMARY KEY,
  seq bigint NOT NULL
);
