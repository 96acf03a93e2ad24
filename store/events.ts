// Reading the event log by what it is about (spec: planner 12).

import { eventScope, type StoredEvent } from '../domain/event.ts';
import type { Queryable } from './database.ts';

type EventRow = Omit<StoredEvent, 'organization_id' | 'project_id' | 'entity_key'> & {
  organization_id: string | null;
  project_id: string | null;
  entity_key: string | null;
};

const columns =
  'seq, id, occurred_at, organization_id, project_id, type, entity_type, entity_id, entity_key, actor, payload';

/** An item's events and those of its edges, oldest first. limit: default 100; `after` and `next`: seq. */
export async function itemEvents(
  q: Queryable,
  projectId: string,
  key: string,
  window: { limit?: number; after?: number },
): Promise<{ items: StoredEvent[]; next?: number }> {
  const limit = Math.min(Math.max(window.limit ?? 100, 1), 500);
  const rows = await q.query<EventRow>(
    `SELECT ${columns} FROM events
     WHERE scope = $1 AND seq > $2
       AND (entity_key = $3 OR (entity_type = 'dependency' AND payload ->> 'to' = $3))
     ORDER BY seq LIMIT $4`,
    [eventScope({ project_id: projectId }), window.after ?? 0, key, limit + 1],
  );
  const items = rows.slice(0, limit).map(stored);
  return { items, ...(rows.length > limit ? { next: items.at(-1)!.seq } : {}) };
}

/** What was written to an item after a version: its events, oldest first. */
export async function itemWritesAfter(
  q: Queryable,
  projectId: string,
  key: string,
  version: number,
): Promise<StoredEvent[]> {
  const rows = await q.query<EventRow>(
    `SELECT ${columns} FROM events
     WHERE scope = $1 AND entity_key = $2 AND entity_type = 'item' AND (payload ->> 'version')::integer > $3
     ORDER BY seq`,
    [eventScope({ project_id: projectId }), key, version],
  );
  return rows.map(stored);
}

function stored(row: EventRow): StoredEvent {
  const { organization_id, project_id, entity_key, ...rest } = row;
  return {
    ...rest,
    ...(organization_id ? { organization_id } : {}),
    ...(project_id ? { project_id } : {}),
    ...(entity_key ? { entity_key } : {}),
  };
}
