// Writing what search reads: documents that follow the event log, and their embeddings (spec: planner 4).

import { createHash } from 'node:crypto';
import { plainWords } from '../domain/search.ts';
import { transaction, type Database, type Queryable, type Tx } from './database.ts';

/** Events that one transaction follows at most. */
const eventsAtOnce = 50;
/** Characters of bodies that one statement makes words of, more only for one body: some seconds on a busy computer. */
const lengthAtOnce = 1_000_000;

type Kind = 'item' | 'skill' | 'knowledge';

interface Document {
  id: string;
  version: number;
  owner: string;
  type: string | null;
  ref: string;
  title: string;
  body: string;
}

/** The scopes with events that the documents do not know yet. */
export async function unfollowedScopes(q: Queryable): Promise<string[]> {
  const rows = await q.query<{ scope: string }>(
    `SELECT c.scope FROM event_counters c LEFT JOIN search_cursors s USING (scope)
     WHERE c.seq > coalesce(s.seq, 0) ORDER BY c.scope`,
  );
  return rows.map(({ scope }) => scope);
}

/**
 * Brings the documents up to the scope's next events (50 at most) and moves its cursor, in one transaction: whoever is
 * stopped in between has done nothing, and what is followed twice is written once. Returns false when nothing is left.
 */
export async function followScope(database: Database, scope: string): Promise<boolean> {
  return transaction(database, async (tx) => {
    await tx.query('INSERT INTO search_cursors (scope, seq) VALUES ($1, 0) ON CONFLICT DO NOTHING', [scope]);
    const locked = 'SELECT seq FROM search_cursors WHERE scope = $1 FOR UPDATE';
    const [cursor] = await tx.query<{ seq: number }>(locked, [scope]);
    const events = await tx.query<{ seq: number; type: string; entity_id: string }>(
      'SELECT seq, type, entity_id FROM events WHERE scope = $1 AND seq > $2 ORDER BY seq LIMIT $3',
      [scope, cursor?.seq ?? 0, eventsAtOnce],
    );
    if (events.length === 0) return false;
    for (const kind of ['item', 'skill', 'knowledge'] as const) {
      const ids = events.filter(({ type }) => written[kind].has(type)).map(({ entity_id }) => entity_id);
      if (ids.length > 0) await writeDocuments(tx, kind, await tx.query<Document>(sources[kind], [[...new Set(ids)]]));
    }
    // A rebuild that takes the cursor away meanwhile has it begin anew.
    await tx.query('UPDATE search_cursors SET seq = $2 WHERE scope = $1', [scope, events.at(-1)!.seq]);
    return true;
  });
}

/** Events after which a document may read differently. */
const written: Record<Kind, ReadonlySet<string>> = {
  item: new Set(['item.created', 'item.updated']),
  skill: new Set(['skill.published']),
  knowledge: new Set(['knowledge.created', 'knowledge.updated']),
};

/** Versions of skills never change: those that are written are left out, unless a rebuild is under way. */
const sources: Record<Kind, string> = {
  item: `
    SELECT i.id, 0 AS version, i.project_id AS owner, i.kind AS type, i.key AS ref, i.title,
           concat_ws(E'\\n', nullif(i.description, ''),
                     (SELECT string_agg(c, E'\\n') FROM jsonb_array_elements_text(i.acceptance_criteria) c)) AS body
    FROM items i WHERE i.id = ANY ($1::uuid[])`,
  skill: `
    SELECT s.id, v.version, s.id AS owner, NULL AS type, s.name AS ref, s.name AS title,
           v.description || E'\\n' || v.body AS body
    FROM skills s JOIN skill_versions v ON v.skill_id = s.id WHERE s.id = ANY ($1::uuid[])
      AND NOT EXISTS (SELECT 1 FROM search_documents d
                      WHERE d.kind = 'skill' AND d.id = v.skill_id AND d.version = v.version AND d.hash <> '')`,
  knowledge: `
    SELECT id, 0 AS version, organization_id AS owner, kind AS type, id::text AS ref, title, body
    FROM knowledge_entries WHERE id = ANY ($1::uuid[])`,
};

async function writeDocuments(tx: Tx, kind: Kind, documents: readonly Document[]): Promise<void> {
  const ordered = [...documents].sort((a, b) => (a.id < b.id ? -1 : 1) || a.version - b.version);
  for (let from = 0; from < ordered.length; ) {
    let to = from + 1;
    let length = ordered[from]!.body.length;
    while (to < ordered.length && (length += ordered[to]!.body.length) <= lengthAtOnce) to++;
    await writeSome(tx, kind, ordered.slice(from, to));
    from = to;
  }
}

async function writeSome(tx: Tx, kind: Kind, documents: readonly Document[]): Promise<void> {
  const column = <Key extends keyof Document>(key: Key): Document[Key][] => documents.map((document) => document[key]);
  await tx.query(writeSql, [
    kind,
    column('id'),
    column('version'),
    column('owner'),
    column('type'),
    column('ref'),
    column('title'),
    column('body'),
    documents.map(({ title, body }) => createHash('sha256').update(JSON.stringify([title, body])).digest()),
    documents.map(({ title, ref }) => plainWords(kind === 'item' ? `${ref} ${title}` : title)),
    documents.map(({ body }) => cutWords(plainWords(body))),
  ]);
}

