// One reader a process for all that its sockets follow: topics of numbered rows, each subscriber with its own last
// number. Replay and live are the same thing: what lies after a subscriber's number is read and handed on in order. A
// notification only says when to look; so nothing is lost with it, and no hand-over can race.

import { logError } from '../../telemetry/log.ts';
import type { Reader } from './rights-watch.ts';

export interface Source<Row> {
  /** Rows after the given numbers, ascending within each topic, at most `limit` each, in one query. */
  read(wanted: readonly { topic: string; after: number }[], limit: number): Promise<Row[]>;
  topicOf(row: Row): string;
  numberOf(row: Row): number;
  /** False when rows after `after` are gone for good. Asked only where the rows leave a hole after it. */
  whole(topic: string, after: number): Promise<boolean>;
  /** Ends those who may no longer read, by rights as they stand now. Asked once a batch, for all that it goes to. */
  judge?(readers: readonly Reader[]): Promise<void>;
}

export interface Target<Row> {
  deliver(row: Row): void;
  /** Whose right to read is judged between reading rows and handing them on; none: nobody's. */
  reader?: Reader;
  /** Bytes that wait for the reader. */
  buffered(): number;
  /** The subscription ended: it fell too far behind. */
  lagging(): void;
}

interface Subscriber<Row> {
  target: Target<Row>;
  last: number;
  /** Has once had all there was. From then on a full buffer ends it; before, it only has to wait. */
  live: boolean;
  pausedAt: number | undefined;
}

interface Topic<Row> {
  subscribers: Set<Subscriber<Row>>;
  dirty: boolean;
}

export interface FeedOptions {
  /** Rows of a topic that are read at once. Default 200. */
  pageRows?: number;
  /** Bytes that may wait for a reader. Default 4 MiB. */
  bufferBytes?: number;
  /** How long a replay may wait for a reader that takes nothing. Default 30 s. */
  patienceMs?: number;
}

const topicsAtOnce = 100;
const retryMs = 250;
const resumeMs = 25;

