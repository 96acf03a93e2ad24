// The local sentence model (spec: planner 4): all-MiniLM-L6-v2 in a thread, loaded when it is first needed.

import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { EmbeddingError, longestText, type Embedder, type Vector } from './embedder.ts';
import { hashedEmbedder } from './hashed.ts';
import type { MinilmFiles } from './minilm-files.ts';

export const minilmModel = 'all-MiniLM-L6-v2-int8';

const closeMs = 5_000;
/** Without work for so long, the model gives its memory back. */
const idleAfterMs = 600_000;

interface Job {
  text: string;
  resolve(vector: Vector): void;
  reject(error: EmbeddingError): void;
}

/** What the thread is told, and what it says. */
export type Request = { text: string } | { close: true };
export type Answer = { ready: true } | { vector: Vector } | { error: string };

/** Where the model does not run here at all, hashed words take its place, with a warning. */
export function minilmEmbedder(
  files: MinilmFiles,
  warn: (message: string) => void,
  idleMs = idleAfterMs,
): Embedder {
  const thread = new MinilmThread(files, idleMs);
  const hashed = hashedEmbedder();
  const run = async <T>(mine: () => Promise<T>, theirs: () => Promise<T>): Promise<T> => {
    if (thread.unusable) return theirs();
    try {
      return await mine();
    } catch (error) {
      if (!thread.unusable) throw error;
      if (!thread.told) warn(`The local sentence model does not run here: ${thread.unusable} Search goes by spelling.`);
      thread.told = true;
      return theirs();
    }
  };
  return {
    get model() {
      return thread.unusable ? hashed.model : minilmModel;
    },
    documents: (texts) =>
      run(
        async () => {
          const embedding = await Promise.all(texts.map((text) => thread.embed(text, false)));
          return { model: minilmModel, embedding };
        },
        () => hashed.documents(texts),
      ),
    query: (text) =>
      run(
        async () => ({ model: minilmModel, embedding: await thread.embed(text, true) }),
        () => hashed.query(text),
      ),
    close: () => thread.close(),
  };
}

/** One text at a time, so that a query waits for one document at most. */
class MinilmThread {
  /** Why it could not be loaded. */
  unusable: string | undefined;
  told = false;
  readonly #files: MinilmFiles;
  readonly #queries: Job[] = [];
  readonly #documents: Job[] = [];
  #worker: Worker | undefined;
  #ready = false;
  #running: Job | undefined;
  #idle: NodeJS.Timeout | undefined;
  #closed = false;
  readonly #idleMs: number;

  constructor(files: MinilmFiles, idleMs: number) {
    this.#files = files;
    this.#idleMs = idleMs;
  }

  embed(text: string, first: boolean): Promise<Vector> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(new EmbeddingError('The sentence model is closed.'));
      (first ? this.#queries : this.#documents).push({ text: text.slice(0, longestText), resolve, reject });
      this.#worker ??= this.#start();
      this.#next();
    });
  }

  /** What is being loaded or embedded is finished first: the runtime ends the process when it is stopped in between. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#idle);
    const worker = this.#worker;
    if (!worker) return;
    worker.ref();
    const ended = once(worker, 'exit');
    worker.postMessage({ close: true } satisfies Request);
    await Promise.race([ended, sleep(closeMs, undefined, { ref: false })]);
    this.#fail('The sentence model is closed.');
  }

  #start(): Worker {
    // The runtime would keep a device id in the home folder and tell its maker of its use. Read from the process's own
    // environment: a thread's is a copy.
    process.env['ORT_DISABLE_TELEMETRY'] = '1';
    const worker = new Worker(new URL('minilm-thread.ts', import.meta.url), { workerData: this.#files, execArgv: [] });
    worker.unref();
    let said = '';
    worker.on('message', (answer: Answer) => this.#worker === worker && this.#hear(answer));
    worker.on('error', (error) => void (said = error.message));
    worker.on('exit', () => {
      // It was let go while it was idle.
      if (this.#worker !== worker) return;
      if (!this.#ready && !this.#closed) this.unusable = `${said.split('\n')[0]}.`;
      this.#worker = undefined;
      this.#ready = false;
      this.#fail(this.#closed ? 'The sentence model is closed.' : `The sentence model's thread ended: ${said}.`);
    });
    return worker;
  }

  #hear(answer: Answer): void {
    const job = this.#running;
    if ('ready' in answer) this.#ready = true;
    else this.#running = undefined;
    if ('vector' in answer) job?.resolve(answer.vector);
    if ('error' in answer) job?.reject(new EmbeddingError(`The sentence model failed: ${answer.error}`));
    this.#next();
  }

  #next(): void {
    clearTimeout(this.#idle);
    if (!this.#ready || this.#running || this.#closed) return;
    this.#running = this.#queries.shift() ?? this.#documents.shift();
    if (!this.#running) {
      this.#worker?.unref();
      this.#idle = setTimeout(() => this.#letGo(), this.#idleMs).unref();
      return;
    }
    this.#worker?.ref();
    this.#worker?.postMessage({ text: this.#running.text } satisfies Request);
  }

  /** The next text loads the model anew. */
  #letGo(): void {
    this.#worker?.postMessage({ close: true } satisfies Request);
    this.#worker = undefined;
    this.#ready = false;
  }

  #fail(why: string): void {
    const jobs = [this.#running, ...this.#queries.splice(0), ...this.#documents.splice(0)];
    this.#running = undefined;
    for (const job of jobs) job?.reject(new EmbeddingError(why));
  }
}
