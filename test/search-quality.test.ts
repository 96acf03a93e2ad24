// How well the search finds what was meant: sixty texts, fifty labelled queries (spec: planner 4).

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fuse } from '../domain/search.ts';
import type { Embedder } from '../models/embeddings/index.ts';
import { knowledgeScope } from '../store/search-scope.ts';
import { lexicalList, vectorList, type DocumentKey } from '../store/search.ts';
import { insertKnowledge } from '../store/knowledge.ts';
import { actorOf } from '../domain/actor.ts';
import { documents, queries } from './fixtures/search/labelled.ts';
import { embedded, indexAll, localEmbedder, ndcg } from './support/search.ts';
import { createTracker, type Tracker } from './support/tracker.ts';

let t: Tracker;
let embedder: Embedder;
const names = new Map<DocumentKey, string>();

beforeAll(async () => {
  t = await createTracker();
  embedder = localEmbedder();
  const writer = { organization: t.organization, principal: t.admin, actor: actorOf(t.admin) };
  await t.run(async (tx) => {
    for (const [, title, body] of documents) await insertKnowledge(tx, writer, { kind: 'note', title, body });
  });
  await indexAll(t.database, embedder);
  const rows = await t.database.query<{ doc: number; title: string }>('SELECT doc, title FROM search_documents');
  for (const { doc, title } of rows) names.set(doc, documents.find(([, known]) => known === title)![0]);
});
afterAll(async () => {
  await embedder.close();
  await t.drop();
});

interface Quality {
  lexical: number;
  vector: number;
  fused: number;
}

async function measure(): Promise<Quality> {
  const scope = knowledgeScope(t.organization.id);
  const sums: Quality = { lexical: 0, vector: 0, fused: 0 };
  const nameOf = (doc: DocumentKey): string => names.get(doc)!;
  for (const [text, relevant] of queries) {
    const lists = [
      await lexicalList(t.database, scope, text),
      await vectorList(t.database, scope, await embedded(embedder, text)),
    ];
    sums.lexical += ndcg(lists[0]!.map(nameOf), relevant);
    sums.vector += ndcg(lists[1]!.map(nameOf), relevant);
    sums.fused += ndcg(fuse(lists).map(({ id }) => nameOf(id)), relevant);
  }
  const { lexical, vector, fused } = sums;
  const count = queries.length;
  return { lexical: lexical / count, vector: vector / count, fused: fused / count };
}

describe('spec: planner 4: what is found', () => {
  // Without the gate, plain fusion comes to .81 here, worse than meaning alone.
  test('spec: planner 4.6, 4.7: fused search is better than words alone and than meaning alone (nDCG@10 on the labelled queries)', async () => {
    const { lexical, vector, fused } = await measure();
    expect(lexical).toBeGreaterThan(0.2);
    expect(vector).toBeGreaterThan(0.83);
    expect(fused).toBeGreaterThan(0.855);
    expect(fused - vector).toBeGreaterThan(0.01);
  });
});