// English words are stemmed and its stop words left out; words of other languages pass as they are, or shortened alike
// on both sides. An item's key is found as its two words. What reads as before is left alone, its embedding too.
const writeSql = `
WITH new AS (
  SELECT * FROM unnest($2::uuid[], $3::integer[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[],
                       $9::bytea[], $10::text[], $11::text[])
    AS n (id, version, owner, type, ref, title, body, hash, heading, words)
), written AS (
  INSERT INTO search_documents AS d (kind, id, version, owner, type, ref, title, body, hash)
  SELECT $1, id, version, owner, type, ref, title, body, hash FROM new
  ON CONFLICT (kind, id, version) DO UPDATE
    SET type = excluded.type, title = excluded.title, body = excluded.body, hash = excluded.hash, model = NULL,
        indexed_at = now()
    WHERE d.hash <> excluded.hash OR d.type IS DISTINCT FROM excluded.type
  RETURNING doc, id, version
), unembedded AS (
  DELETE FROM search_embeddings e USING written w WHERE e.doc = w.doc
)
INSERT INTO search_words AS d (doc, owner, type, version, words)
SELECT w.doc, n.owner, n.type, n.version,
       setweight(to_tsvector('english', n.heading), 'A') || setweight(to_tsvector('english', n.words), 'B')
FROM written w JOIN new n USING (id, version)
ON CONFLICT (doc) DO UPDATE SET type = excluded.type, words = excluded.words`;

/** What PostgreSQL can surely make a list of words of: that has less than 1 MiB. */
function cutWords(words: string): string {
  return Buffer.byteLength(words) <= 400_000 ? words : Buffer.from(words).subarray(0, 400_000).toString();
}

export interface Unembedded {
  doc: number;
  hash: Buffer;
  title: string;
  body: string;
}

/** Documents that the model did not embed as they now read: new and changed ones first, then those of another model. */
export async function unembedded(
  q: Queryable,
  model: string,
  limit: number,
  textLength: number,
): Promise<Unembedded[]> {
  const columns = 'doc, hash, title, left(body, $1) AS body';
  return q.query<Unembedded>(
    `(SELECT ${columns} FROM search_documents WHERE model IS NULL ORDER BY indexed_at DESC LIMIT $2)
     UNION ALL
     (SELECT ${columns} FROM search_documents WHERE model < $3 OR model > $3 LIMIT $2)
     LIMIT $2`,
    [textLength, limit, model],
  );
}

/** Those that were changed meanwhile stay as they are. null: the model refuses the text, until it changes. */
export async function storeEmbeddings(
  q: Queryable,
  model: string,
  rows: readonly (Unembedded & { embedding: readonly number[] | null })[],
): Promise<void> {
  await q.query(storeSql, [
    model,
    rows.map(({ doc }) => doc),
    rows.map(({ hash }) => hash),
    rows.map(({ embedding }) => embedding && JSON.stringify(embedding)),
  ]);
}

const storeSql = `
WITH made AS (
  UPDATE search_documents d SET model = $1
  FROM unnest($2::bigint[], $3::bytea[], $4::text[]) AS n (doc, hash, embedding)
  WHERE d.doc = n.doc AND d.hash = n.hash
  RETURNING d.doc, d.owner, d.type, d.version, n.embedding
), refused AS (
  DELETE FROM search_embeddings e USING made m WHERE e.doc = m.doc AND m.embedding IS NULL
)
INSERT INTO search_embeddings (doc, owner, type, version, model, embedding)
SELECT doc, owner, type, version, $1, embedding::halfvec FROM made WHERE embedding IS NOT NULL
ON CONFLICT (doc) DO UPDATE SET model = excluded.model, embedding = excluded.embedding`;

/** A model that answers with another dimension than before is another model: what it made is made anew. */
export async function dropOtherDimensions(q: Queryable, model: string, dimensions: number): Promise<void> {
  await q.query(
    `UPDATE search_documents d SET model = NULL FROM search_embeddings e
     WHERE e.doc = d.doc AND e.model = $1 AND vector_dims(e.embedding) <> $2`,
    [model, dimensions],
  );
}

export interface IndexState {
  documents: { kind: string; model: string | null; count: number }[];
  /** Scopes with events that are not followed yet. */
  waiting: number;
}

export async function indexState(q: Queryable): Promise<IndexState> {
  const documents = await q.query<IndexState['documents'][number]>(
    'SELECT kind, model, count(*) AS count FROM search_documents GROUP BY kind, model ORDER BY kind, model',
  );
  return { documents, waiting: (await unfollowedScopes(q)).length };
}

/** All documents are written and embedded anew, from the first event on. Until then they are found as they are. */
export async function rebuildSearch(database: Database): Promise<void> {
  await transaction(
    database,
    async (tx) => {
      await tx.query('DELETE FROM search_cursors');
      await tx.query("UPDATE search_documents SET hash = ''");
    },
    { statementTimeout: 120_000 },
  );
}
