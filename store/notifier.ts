// Wakes readers in other processes: collects what this process committed and notifies at most every 10 ms, outside the
// transactions it speaks of (a NOTIFY inside each would serialise all commits of the cluster behind one lock).

import type pg from 'pg';

export type Channel = 'outputs' | 'events' | 'turns' | 'cancels' | 'tokens' | 'runs' | 'run_cancels' | 'run_ends' | 'revalidations';

/**
 * outputs: session or bounded run, newest number. events: scope, newest seq. turns: a turn waits for its workflow. cancels: a turn's
 * cancellation was requested. tokens: a token was revoked. runs, run_cancels: the same for a bounded run; run_ends: it
 * ended, its host completes its artifacts. revalidations: one, or a schedule of them, was asked for something.
 */
export interface Note {
  channel: Channel;
  id: string;
  number?: number;
}

export const postgresChannel = 'planner';
const intervalMs = 10;
const payloadLimit = 7_900;

export class Notifier {
  readonly #pool: pg.Pool;
  #pending = new Map<string, Note>();
  #timer: NodeJS.Timeout | undefined;
  #lastSent = 0;
  #sending: Promise<void> | undefined;
  #closed = false;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  add(...notes: readonly Note[]): void {
    if (notes.length === 0 || this.#closed) return;
    for (const note of notes) {
      const key = `${note.channel} ${note.id}`;
      const known = this.#pending.get(key);
      if (!known || (note.number ?? 0) > (known.number ?? 0)) this.#pending.set(key, note);
    }
    this.#schedule();
  }

  /** Sends what is pending. A failure is swallowed: readers poll, so a lost notification costs time only. */
  async flush(): Promise<void> {
    await this.#sending;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#pending.size === 0) return this.#sending;
    const payloads = pack([...this.#pending.values()]);
    this.#pending = new Map();
    this.#lastSent = Date.now();
    this.#sending = this.#send(payloads);
    await this.#sending;
  }

  async close(): Promise<void> {
    await this.flush();
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  /** One statement at a time: while PostgreSQL hangs, what waits is one note an id. */
  #schedule(): void {
    if (this.#timer || this.#sending || this.#closed || this.#pending.size === 0) return;
    const wait = Math.max(0, this.#lastSent + intervalMs - Date.now());
    this.#timer = setTimeout(() => void this.flush(), wait);
  }

  async #send(payloads: readonly string[]): Promise<void> {
    try {
      await this.#pool.query('SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload', [
        postgresChannel,
        payloads,
      ]);
    } catch {
      // Lost.
    } finally {
      this.#sending = undefined;
      this.#schedule();
    }
  }
}

/** Notes as lines "channel id number", several lines a payload, each payload below PostgreSQL's limit. */
export function pack(notes: readonly Note[]): string[] {
  const payloads: string[] = [];
  let payload = '';
  for (const note of notes) {
    const line = `${note.channel} ${note.id} ${note.number ?? 0}\n`;
    if (payload.length + line.length > payloadLimit) {
      payloads.push(payload);
      payload = '';
    }
    payload += line;
  }
  if (payload !== '') payloads.push(payload);
  return payloads;
}

export function unpack(payload: string): Note[] {
  return payload
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [channel, id, number] = line.split(' ');
      return { channel: channel as Channel, id: id ?? '', number: Number(number) };
    });
}
