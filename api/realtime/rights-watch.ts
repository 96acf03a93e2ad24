// Tells sockets when what let them in is gone: a token that was revoked, a right to read that was lost (spec: planner
// 5, 11). Notifications say when to look; a look every second catches those that were lost.

import type { Action, Principal } from '../../domain/actor.ts';
import type { Database, Queryable } from '../../store/database.ts';
import type { Listener } from '../../store/listener.ts';
import { rightsOfSubjects } from '../../store/rights.ts';
import { revokedAmong } from '../../store/tokens.ts';
import { logError } from '../../telemetry/log.ts';

/** Something that a socket follows, and the right that it needs there. */
export interface Read {
  action: Action;
  project_id: string;
  organization_id: string;
  forbidden(): void;
}

/** One who follows something. */
export interface Reader extends Read {
  principal(): Principal;
}

/** Ends what may not be read any more: one read of all the readers' rights, as they stand now (spec: planner 5). */
export async function judge(q: Queryable, readers: readonly Reader[]): Promise<void> {
  const subjects = new Set(readers.map((reader) => reader.principal().subject));
  const rightsOf = await rightsOfSubjects(q, [...subjects]);
  for (const reader of readers) if (!rightsOf(reader.principal())(reader.action, reader)) reader.forbidden();
}

/** A socket that is signed in. */
export interface SignedIn {
  /** The token's id; undefined for one that can't be revoked here. */
  token(): string | undefined;
  principal(): Principal;
  reads(): Iterable<Read>;
  revoked(): void;
}

/** Least time between two looks that notifications ask for. */
const throttleMs = 100;

export class RightsWatch {
  readonly #database: Database;
  readonly #watched = new Set<SignedIn>();
  /** Per subject: which role bindings it had at the last look. Bindings are made and deleted, never changed. */
  #bindings = new Map<string, string>();
  /** Subjects to judge at the next look although their bindings may be the same. */
  #due = new Set<string>();
  readonly #timer: NodeJS.Timeout;
  readonly #off: (() => void)[];
  #soon: NodeJS.Timeout | undefined;
  #looking = false;
  #closed = false;

  constructor(database: Database, listener: Listener, everyMs = 1_000) {
    this.#database = database;
    this.#timer = setInterval(() => void this.#look(), everyMs);
    this.#off = [
      listener.on('tokens', ({ id }) => {
        for (const one of [...this.#watched]) if (one.token() === id) one.revoked();
      }),
      listener.on('events', () => {
        if (this.#watched.size > 0) this.#soon ??= setTimeout(() => void this.#look(), throttleMs);
      }),
      listener.onConnect(() => void this.#look()),
    ];
  }

  add(one: SignedIn): () => void {
    this.#watched.add(one);
    return () => void this.#watched.delete(one);
  }

  /**
   * Has the subject judged at the next look although its bindings may be the same: it came with another token, or
   * follows something new whose check a revocation may have overtaken.
   */
  recheck(subject: string): void {
    this.#due.add(subject);
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#timer);
    clearTimeout(this.#soon);
    for (const off of this.#off) off();
  }

  async #look(): Promise<void> {
    this.#soon = undefined;
    if (this.#looking || this.#closed || this.#watched.size === 0) return;
    this.#looking = true;
    try {
      await this.#lookAtTokens();
      await this.#lookAtRights();
    } catch (error) {
      if (!this.#closed) logError('rights: reading failed', error);
    } finally {
      this.#looking = false;
    }
  }

  async #lookAtTokens(): Promise<void> {
    const watched = [...this.#watched];
    const ids = new Set(watched.map((one) => one.token()).filter((id) => id !== undefined));
    const revoked = new Set(await revokedAmong(this.#database, [...ids]));
    for (const one of watched) if (revoked.has(one.token() ?? '')) one.revoked();
  }

  async #lookAtRights(): Promise<void> {
    const due = this.#due;
    this.#due = new Set();
    try {
      await this.#judgeChanged(due);
    } catch (error) {
      // Nobody was judged for certain: all are at the next look.
      for (const subject of due) this.#due.add(subject);
      this.#bindings.clear();
      throw error;
    }
  }

  async #judgeChanged(due: ReadonlySet<string>): Promise<void> {
    const subjects = [...new Set([...this.#watched].map((one) => one.principal().subject))];
    const rows = await this.#database.query<{ subject: string; bindings: string }>(
      `SELECT w.subject, coalesce(md5(string_agg(b.id::text, ',' ORDER BY b.id)), '') AS bindings
       FROM unnest($1::text[]) AS w (subject) LEFT JOIN role_bindings b USING (subject) GROUP BY w.subject`,
      [subjects],
    );
    const changed = new Set(
      rows
        .filter((row) => due.has(row.subject) || this.#bindings.get(row.subject) !== row.bindings)
        .map((row) => row.subject),
    );
    this.#bindings = new Map(rows.map((row) => [row.subject, row.bindings]));
    const readers = [...this.#watched]
      .filter((one) => changed.has(one.principal().subject))
      .flatMap((one) => [...one.reads()].map((read) => ({ ...read, principal: () => one.principal() })));
    if (readers.length > 0) await judge(this.#database, readers);
  }
}
