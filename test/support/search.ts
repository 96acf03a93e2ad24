// Search in tests: the local sentence model, and an index brought up to date at once.

import { longestText, openEmbedder, type Embedder } from '../../models/embeddings/index.ts';
import { toolsFolder } from '../../config/tools-folder.ts';
import type { Database } from '../../store/database.ts';
import type { Query } from '../../store/search.ts';
import { followScope, storeEmbeddings, unembedded, unfollowedScopes } from '../../store/search-index.ts';

/** The model that `npm test` fetches; a warning fails the test that is given it. */
export function localEmbedder(): Embedder {
  return openEmbedder({ endpoint: undefined, toolsDir: toolsFolder() }, (message) => {
    throw new Error(message);
  });
}

/** What the indexer does, without its lock and its loops. Without an embedder: words alone. */
export async function indexAll(database: Database, embedder?: Embedder): Promise<void> {
  for (const scope of await unfollowedScopes(database)) while (await followScope(database, scope));
  while (embedder) {
    const rows = await unembedded(database, embedder.model, 200, longestText);
    if (rows.length === 0) return;
    const { model, embedding } = await embedder.documents(rows.map(({ title, body }) => `${title}\n${body}`));
    await storeEmbeddings(database, model, rows.map((row, index) => ({ ...row, embedding: embedding[index] ?? null })));
  }
}

/** Vectors as a test says: `place` gives a text its angle in degrees; undefined: refused. */
export function planeEmbedder(
  place: (text: string) => number | undefined,
  model = 'plane',
): Embedder & { asked: string[] } {
  const asked: string[] = [];
  const vector = (text: string): number[] | undefined => {
    asked.push(text);
    const angle = place(text);
    return angle === undefined ? undefined : [Math.cos((angle * Math.PI) / 180), Math.sin((angle * Math.PI) / 180)];
  };
  return {
    model,
    asked,
    documents: async (texts) => ({ model, embedding: texts.map(vector) }),
    query: async (text) => ({ model, embedding: vector(text) ?? [0, 1] }),
    close: async () => undefined,
  };
}

export const lexical = (text: string): Query => ({ text, embedding: undefined });

/** However long it takes. */
export async function embedded(embedder: Embedder, text: string): Promise<Query> {
  return { text, embedding: await embedder.query(text) };
}

/** Discounted gain of the first ten, against the best possible order. */
export function ndcg(found: readonly string[], relevant: Readonly<Record<string, number>>): number {
  const gain = (grades: readonly number[]): number =>
    grades.slice(0, 10).reduce((sum, grade, index) => sum + (2 ** grade - 1) / Math.log2(index + 2), 0);
  const best = gain(Object.values(relevant).sort((a, b) => b - a));
  return gain(found.map((id) => relevant[id] ?? 0)) / best;
}
