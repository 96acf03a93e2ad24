// Streamed text on its way to watchers: all of a process's turns share one INSERT every 25 ms, under each turn's fence.
// (spec: orchestration "Streaming")

import type { OutputBody } from '../domain/output.ts';
import type { Database } from '../store/database.ts';

export interface DeltaTarget {
  session: string;
  turn: string;
  /** The attempt of the model call, shown to watchers. */
  attempt: number;
  fence: number;
}

export interface DeltaStream {
  push(text: string): void;
  /** Everything pushed so far. */
  readonly text: string;
  /** Ends the stream; returns the output that holds what was not yet written, for the caller's own transaction. */
  finish(): Promise<OutputBody | undefined>;
}

interface Stream {
  target: DeltaTarget;
  whole: string;
  pending: string;
  /** A write failed, perhaps after it took effect: the next one says all of it again. */
  replace: boolean;
  begun: boolean;
  onLost(): void;
}

const intervalMs = 25;
const retryMs = 250;

export class DeltaWriter {
  readonly #database: Database;
  readonly #waiting = new Set<Stream>();
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> = Promise.resolve();
  #busy = false;

  constructor(database: Database) {
    this.#database = database;
  }

  /** `onLost` is called when the turn has ended or a newer attempt holds it: nothing more of this stream is written. */
  open(target: DeltaTarget, onLost: () => void): DeltaStream {
    const stream: Stream = { target, whole: '', pending: '', replace: false, begun: false, onLost };
    return {
      push: (text) => {
        stream.whole += text;
        stream.pending += text;
        this.#waiting.add(stream);
        this.#schedule(stream.begun ? intervalMs : 0);
        stream.begun = true;
      },
      get text() {
        return stream.whole;
      },
      finish: async () => {
        this.#waiting.delete(stream);
        while (this.#busy) await this.#flushing;
        this.#waiting.delete(stream);
        if (stream.replace) return { type: 'text', text: stream.whole, replace: true };
        return stream.pending === '' ? undefined : { type: 'text', text: stream.pending };
      },
    };
  }

  #schedule(wait: number): void {
    if (this.#busy) return;
    if (this.#timer && wait > 0) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#flushing = this.#flush();
    }, wait);
  }

  async #flush(): Promise<void> {
    this.#timer = undefined;
    this.#busy = true;
    const streams = [...this.#waiting].sort((a, b) => (a.target.turn < b.target.turn ? -1 : 1));
    this.#waiting.clear();
    const bodies = streams.map((stream): OutputBody =>
      stream.replace
        ? { type: 'text', text: stream.whole, replace: true }
        : { type: 'text', text: stream.pending },
    );
    const lengths = streams.map((stream) => stream.pending.length);
    let wait = intervalMs;
    try {
      const live = await this.#write(streams, bodies);
      for (const [index, stream] of streams.entries()) {
        stream.pending = stream.pending.slice(lengths[index]);
        stream.replace = false;
        if (!live.has(stream.target.turn)) {
          this.#waiting.delete(stream);
          stream.onLost();
        }
      }
    } catch {
      // The statement may have been committed before the connection broke: saying all again is right either way.
      for (const stream of streams) {
        stream.replace = true;
        this.#waiting.add(stream);
      }
      wait = retryMs;
    } finally {
      this.#busy = false;
      if (this.#waiting.size > 0) this.#schedule(wait);
    }
  }

  async #write(streams: readonly Stream[], bodies: readonly OutputBody[]): Promise<Set<string>> {
    const targets = streams.map((stream) => stream.target);
    const rows = await this.#database.query<{ turn_id: string; session_id: string; number: number }>(writeSql, [
      targets.map((target) => target.session),
      targets.map((target) => target.turn),
      targets.map((target) => target.fence),
      targets.map((target) => target.attempt),
      bodies.map((body) => JSON.stringify(body)),
    ]);
    this.#database.notifier.add(
      ...rows.map((row) => ({ channel: 'outputs' as const, id: row.session_id, number: row.number })),
    );
    return new Set(rows.map((row) => row.turn_id));
  }
}

// A session has one open turn, so each session occurs once: one number each. Turns are locked before counters, each in order.
const writeSql = `
WITH new AS (
  SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::integer[], $5::jsonb[])
    AS n (session_id, turn_id, fence, attempt, body)
), live AS (
  SELECT t.id FROM planner_turns t
  WHERE t.id = ANY ($2::uuid[]) AND t.status = 'active'
    AND t.fence = (SELECT n.fence FROM new n WHERE n.turn_id = t.id)
  ORDER BY t.id FOR NO KEY UPDATE
), counted AS (
  INSERT INTO planner_output_counters AS c (session_id, number)
  SELECT n.session_id, 1 FROM new n JOIN live l ON l.id = n.turn_id ORDER BY n.session_id
  ON CONFLICT (session_id) DO UPDATE SET number = c.number + 1
  RETURNING session_id, number
)
INSERT INTO planner_outputs (session_id, number, turn_id, attempt, type, body)
SELECT n.session_id, c.number, n.turn_id, n.attempt, 'text', n.body
FROM new n JOIN counted c USING (session_id)
RETURNING turn_id, session_id, number`;
