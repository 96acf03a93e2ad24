// Hybrid search over what a reader may see: words and meaning, fused by rank (spec: planner 4).

import {
  furthest,
  fuse,
  hasWords,
  lexicalOnly,
  listSize,
  snippet,
  type Found,
  type HitKind,
  type KnowledgeHit,
  type SearchHit,
} from '../domain/search.ts';
import type { Queryable } from './database.ts';
import { knowledgeSummaries, type KnowledgeReader } from './knowledge.ts';
import { scopeParameters, scopeSql, type SearchScope } from './search-scope.ts';

/** A query; `embedding`: of its text, made outside of any transaction. */
export interface Query {
  text: string;
  embedding: { model: string; embedding: readonly number[] } | undefined;
}

/** A document, as lists name it: kind, id and version. */
type DocumentKey = string;

/** Items and skills in the scope, best first. limit: 1-50. */
export async function searchHits(q: Queryable, scope: SearchScope, query: Query, limit: number): Promise<Found<SearchHit>> {
  const { ranked, ...told } = await rank(q, scope, query, limit);
  const documents = await readDocuments(q, ranked.map(({ id }) => id));
  const items = ranked.flatMap(({ id }) => {
    const found = documents.get(id);
    if (!found) return [];
    const { kind, ref, title, body } = found;
    return [{ kind: kind as HitKind, ref, title, snippet: snippet(body, query.text) }];
  });
  return { items, ...told };
}

/** Entries in the scope, best first, as the reader may see them. limit: 1-50. */
export async function searchEntries(
  q: Queryable,
  reader: KnowledgeReader,
  scope: SearchScope,
  query: Query,
  limit: number,
): Promise<Found<KnowledgeHit>> {
  const { ranked, ...told } = await rank(q, scope, query, limit);
  const documents = await readDocuments(q, ranked.map(({ id }) => id));
  const summaries = await knowledgeSummaries(q, reader, [...documents.values()].map(({ ref }) => ref));
  const entries = new Map(summaries.map((entry) => [entry.id, entry]));
  const items = ranked.flatMap(({ id, score }) => {
    const found = documents.get(id);
    const entry = found && entries.get(found.ref);
    return entry ? [{ entry: { ...entry, snippet: snippet(found.body, query.text) }, score }] : [];
  });
  return { items, ...told };
}

async function rank(
  q: Queryable,
  scope: SearchScope,
  query: Query,
  limit: number,
): Promise<{ ranked: { id: DocumentKey; score: number }[]; warning?: string }> {
  if (!hasWords(query.text)) return { ranked: [] };
  const vector = await vectorList(q, scope, query);
  const lexical = await lexicalList(q, scope, query.text);
  return { ranked: fuse([lexical, vector]).slice(0, limit), ...(query.embedding ? {} : { warning: lexicalOnly }) };
}

const keySql = `d.kind || ':' || d.id || ':' || d.version`;

/**
 * The 50 best by words. A hit must cover at least half of the query's weight: of the inverse document frequencies of its
 * words, counted among what the reader may see. Words come from PostgreSQL's parser and go back as quoted lexemes, so
 * that no operator of tsquery is ever made of them.
 */
export async function lexicalList(q: Queryable, scope: SearchScope, text: string): Promise<DocumentKey[]> {
  const rows = await q.query<{ key: DocumentKey }>(lexicalSql, [...scopeParameters(scope), text, listSize]);
  return rows.map(({ key }) => key);
}

// needed: a document that has none of these words can't cover half of the weight; frequent words are left to the others.
const lexicalSql = `
WITH lexemes AS MATERIALIZED (
  SELECT ('''' || replace(replace(lexeme, '\\', '\\\\'), '''', '''''') || '''')::tsquery AS query
  FROM unnest(to_tsvector('english', $6)) LIMIT 32
), total AS MATERIALIZED (
  SELECT count(*) AS n FROM search_documents d WHERE ${scopeSql}
), weighed AS MATERIALIZED (
  SELECT l.query, ln(1 + (n - df + 0.5) / (df + 0.5)) AS weight
  FROM total, lexemes l
  CROSS JOIN LATERAL (SELECT count(*) AS df FROM search_documents d WHERE d.words @@ l.query AND ${scopeSql}) c
), ordered AS MATERIALIZED (
  SELECT query, sum(weight) OVER (ORDER BY weight, query::text) AS up_to, sum(weight) OVER () / 2 AS half FROM weighed
), needed AS MATERIALIZED (
  SELECT string_agg(query::text, ' | ')::tsquery AS query FROM ordered WHERE up_to >= half
)
SELECT ${keySql} AS key
FROM search_documents d
CROSS JOIN LATERAL (
  SELECT sum(weight) AS covered, sum(weight * (1 + ts_rank(d.words, w.query))) AS score
  FROM weighed w WHERE d.words @@ w.query
) s
WHERE d.words @@ (SELECT query FROM needed) AND ${scopeSql} AND s.covered >= (SELECT min(half) FROM ordered)
ORDER BY s.score DESC, d.id LIMIT $7`;

/** The 50 nearest by meaning, none further than 0.85. Only vectors of the query's model and size are compared. */
export async function vectorList(q: Queryable, scope: SearchScope, query: Query): Promise<DocumentKey[]> {
  if (!query.embedding) return [];
  const { model, embedding } = query.embedding;
  const rows = await q.query<{ key: DocumentKey }>(vectorSql, [
    ...scopeParameters(scope),
    JSON.stringify(embedding),
    model,
    furthest,
    listSize,
  ]);
  return rows.map(({ key }) => key);
}

const vectorSql = `
WITH near AS MATERIALIZED (
  SELECT kind, id, version,
         CASE WHEN vector_dims(embedding) = vector_dims($6::vector) THEN embedding <=> $6::vector END AS distance
  FROM search_documents d WHERE model = $7 AND ${scopeSql}
)
SELECT ${keySql} AS key FROM near d WHERE distance <= $8 ORDER BY distance, id LIMIT $9`;

interface DocumentRow {
  key: DocumentKey;
  kind: string;
  ref: string;
  title: string;
  body: string;
}

/** Bodies: as much of them as a snippet is looked for in. */
async function readDocuments(q: Queryable, keys: readonly DocumentKey[]): Promise<Map<DocumentKey, DocumentRow>> {
  const parts = keys.map((key) => key.split(':'));
  const rows = await q.query<DocumentRow>(
    `SELECT ${keySql} AS key, d.kind, d.ref, d.title, left(d.body, 20000) AS body
     FROM unnest($1::text[], $2::uuid[], $3::integer[]) AS n (kind, id, version)
     JOIN search_documents d USING (kind, id, version)`,
    [parts.map(([kind]) => kind), parts.map(([, id]) => id), parts.map(([, , version]) => version)],
  );
  return new Map(rows.map((row) => [row.key, row]));
}
