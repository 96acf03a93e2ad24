// Hears what other processes committed: one dedicated connection with LISTEN, opened again when it breaks.

import pg from 'pg';
import { setTimeout as sleep } from 'node:timers/promises';
import { postgresChannel, unpack, type Channel, type Note } from './notifier.ts';

type Hear = (note: Note) => void;

export interface Listener {
  /** Calls `hear` for each note of a channel until the returned function is called. */
  on(channel: Channel, hear: Hear): () => void;
  /** Called after each (re)connection: what was missed meanwhile must be read from the tables. */
  onConnect(act: () => void): () => void;
  /** Resolves to true when a notification sent through the pool arrives here within `ms`. */
  selfTest(pool: pg.Pool, ms?: number): Promise<boolean>;
  close(): Promise<void>;
}

/** Milliseconds between looks whether the connection still carries anything; so long may each look take. */
const probeMs = 15_000;
const answerMs = 5_000;

export async function listen(url: string, name = 'planner-listener'): Promise<Listener> {
  const hearers = new Map<Channel, Set<Hear>>();
  const connectActs = new Set<() => void>();
  let client: pg.Client | undefined;
  let closed = false;

  const connect = async (): Promise<void> => {
    const next = new pg.Client({
      connectionString: url,
      application_name: name,
      keepAlive: true,
      connectionTimeoutMillis: answerMs,
      query_timeout: answerMs,
    });
    next.on('error', () => undefined);
    next.on('notification', (message) => {
      for (const note of unpack(message.payload ?? '')) {
        for (const hear of hearers.get(note.channel) ?? []) hear(note);
      }
    });
    try {
      await next.connect();
      await next.query(`LISTEN ${postgresChannel}`);
      if (closed) throw new Error('closed meanwhile');
    } catch (error) {
      void next.end().catch(() => undefined);
      throw error;
    }
    // A network that swallows everything tells nobody that the connection is dead.
    const probe = setInterval(() => {
      next.query('SELECT 1').catch(() => void next.end().catch(() => undefined));
    }, probeMs);
    next.on('end', () => {
      clearInterval(probe);
      void reconnect();
    });
    client = next;
    for (const act of connectActs) act();
  };

  const reconnect = async (): Promise<void> => {
    client = undefined;
    for (let wait = 50; !closed; wait = Math.min(wait * 2, 2_000)) {
      await sleep(wait);
      if (closed) return;
      try {
        await connect();
        return;
      } catch {
        // PostgreSQL is away; readers poll meanwhile.
      }
    }
  };

  await connect();
  const listener: Listener = {
    on(channel, hear) {
      const set = hearers.get(channel) ?? new Set();
      hearers.set(channel, set.add(hear));
      return () => void set.delete(hear);
    },
    onConnect(act) {
      connectActs.add(act);
      return () => void connectActs.delete(act);
    },
    async selfTest(pool, ms = 2_000) {
      const probe = `probe-${process.pid}-${Math.random().toString(36).slice(2)}`;
      return new Promise<boolean>((resolve) => {
        const off = listener.on('turns', (note) => {
          if (note.id === probe) finish(true);
        });
        const timer = setTimeout(() => finish(false), ms);
        const finish = (arrived: boolean): void => {
          clearTimeout(timer);
          off();
          resolve(arrived);
        };
        pool.query('SELECT pg_notify($1, $2)', [postgresChannel, `turns ${probe} 0\n`]).catch(() => finish(false));
      });
    },
    async close() {
      closed = true;
      const ended = client?.end().catch(() => undefined);
      await Promise.race([ended, sleep(1_000, undefined, { ref: false })]);
    },
  };
  return listener;
}