export class Feed<Row> {
  readonly #source: Source<Row>;
  readonly #topics = new Map<string, Topic<Row>>();
  readonly #pageRows: number;
  readonly #bufferBytes: number;
  readonly #patienceMs: number;
  #running: Promise<void> | undefined;
  #again = false;
  #retry: NodeJS.Timeout | undefined;
  #resume: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(source: Source<Row>, options: FeedOptions = {}) {
    this.#source = source;
    this.#pageRows = options.pageRows ?? 200;
    this.#bufferBytes = options.bufferBytes ?? 4 * 1024 * 1024;
    this.#patienceMs = options.patienceMs ?? 30_000;
  }

  /** Hands the rows after a number to the target, in order, each once, until the returned function is called. */
  subscribe(topic: string, after: number, target: Target<Row>): () => void {
    const entry = this.#topics.get(topic) ?? { subscribers: new Set(), dirty: true };
    this.#topics.set(topic, entry);
    const subscriber: Subscriber<Row> = { target, last: after, live: false, pausedAt: undefined };
    entry.subscribers.add(subscriber);
    this.touch([topic]);
    return () => this.#remove(topic, subscriber);
  }

  has(topic: string): boolean {
    return this.#topics.has(topic);
  }

  topics(): IterableIterator<string> {
    return this.#topics.keys();
  }

  /** Says that these topics may have news. */
  touch(topics: Iterable<string>): void {
    let any = false;
    for (const topic of topics) {
      const entry = this.#topics.get(topic);
      if (!entry) continue;
      entry.dirty = true;
      any = true;
    }
    if (any) this.#start();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retry);
    clearTimeout(this.#resume);
    this.#topics.clear();
    await this.#running;
  }

  #remove(topic: string, subscriber: Subscriber<Row>): void {
    const entry = this.#topics.get(topic);
    if (entry?.subscribers.delete(subscriber) && entry.subscribers.size === 0) this.#topics.delete(topic);
  }

  #start(): void {
    if (this.#closed) return;
    if (this.#running) {
      this.#again = true;
      return;
    }
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
      if (this.#again) this.#start();
    });
  }

  async #run(): Promise<void> {
    do {
      this.#again = false;
      const dirty = [...this.#topics].filter(([, entry]) => entry.dirty);
      for (let next = 0; next < dirty.length; next += topicsAtOnce) {
        if (!(await this.#look(dirty.slice(next, next + topicsAtOnce)))) return;
      }
      await new Promise((resolve) => setImmediate(resolve));
    } while (this.#again && !this.#closed);
  }

  /** False when reading failed: it is tried again later. */
  async #look(dirty: readonly [string, Topic<Row>][]): Promise<boolean> {
    for (const [, entry] of dirty) entry.dirty = false;
    try {
      // Those who have the most first, so that a long replay never delays what is live.
      await this.#round(wantedOf(dirty, (numbers) => Math.max(...numbers)));
      await this.#round(wantedOf(dirty, (numbers) => behind(numbers)));
      return true;
    } catch (error) {
      if (this.#closed) return false;
      logError('feed: reading failed', error);
      for (const [, entry] of dirty) entry.dirty = true;
      this.#again = false;
      clearTimeout(this.#retry);
      this.#retry = setTimeout(() => this.#start(), retryMs);
      return false;
    }
  }

  async #round(wanted: { topic: string; after: number }[]): Promise<void> {
    if (wanted.length === 0) return;
    const rows = await this.#source.read(wanted, this.#pageRows);
    const runs = Map.groupBy(rows, (row) => this.#source.topicOf(row));
    const judged = await this.#judge(runs.keys());
    for (const { topic, after } of wanted) {
      const run = runs.get(topic) ?? [];
      const first = run[0];
      const hole = first !== undefined && this.#source.numberOf(first) !== after + 1;
      const whole = !hole || (await this.#source.whole(topic, after));
      this.#hand(topic, after, run, whole, judged);
    }
  }

  /**
   * Whoever subscribes to these topics now and may still read. Rights are read after the rows: one that was lost before
   * a row was committed keeps that row from its reader (spec: planner 5).
   */
  async #judge(topics: Iterable<string>): Promise<ReadonlySet<Subscriber<Row>>> {
    const judged = new Set([...topics].flatMap((topic) => [...(this.#topics.get(topic)?.subscribers ?? [])]));
    const readers = [...judged].flatMap(({ target }) => target.reader ?? []);
    if (readers.length > 0) await this.#source.judge?.(readers);
    return judged;
  }

  /** A run holds all that follows `after`, up to its last row: whoever has at least `after` can go on with it. */
  #hand(
    topic: string,
    after: number,
    run: readonly Row[],
    whole: boolean,
    judged: ReadonlySet<Subscriber<Row>>,
  ): void {
    const entry = this.#topics.get(topic);
    if (!entry) return;
    const end = run.length > 0 ? this.#source.numberOf(run.at(-1)!) : after;
    const cut = run.length >= this.#pageRows;
    for (const subscriber of [...entry.subscribers]) {
      if (subscriber.last < after || (run.length > 0 && !judged.has(subscriber))) {
        this.#dirty(entry, subscriber);
      } else if (!whole && subscriber.last === after) {
        this.#end(topic, subscriber);
      } else {
        this.#deliver(topic, subscriber, run);
        if (!cut && subscriber.last >= end) subscriber.live = true;
        else if (subscriber.last < end || cut) this.#dirty(entry, subscriber);
      }
    }
  }

  #dirty(entry: Topic<Row>, subscriber: Subscriber<Row>): void {
    if (subscriber.pausedAt !== undefined) return;
    entry.dirty = true;
    this.#again = true;
  }

  #deliver(topic: string, subscriber: Subscriber<Row>, run: readonly Row[]): void {
    if (subscriber.pausedAt !== undefined) return;
    for (const row of run) {
      const number = this.#source.numberOf(row);
      if (number <= subscriber.last) continue;
      const waiting = subscriber.target.buffered();
      if (subscriber.live && waiting > this.#bufferBytes) return this.#end(topic, subscriber);
      if (!subscriber.live && waiting > this.#bufferBytes / 4) {
        subscriber.pausedAt = Date.now();
        this.#resume ??= setTimeout(() => this.#wake(), resumeMs);
        return;
      }
      subscriber.target.deliver(row);
      subscriber.last = number;
    }
  }

  #end(topic: string, subscriber: Subscriber<Row>): void {
    this.#remove(topic, subscriber);
    subscriber.target.lagging();
  }

  /** Lets replays go on whose readers have taken what waited; gives up on those that take nothing. */
  #wake(): void {
    this.#resume = undefined;
    let waiting = false;
    const ready: string[] = [];
    for (const [topic, entry] of this.#topics) {
      for (const subscriber of [...entry.subscribers]) {
        if (subscriber.pausedAt === undefined) continue;
        if (subscriber.target.buffered() <= this.#bufferBytes / 8) {
          subscriber.pausedAt = undefined;
          ready.push(topic);
        } else if (Date.now() - subscriber.pausedAt > this.#patienceMs) {
          this.#end(topic, subscriber);
        } else {
          waiting = true;
        }
      }
    }
    if (waiting && !this.#closed) this.#resume = setTimeout(() => this.#wake(), resumeMs);
    this.touch(ready);
  }
}

function wantedOf<Row>(
  dirty: readonly [string, Topic<Row>][],
  choose: (numbers: number[]) => number | undefined,
): { topic: string; after: number }[] {
  return dirty.flatMap(([topic, entry]) => {
    const numbers = [...entry.subscribers].filter((one) => one.pausedAt === undefined).map((one) => one.last);
    const after = numbers.length === 0 ? undefined : choose(numbers);
    return after === undefined ? [] : [{ topic, after }];
  });
}

/** The smallest number, when not all are the same. */
function behind(numbers: readonly number[]): number | undefined {
  const least = Math.min(...numbers);
  return least < Math.max(...numbers) ? least : undefined;
}
