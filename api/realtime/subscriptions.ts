// A socket's subscriptions: named by the client, unique, bounded, freed when they end (spec: planner 11).

import { conflict, notFound } from '../../domain/errors.ts';
import type { Connection, Realtime } from './connection.ts';
import type { Read } from './rights-watch.ts';
import type { EventPosition, Scope, WatchPosition } from './streams.ts';

/** Subscriptions of one socket at most. */
export const maxSubscriptions = 200;

interface Subscription {
  scope: Scope;
  stop(): void;
}

export class Subscriptions {
  readonly #connection: Connection;
  readonly #realtime: Realtime;
  readonly #open = new Map<string, Subscription>();

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

  watch(name: string, position: WatchPosition): void {
    const stop = this.#realtime.outputs.watch(position.session, position.after, position.running !== undefined, {
      deliver: ({ session, turn, attempt, output, body }) =>
        this.#connection.notify('planner.output', { subscription: name, session, turn, attempt, output, ...body }),
      buffered: () => this.#connection.buffered(),
      lagging: () => this.#closed(name, 'lagging'),
    });
    this.#add(name, { scope: position.scope, stop });
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
      buffered: () => this.#connection.buffered(),
      lagging: () => this.#closed(name, 'lagging'),
    });
    this.#add(name, { scope: position.scope, stop });
  }

  end(name: string): void {
    if (!this.#remove(name)) throw notFound(`There is no subscription ${JSON.stringify(name)}.`);
  }

  *reads(): Generator<Read> {
    for (const [name, { scope }] of this.#open) {
      yield { ...scope, forbidden: () => this.#closed(name, 'forbidden') };
    }
  }

  close(): void {
    for (const name of [...this.#open.keys()]) this.#remove(name);
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
