// A socket's subscriptions: named by the client, unique, bounded, freed when they end (spec: planner 11).

import type { Action } from '../../domain/actor.ts';
import { conflict, DomainError, notFound } from '../../domain/errors.ts';
import type { OutputBody, StoredOutput } from '../../domain/output.ts';
import type { RunOutputBody } from '../../domain/run-output.ts';
import type { Connection, Realtime } from './connection.ts';
import type { Read, Reader } from './rights-watch.ts';
import type { RunPosition } from './run-position.ts';
import { watchPosition, type EventPosition, type Scope, type TextSoFar, type WatchPosition } from './streams.ts';

/** Subscriptions of one socket at most. */
export const maxSubscriptions = 200;

interface Subscription {
  scope: Scope;
  action: Action;
  stop(): void;
}

export class Subscriptions {
  readonly #connection: Connection;
  readonly #realtime: Realtime;
  readonly #open = new Map<string, Subscription>();
  /** Sessions whose last watch was answered with resync. */
  readonly #resynced = new Set<string>();

  constructor(connection: Connection, realtime: Realtime) {
    this.#connection = connection;
    this.#realtime = realtime;
  }

  /** Throws conflict when the name is taken or there are too many. */
  check(name: string): void {
    if (this.#open.has(name)) {
      throw conflict(`There is a subscription ${JSON.stringify(name)} already. Choose another name, or end it first.`);
    }
    if (this.#open.size >= maxSubscriptions) {
      throw conflict(`A socket has at most ${maxSubscriptions} subscriptions. End one first, or open another socket.`);
    }
  }

  /** Where a watch begins; remembers who had to reload. Errors: not_found, resync. */
  async place(session: string, from: number | undefined): Promise<WatchPosition> {
    try {
      const resynced = this.#resynced.has(session);
      const principal = this.#connection.principal();
      const position = await watchPosition(this.#realtime.app.database, principal, { session, from, resynced });
      this.#resynced.delete(session);
      return position;
    } catch (error) {
      if (error instanceof DomainError && error.code === 'resync') this.#resynced.add(session);
      throw error;
    }
  }

  watch(name: string, position: WatchPosition): void {
    let { soFar } = position;
    const stop = this.#realtime.outputs.watch(position.session, position.after, position.running !== undefined, {
      deliver: (row) => {
        const { session, turn, attempt, output } = row;
        const body = soFar ? joined(row, soFar) : row.body;
        soFar = undefined;
        this.#connection.notify('planner.output', { subscription: name, session, turn, attempt, output, ...body });
      },
      reader: this.#reader(name, position.scope, 'tracker.read'),
      buffered: () => this.#connection.buffered(),
      lagging: () => this.#closed(name, 'lagging'),
    });
    this.#add(name, { scope: position.scope, action: 'tracker.read', stop });
  }

  /** A run's outputs lie among the sessions' and are read by the same feed. */
  watchRun(name: string, position: RunPosition): void {
    const { run, scope, newest } = position;
    let { soFar } = position;
    const stop = this.#realtime.outputs.watch(run, position.after, position.running, {
      deliver: (row) => {
        const { attempt, output } = row;
        let body = row.body as unknown as RunOutputBody;
        if (soFar !== undefined && body.type === 'text' && output > newest) {
          if (!body.replace && attempt === soFar.attempt) {
            body = { type: 'text', text: soFar.text + body.text, replace: true };
          }
          soFar = undefined;
        }
        this.#connection.notify('run.output', { subscription: name, run, attempt, output, ...body });
      },
      reader: this.#reader(name, scope, 'bounded_run.read'),
      buffered: () => this.#connection.buffered(),
      lagging: () => this.#closed(name, 'lagging'),
    });
    this.#add(name, { scope, action: 'bounded_run.read', stop });
  }

  follow(name: string, position: EventPosition): void {
    const stop = this.#realtime.events.follow(position.stream, position.after, {
      deliver: ({ seq, type, entity_type, entity_id, entity_key, occurred_at, actor, payload }) =>
        this.#connection.notify('stream.event', {
          subscription: name,
          seq,
          type,
          entity_type,
          entity_id,
          ...(entity_key ? { entity_key } : {}),
          occurred_at,
          actor,
          payload,
        }),
      reader: this.#reader(name, position.scope, 'tracker.read'),
      buffered: () => this.#connection.buffered(),
      lagging: () => this.#closed(name, 'lagging'),
    });
    this.#add(name, { scope: position.scope, action: 'tracker.read', stop });
  }

  end(name: string): void {
    if (!this.#remove(name)) throw notFound(`There is no subscription ${JSON.stringify(name)}.`);
  }

  *reads(): Generator<Read> {
    for (const [name, { scope, action }] of this.#open) yield this.#reader(name, scope, action);
  }

  close(): void {
    for (const name of [...this.#open.keys()]) this.#remove(name);
  }

  #reader(name: string, scope: Scope, action: Action): Reader {
    return {
      ...scope,
      action,
      principal: () => this.#connection.principal(),
      forbidden: () => {
        // Meanwhile the name may have been freed and taken by another subscription.
        if (this.#open.get(name)?.scope === scope) this.#closed(name, 'forbidden');
      },
    };
  }

  #add(name: string, subscription: Subscription): void {
    this.#open.set(name, subscription);
    this.#realtime.app.metrics.subscriptions.inc();
    this.#realtime.rights.recheck(this.#connection.principal().subject);
  }

  #remove(name: string): boolean {
    const subscription = this.#open.get(name);
    if (!subscription) return false;
    this.#open.delete(name);
    subscription.stop();
    this.#realtime.app.metrics.subscriptions.dec();
    return true;
  }

  #closed(name: string, reason: 'lagging' | 'forbidden'): void {
    if (!this.#remove(name)) return;
    this.#realtime.app.metrics.streamsClosed.inc({ reason });
    this.#connection.notify('stream.closed', { subscription: name, reason });
  }
}

/** A text that goes on with one that the client does not have: all of it so far, as a replacement. */
function joined({ turn, attempt, body }: StoredOutput, soFar: TextSoFar): OutputBody {
  if (body.type !== 'text' || body.replace || turn !== soFar.turn || attempt !== soFar.attempt) return body;
  return { type: 'text', text: soFar.text + body.text, replace: true };
}
