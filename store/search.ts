// Hybrid search over what a reader may see: words and meaning, fused by rank (spec: planner 4).

import {
  furthest,
  fuse,
  hasWords,
  lexicalOnly,
  listSize,
  plainWords,
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

/** A document, as lists name it. */
export type DocumentKey = number;

/** Items and skills in the scope, best first. limit: 1-50. */
export async function searchHits(
  q: Queryable,
  scope: SearchScope,
  query: Query,
  limit: number,
): Promise<Found<SearchHit>> {
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

/**
 * The 50 best by words. A hit must cover at least half of the query's weight: of the inverse document frequencies of
 * its words, counted among what the reader may see. Words come from PostgreSQL's parser and go back as quoted lexemes,
 * so that no operator of tsquery is ever made of them.
 */
export async function lexicalList(q: Queryable, scope: SearchScope, text: string): Promise<DocumentKey[]> {
  const rows = await q.query<{ doc: DocumentKey }>(lexicalSql, [...scopeParameters(scope), plainWords(text), listSize]);
  return rows.map(({ doc }) => doc);
}

// needed: a document that has none of these words can't cover half of the weight; no frequent word is looked up alone.
const lexicalSql = `
WITH lexemes AS MATERIALIZED (
  SELECT ('''' || replace(replace(lexeme, '\\', '\\\\'), '''', '''''') || '''')::tsquery AS query
  FROM unnest(to_tsvector('english', $5))
), total AS MATERIALIZED (
  SELECT count(*) AS n FROM search_words d WHERE ${scopeSql}
), weighed AS MATERIALIZED (
  SELECT l.query, ln(1 + (n - df + 0.5) / (df + 0.5))::float8 AS weight
  FROM total, lexemes l
  CROSS JOIN LATERAL (SELECT count(*) AS df FROM search_words d WHERE d.words @@ l.query AND ${scopeSql}) c
), ordered AS MATERIALIZED (
  SELECT query, sum(weight) OVER (ORDER BY weight, query::text) AS up_to, sum(weight) OVER () / 2 AS half FROM weighed
), needed AS MATERIALIZED (
  SELECT string_agg(query::text, ' | ')::tsquery AS query FROM ordered WHERE up_to >= half
)
SELECT d.doc
FROM search_words d
CROSS JOIN LATERAL (
  SELECT sum(weight) AS covered, sum(weight * (1 + ts_rank(d.words, w.query))) AS score
  FROM weighed w WHERE d.words @@ w.query
) s
WHERE d.words @@ (SELECT query FROM needed) AND ${scopeSql} AND s.covered >= (SELECT min(half) FROM ordered)
ORDER BY s.score DESC, d.doc LIMIT $6`;

/** The 50 nearest by meaning, none further than 0.85. Only vectors of the query's model and size are compared. */
export async function vectorList(q: Queryable, scope: SearchScope, query: Query): Promise<DocumentKey[]> {
  if (!query.embedding) return [];
  const { model, embedding } = query.embedding;
  const rows = await q.query<{ doc: DocumentKey }>(vectorSql, [
    ...scopeParameters(scope),
    JSON.stringify(embedding),
    model,
    furthest,
    listSize,
  ]);
  return rows.map(({ doc }) => doc);
}

// Exact: an approximate index would lose hits of a reader who may see little among much.
const vectorSql = `
SELECT doc FROM (
  SELECT d.doc,
         CASE WHEN vector_dims(d.embedding) = vector_dims($5::halfvec) THEN d.embedding <=> $5::halfvec END AS distance
  FROM search_embeddings d WHERE d.model = $6 AND ${scopeSql}
  ORDER BY distance, d.doc LIMIT $8
) nearest
WHERE distance <= $7 ORDER BY distance, doc`;

interface DocumentRow {
  doc: DocumentKey;
  kind: string;
  ref: string;
  title: string;
  body: string;
}

/** Bodies: as much of them as a snippet is looked for in. */
async function readDocuments(q: Queryable, docs: readonly DocumentKey[]): Promise<Map<DocumentKey, DocumentRow>> {
  const rows = await q.query<DocumentRow>(
    `SELECT doc, kind, ref, title, left(body, 20000) AS body FROM search_documents WHERE doc = ANY ($1::bigint[])`,
    [docs],
  );
  return new Map(rows.map((row) => [row.doc, row]));
}
