// The outputs of all sessions that this process's sockets watch, read by one reader (spec: planner 7, orchestration
// Streaming).

import type { StoredOutput } from '../../domain/output.ts';
import type { Database } from '../../store/database.ts';
import type { Listener } from '../../store/listener.ts';
import { readOutputs } from '../../planner/conversation.ts';
import { Feed, type FeedOptions, type Target } from './feed.ts';
import { judge } from './rights-watch.ts';

export interface OutputFeedOptions extends FeedOptions {
  /** How often sessions with a running turn are looked at without any notification. Default 250 ms. */
  pollMs?: number;
  /** No notifications arrive: all watched sessions are polled at `pollMs`. */
  pollAll?: boolean;
}

/** Idle sessions are polled at this multiple of `pollMs`. */
const idleRounds = 8;

export class OutputFeed {
  readonly #feed: Feed<StoredOutput>;
  readonly #active = new Set<string>();
  readonly #timer: NodeJS.Timeout;
  readonly #off: (() => void)[];

  constructor(database: Database, listener: Listener, options: OutputFeedOptions = {}) {
    this.#feed = new Feed<StoredOutput>(
      {
        read: (wanted, limit) =>
          readOutputs(database, wanted.map(({ topic, after }) => ({ session: topic, after })), limit),
        topicOf: (row) => row.session,
        numberOf: (row) => row.output,
        async whole(session, after) {
          const [row] = await database.query<{ pruned: number }>(
            'SELECT pruned FROM planner_output_counters WHERE session_id = $1',
            [session],
          );
          return row !== undefined && row.pruned <= after;
        },
        judge: (readers) => judge(database, readers),
      },
      options,
    );
    this.#off = [
      listener.on('outputs', (note) => this.#feed.touch([note.id])),
      listener.onConnect(() => this.#feed.touch(this.#feed.topics())),
    ];
    let round = 0;
    this.#timer = setInterval(() => {
      round += 1;
      const all = options.pollAll === true || round % idleRounds === 0;
      this.#feed.touch(all ? this.#feed.topics() : this.#active);
    }, options.pollMs ?? 250);
  }

  /** Watches a session from a number on. `running`: a turn is under way. Returns how to stop. */
  watch(session: string, after: number, running: boolean, target: Target<StoredOutput>): () => void {
    if (running) this.#active.add(session);
    const stop = this.#feed.subscribe(session, after, {
      ...target,
      deliver: (row) => {
        if (row.body.type === 'done') this.#active.delete(session);
        else this.#active.add(session);
        target.deliver(row);
      },
    });
    return () => {
      stop();
      if (!this.#feed.has(session)) this.#active.delete(session);
    };
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    for (const off of this.#off) off();
    await this.#feed.close();
  }
}
