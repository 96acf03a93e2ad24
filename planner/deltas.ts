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
  /** Its first text has been on its way. */
  begun: boolean;
  onLost(): void;
}

/** What became of a stream's text: stored under a number, void as the turn is another's, or neither yet. */
interface Written {
  number: number | null;
  lost: boolean;
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
    if (this.#busy || (this.#timer && wait > 0)) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#flushing = this.#flush();
    }, wait);
  }

  async #flush(): Promise<void> {
    this.#timer = undefined;
    this.#busy = true;
    const streams = [...this.#waiting];
    this.#waiting.clear();
    const bodies = streams.map((stream): OutputBody =>
      stream.replace
        ? { type: 'text', text: stream.whole, replace: true }
        : { type: 'text', text: stream.pending },
    );
    const lengths = streams.map((stream) => stream.pending.length);
    for (const stream of streams) stream.begun = true;
    let failed = false;
    try {
      const written = await this.#write(streams, bodies);
      for (const [index, stream] of streams.entries()) this.#settle(stream, lengths[index]!, written[index]!);
    } catch {
      // The statement may have been committed before the connection broke: saying all again is right either way.
      for (const stream of streams) {
        stream.replace = true;
        this.#waiting.add(stream);
      }
      failed = true;
    } finally {
      this.#busy = false;
      const first = [...this.#waiting].some((stream) => !stream.begun);
      if (this.#waiting.size > 0) this.#schedule(failed ? retryMs : first ? 0 : intervalMs);
    }
  }

  #settle(stream: Stream, length: number, { number, lost }: Written): void {
    if (number !== null) {
      stream.pending = stream.pending.slice(length);
      stream.replace = false;
    } else if (lost) {
      this.#waiting.delete(stream);
      stream.onLost();
    } else {
      this.#waiting.add(stream);
    }
  }

  async #write(streams: readonly Stream[], bodies: readonly OutputBody[]): Promise<Written[]> {
    const targets = streams.map((stream) => stream.target);
    const rows = await this.#database.query<Written & { session_id: string }>(writeSql, [
      targets.map((target) => target.session),
      targets.map((target) => target.turn),
      targets.map((target) => target.fence),
      targets.map((target) => target.attempt),
      bodies.map((body) => JSON.stringify(body)),
    ]);
    for (const { session_id, number } of rows) {
      if (number !== null) this.#database.notifier.add({ channel: 'outputs', id: session_id, number });
    }
    return rows;
  }
}

// A session has one open turn and a turn one fence, so each session is written once: one number each. Turns are locked
// before counters. A turn that another transaction has locked is passed over, and holds up nobody: its text is written
// by a later flush. A process may hold two attempts of one turn for a moment; only the fence's holder is written.
const writeSql = `
WITH new AS (
  SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::integer[], $5::jsonb[])
    WITH ORDINALITY AS n (session_id, turn_id, fence, attempt, body, position)
), live AS (
  SELECT n.* FROM new n JOIN planner_turns t ON t.id = n.turn_id
  WHERE t.status = 'active' AND t.fence = n.fence
  ORDER BY t.id FOR NO KEY UPDATE OF t SKIP LOCKED
), counted AS (
  INSERT INTO planner_output_counters AS c (session_id, number)
  SELECT session_id, 1 FROM live ORDER BY session_id
  ON CONFLICT (session_id) DO UPDATE SET number = c.number + 1
  RETURNING session_id, number
), stored AS (
  INSERT INTO planner_outputs (session_id, number, turn_id, attempt, type, body)
  SELECT l.session_id, c.number, l.turn_id, l.attempt, 'text', l.body
  FROM live l JOIN counted c USING (session_id)
)
SELECT n.session_id, c.number,
       NOT EXISTS (SELECT FROM planner_turns t
                   WHERE t.id = n.turn_id AND t.status = 'active' AND t.fence = n.fence) AS lost
FROM new n LEFT JOIN (live l JOIN counted c USING (session_id)) ON l.position = n.position
ORDER BY n.position`;
