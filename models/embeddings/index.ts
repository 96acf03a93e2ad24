// Embeddings: the front door. Which model makes them, and a query's, which must not take long (spec: planner 4).

import { setTimeout as sleep } from 'node:timers/promises';
import { hasWords } from '../../domain/search.ts';
import { EmbeddingError, type Embedded, type Embedder, type Vector } from './embedder.ts';
import { hashedEmbedder } from './hashed.ts';
import { minilmEmbedder } from './minilm.ts';
import { findMinilm } from './minilm-files.ts';
import { remoteEmbedder, type EmbeddingEndpoint } from './remote.ts';

export { EmbeddingError, longestText, type Embedded, type Embedder, type Vector } from './embedder.ts';
export type { EmbeddingEndpoint } from './remote.ts';

export interface EmbeddingSettings {
  /** Undefined: the local model. */
  endpoint: EmbeddingEndpoint | undefined;
  /** Where the local model lies. */
  toolsDir: string;
}

/** The configured endpoint, else the local sentence model, else, with a warning, hashed words. */
export function openEmbedder(settings: EmbeddingSettings, warn: (message: string) => void): Embedder {
  if (settings.endpoint) return remoteEmbedder(settings.endpoint);
  const files = findMinilm(settings.toolsDir);
  if (files) return minilmEmbedder(files, warn);
  warn(
    'The local sentence model is not there, so search goes by spelling instead of meaning. "npm start" fetches it; ' +
      'or set PLANNER_EMBEDDINGS_BASE_URL and PLANNER_EMBEDDINGS_MODEL.',
  );
  return hashedEmbedder();
}

/** Embeds the text of a query; undefined: it could not, or not in time. */
export type EmbedQuery = (text: string) => Promise<Embedded<Vector> | undefined>;

/** With an embedder, of a text that has words: `embedQuery`. Else never, and no warning. */
export function queryEmbedder(embedder: Embedder | undefined, warn: (message: string) => void): EmbedQuery {
  return async (text) => (embedder && hasWords(text) ? embedQuery(embedder, text, warn) : undefined);
}

/** Milliseconds that a search waits for its query's embedding (spec: planner 4). */
const patienceMs = 1_000;

/** Undefined, and a warning, when it fails or takes longer than 1 s: the search is lexical only then. Never throws. */
export async function embedQuery(
  embedder: Embedder,
  text: string,
  warn: (message: string) => void,
): Promise<Embedded<Vector> | undefined> {
  const late = new AbortController();
  try {
    return await Promise.race([
      embedder.query(text),
      sleep(patienceMs, undefined, { signal: late.signal }).then(() => {
        throw new EmbeddingError(`it took longer than ${patienceMs} ms`);
      }),
    ]);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    warn(`A query was not embedded, its search is lexical only: ${why}`);
    return undefined;
  } finally {
    late.abort();
  }
}
