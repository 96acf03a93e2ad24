// Embeddings of an OpenAI-compatible endpoint: batched, retried, of whatever dimension (spec: planner 4).

import OpenAI from 'openai';
import { redacted } from '../redact.ts';
import { EmbeddingError, longestText, normalized, type Embedder, type Vector } from './embedder.ts';

export interface EmbeddingEndpoint {
  /** `https://host/v1` */
  baseUrl: string;
  model: string;
  /** Empty: it wants none. */
  apiKey: string;
}

const batchSize = 64;
const batchTimeoutMs = 30_000;
/** A query is given up after 1 s anyway. */
const queryTimeoutMs = 1_000;
/** How long an endpoint that answered a probe is believed. */
const soundMs = 10_000;
/** What is kept of a text that is too long for the model. Code units. */
const shortText = 1_000;

export function remoteEmbedder(endpoint: EmbeddingEndpoint): Embedder {
  const client = new OpenAI({
    baseURL: endpoint.baseUrl.replace(/\/+$/, ''),
    apiKey: endpoint.apiKey === '' ? 'none' : endpoint.apiKey,
    adminAPIKey: null,
    organization: null,
    project: null,
    logLevel: 'off',
  });
  const { model } = endpoint;
  let soundUntil = 0;

  async function ask(input: readonly string[], options: { maxRetries: number; timeout: number }): Promise<Vector[]> {
    const wanted = { model, input: input.map(sendable), encoding_format: 'float' as const };
    const { data } = await client.embeddings.create(wanted, options);
    return vectorsOf(data, input.length);
  }

  /** A batch that is refused is halved, a text that is refused is cut, then given up: it must not hold up others. */
  async function embed(texts: readonly string[]): Promise<(Vector | undefined)[]> {
    try {
      return await ask(texts, { maxRetries: 3, timeout: batchTimeoutMs });
    } catch (error) {
      if (!isRefusal(error)) throw problemOf(error, endpoint);
      await probe();
      const [only] = texts;
      if (texts.length > 1) {
        const half = Math.ceil(texts.length / 2);
        return [...(await embed(texts.slice(0, half))), ...(await embed(texts.slice(half)))];
      }
      return only !== undefined && only.length > shortText ? embed([only.slice(0, shortText)]) : [undefined];
    }
  }

  /** An endpoint that refuses a plain word refuses everybody: it is about the key or the settings, not about a text. */
  async function probe(): Promise<void> {
    if (Date.now() < soundUntil) return;
    await ask(['planner'], { maxRetries: 3, timeout: batchTimeoutMs }).catch((error: unknown) => {
      throw problemOf(error, endpoint);
    });
    soundUntil = Date.now() + soundMs;
  }

  return {
    model,
    async documents(texts) {
      const embedding: (Vector | undefined)[] = [];
      for (let from = 0; from < texts.length; from += batchSize) {
        embedding.push(...(await embed(texts.slice(from, from + batchSize))));
      }
      return { model, embedding };
    },
    async query(text) {
      try {
        const [vector] = await ask([text], { maxRetries: 0, timeout: queryTimeoutMs });
        return { model, embedding: vector! };
      } catch (error) {
        throw problemOf(error, endpoint);
      }
    },
    close: async () => undefined,
  };
}

/** Endpoints refuse an empty text. */
const sendable = (text: string): string => text.slice(0, longestText).toWellFormed().trim() || '-';

/** In the order of the texts, whatever the answer's is. */
function vectorsOf(data: unknown, count: number): Vector[] {
  const vectors: Vector[] = [];
  for (const [position, one] of (Array.isArray(data) ? data : []).entries()) {
    const { index = position, embedding } = (one ?? {}) as { index?: unknown; embedding?: unknown };
    const sound = Array.isArray(embedding) && embedding.length > 0 && embedding.every(Number.isFinite);
    if (sound && typeof index === 'number') vectors[index] = normalized(embedding as Vector);
  }
  const [first] = vectors;
  if (vectors.length !== count || vectors.includes(undefined as never) || first === undefined) {
    throw new EmbeddingError('The embeddings endpoint did not answer with one vector a text.');
  }
  return vectors;
}

/** Of what was sent, not of the key, the address or the rate. */
const isRefusal = (error: unknown): boolean =>
  error instanceof OpenAI.APIError && (error.status === 400 || error.status === 413 || error.status === 422);

function problemOf(error: unknown, { apiKey }: EmbeddingEndpoint): EmbeddingError {
  if (error instanceof EmbeddingError) return error;
  if (error instanceof OpenAI.APIConnectionTimeoutError) {
    return new EmbeddingError('The embeddings endpoint is silent.');
  }
  if (error instanceof OpenAI.APIConnectionError) {
    return new EmbeddingError("The embeddings endpoint can't be reached. Check PLANNER_EMBEDDINGS_BASE_URL.");
  }
  const said = redacted(error instanceof Error ? error.message : String(error), [apiKey]);
  return new EmbeddingError(`The embeddings endpoint failed: ${said}`);
}
