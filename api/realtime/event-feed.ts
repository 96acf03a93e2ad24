// The events of all streams that this process's sockets follow, read by one reader (spec: planner 11, 12).

import type { Database } from '../../store/database.ts';
import { readEvents, type EventStream, type StreamedEvent } from '../../store/event-feed.ts';
import type { Listener } from '../../store/listener.ts';
import { Feed, type Target } from './feed.ts';
import { judge } from './rights-watch.ts';
import type { OutputFeedOptions } from './output-feed.ts';

interface Row {
  topic: string;
  event: StreamedEvent;
}

/** Without notifications streams are looked at at this multiple of `pollMs`. */
const quietRounds = 8;

export class EventFeed {
  readonly #feed: Feed<Row>;
  readonly #timer: NodeJS.Timeout;
  readonly #off: (() => void)[];

  constructor(database: Database, listener: Listener, options: OutputFeedOptions = {}) {
    this.#feed = new Feed<Row>(
      {
        async read(wanted, limit) {
          const streams = wanted.map(({ topic, after }) => ({ ...streamOf(topic), after }));
          const rows = await readEvents(database, streams, limit);
          return rows.map(({ position, event }) => ({ topic: wanted[position]!.topic, event }));
        },
        topicOf: (row) => row.topic,
        numberOf: (row) => row.event.seq,
        // Events are never removed; a stream of one entity has holes by nature.
        whole: async () => true,
        judge: (readers) => judge(database, readers),
      },
      options,
    );
    this.#off = [
      listener.on('events', (note) => {
        this.#feed.touch([...this.#feed.topics()].filter((topic) => streamOf(topic).scope === note.id));
      }),
      listener.onConnect(() => this.#feed.touch(this.#feed.topics())),
    ];
    let round = 0;
    this.#timer = setInterval(() => {
      round += 1;
      if (options.pollAll || round % quietRounds === 0) this.#feed.touch(this.#feed.topics());
    }, options.pollMs ?? 250);
  }

  /** Follows a stream from a seq on. Returns how to stop. */
  follow(stream: EventStream, after: number, target: Target<StreamedEvent>): () => void {
    return this.#feed.subscribe(topicOf(stream), after, {
      ...target,
      deliver: (row) => target.deliver(row.event),
    });
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    for (const off of this.#off) off();
    await this.#feed.close();
  }
}

function topicOf({ scope, entity_key }: EventStream): string {
  return entity_key === undefined ? scope : `${scope} ${entity_key}`;
}

function streamOf(topic: string): EventStream {
  const [scope = '', entity_key] = topic.split(' ');
  return { scope, ...(entity_key === undefined ? {} : { entity_key }) };
}
