// Reading events in order, as streams follow them: a project's, or one entity's (spec: planner 11, 12).

import type { StoredEvent } from '../domain/event.ts';
import type { Queryable } from './database.ts';

/** A stream of events: those of a scope, or those of the scope about one item, the edges that reach it included. */
export interface EventStream {
  scope: string;
  entity_key?: string;
}

export interface StreamedEvent extends StoredEvent {
  scope: string;
}

/** The events after the given numbers, for several streams in one query, in seq order, at most `limit` a stream. */
export async function readEvents(
  q: Queryable,
  wanted: readonly (EventStream & { after: number })[],
  limit: number,
): Promise<{ position: number; event: StreamedEvent }[]> {
  const rows = await q.query<StreamedEvent & { position: number }>(
    `SELECT (w.position - 1)::integer AS position, e.scope, e.seq, e.id, e.occurred_at, e.type, e.entity_type,
            e.entity_id, e.entity_key, e.actor, e.payload
     FROM unnest($1::text[], $2::text[], $3::bigint[]) WITH ORDINALITY AS w (scope, entity_key, after, position)
     CROSS JOIN LATERAL (SELECT * FROM events x
                         WHERE x.scope = w.scope AND x.seq > w.after
                           AND (w.entity_key IS NULL OR x.entity_key = w.entity_key
                                OR (x.entity_type = 'dependency' AND x.payload ->> 'to' = w.entity_key))
                         ORDER BY x.seq LIMIT $4) e
     ORDER BY w.position, e.seq`,
    [
      wanted.map((one) => one.scope),
      wanted.map((one) => one.entity_key ?? null),
      wanted.map((one) => one.after),
      limit,
    ],
  );
  return rows.map(({ position, ...event }) => ({ position, event }));
}

/** The scope's newest seq, and how many events of the stream lie after a number (counted up to `most` + 1). */
export async function measureEvents(
  q: Queryable,
  stream: EventStream,
  after: number | undefined,
  most: number,
): Promise<{ newest: number; following: number }> {
  const [row] = await q.query<{ newest: number; following: number }>(
    `SELECT coalesce((SELECT seq FROM event_counters WHERE scope = $1), 0) AS newest,
            (SELECT count(*) FROM (SELECT 1 FROM events WHERE scope = $1 AND seq > $3
                                     AND ($2::text IS NULL OR entity_key = $2
                                          OR (entity_type = 'dependency' AND payload ->> 'to' = $2))
                                   LIMIT $4) f) AS following`,
    [stream.scope, stream.entity_key ?? null, after ?? Number.MAX_SAFE_INTEGER, most + 1],
  );
  return row!;
}
