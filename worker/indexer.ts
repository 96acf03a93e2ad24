// Keeps what search reads in step with the event log, and embeds it (spec: planner 4). One at a time in the whole
// installation; the others wait for its lock.

import { longestText, type Embedded, type Embedder, type Vector } from '../models/embeddings/index.ts';
import { isConnectionError, type Database } from '../store/database.ts';
import { tryHold, type HeldLock } from '../store/held-lock.ts';
import type { Listener } from '../store/listener.ts';
import {
  dropOtherDimensions,
  followScope,
  storeEmbeddings,
  unembedded,
  unfollowedScopes,
  type Unembedded,
} from '../store/search-index.ts';
import { startLoops, task } from './loops.ts';

export interface IndexerOptions {
  database: Database;
  listener: Listener;
  embedder: Embedder;
  warn(message: string, error?: unknown): void;
  intervals?: Partial<IndexerIntervals>;
}

/** Milliseconds. */
export interface IndexerIntervals {
  /** Looks for events, should a notification be lost, and for the lock. */
  poll: number;
  /** After a failed embedding, doubled up to `longest`. */
  retry: number;
  longest: number;
}

export interface Indexer {
  /** What the model is making is left to the next indexer. */
  close(): Promise<void>;
}

/** What an embedder makes of a batch, or why it did not. */
type Made = Embedded<(Vector | undefined)[]> | Error;

interface Batch {
  documents: readonly Unembedded[];
  /** Absent: the model is at it. */
  made?: Made;
}

const lockKey = 0x73726368;
const defaults: IndexerIntervals = { poll: 5_000, retry: 1_000, longest: 60_000 };
/** Small, so that little is lost with a process. */
const batchSize = 32;
/** Events that come together are followed together, milliseconds. */
const gatherMs = 50;

export function startIndexer(options: IndexerOptions): Indexer {
  const { database, listener, embedder, warn } = options;
  const intervals = { ...defaults, ...options.intervals };
  let lock: HeldLock | undefined;
  let closing = false;
  let wait = 0;
  let embedAgainAt = 0;
  let knownSize: string | undefined;
  let batch: Batch | undefined;

  async function isLeader(): Promise<boolean> {
    if (!lock?.held) {
      await lock?.release();
      lock = await tryHold(database.url, lockKey, 'planner-indexer');
    }
    return lock !== undefined;
  }

  async function follow(): Promise<void> {
    for (const scope of await unfollowedScopes(database)) {
      try {
        while (!closing && (await followScope(database, scope)));
      } catch (error) {
        // What is wrong with one scope must not keep the others from being followed.
        if (isConnectionError(error)) throw error;
        warn(`Events of ${scope} are not followed for now; what they changed is not found by search`, error);
      }
    }
  }

  /** Stores what the model has made and asks for the next batch. Never waits for the model: words don't, either. */
  async function embed(): Promise<void> {
    if (batch && !batch.made) return;
    if (batch?.made) await store(batch.documents, batch.made);
    batch = undefined;
    if (closing || Date.now() < embedAgainAt) return;
    const documents = await unembedded(database, embedder.model, batchSize, longestText);
    if (documents.length === 0) return;
    const asked: Batch = { documents };
    batch = asked;
    void embedder
      .documents(documents.map(({ title, body }) => `${title}\n${body}`))
      .catch((error: unknown) => error)
      .then((made) => {
        asked.made = made as Made;
        index.run();
      });
  }

  async function store(documents: readonly Unembedded[], made: Made): Promise<void> {
    if ('embedding' in made) {
      const { model, embedding } = made;
      await noteSize(model, embedding.find((vector) => vector !== undefined)?.length);
      await storeEmbeddings(
        database,
        model,
        documents.map((document, at) => ({ ...document, embedding: embedding[at] ?? null })),
      );
      wait = 0;
      return;
    }
    if (wait === 0) warn('Documents are not embedded for now; they are found by their words alone', made);
    wait = Math.min(wait === 0 ? intervals.retry : wait * 2, intervals.longest);
    embedAgainAt = Date.now() + wait;
    index.later(wait);
  }

  async function noteSize(model: string, dimensions: number | undefined): Promise<void> {
    const size = `${model} ${dimensions}`;
    if (dimensions === undefined || size === knownSize) return;
    await dropOtherDimensions(database, model, dimensions);
    knownSize = size;
  }

  const index = task(
    'indexing',
    async () => {
      if (!(await isLeader())) return;
      await follow();
      if (!closing && lock?.held) await embed();
    },
    warn,
  );

  // Whoever does not hold the lock asks for it at intervals only.
  const wake = (): void => void (lock?.held && index.later(gatherMs));
  const loops = startLoops([[index, intervals.poll]], [listener.on('events', wake), listener.onConnect(wake)]);
  index.run();
  return {
    async close() {
      closing = true;
      await loops.close();
      await lock?.release();
    },
  };
}
