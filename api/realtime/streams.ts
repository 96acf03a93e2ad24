// What a socket may follow, and where each stream stands (spec: planner 5, 11).

import type { Principal } from '../../domain/actor.ts';
import { DomainError, invalid, notFound } from '../../domain/errors.ts';
import { firstCharacters, storable } from '../../domain/text.ts';
import type { Database, Queryable } from '../../store/database.ts';
import { measureEvents, type EventStream } from '../../store/event-feed.ts';
import { visibleProject } from '../../store/projects.ts';
import { rightsOf } from '../../store/rights.ts';
import { authorizeWatch } from '../../planner/conversation.ts';

export interface Scope {
  project_id: string;
  organization_id: string;
}

/** Events are replayed up to this many. */
export const maxReplay = 1_000;

export interface EventPosition {
  stream: EventStream;
  scope: Scope;
  /** The scope's newest seq. */
  newest: number;
  /** The seq to go on after. */
  after: number;
}

/** Where to begin in `project:<KEY>` or `item:<KEY>`. Errors: invalid_argument, not_found, forbidden, resync. */
export async function eventPosition(
  q: Queryable,
  principal: Principal,
  name: string,
  from: number | undefined,
): Promise<EventPosition> {
  const { stream, scope } = await findStream(q, principal, name);
  const { newest, following } = await measureEvents(q, stream, from, maxReplay);
  if (from !== undefined && from > newest) throw resync(newest, 'That seq lies ahead of the stream.');
  if (following > maxReplay) throw resync(newest, `More than ${maxReplay} events to replay.`);
  return { stream, scope, newest, after: from ?? newest };
}

async function findStream(
  q: Queryable,
  principal: Principal,
  name: string,
): Promise<{ stream: EventStream; scope: Scope }> {
  const colon = name.indexOf(':');
  const kind = name.slice(0, colon);
  const key = name.slice(colon + 1);
  if (kind === 'project' && key !== '') {
    const project = await visibleProject(q, principal, key, 'tracker.read');
    const scope = { project_id: project.id, organization_id: project.organization_id };
    return { stream: { scope: `project:${project.id}` }, scope };
  }
  if (kind === 'item' && key !== '') {
    const [scope] = await q.query<Scope & Record<string, string>>(
      'SELECT i.project_id, p.organization_id FROM items i JOIN projects p ON p.id = i.project_id WHERE i.key = $1',
      [storable(key)],
    );
    if (!scope || !(await rightsOf(q, principal))('tracker.read', scope)) {
      throw notFound(`There is no item ${JSON.stringify(firstCharacters(key, 60))}.`);
    }
    return { stream: { scope: `project:${scope.project_id}`, entity_key: key }, scope };
  }
  throw invalid('stream: expected "project:<KEY>" or "item:<KEY>".');
}

export interface WatchPosition {
  session: string;
  scope: Scope;
  running: string | undefined;
  /** The newest output's number. */
  newest: number;
  after: number;
  /** After a resync: what the model call in progress has streamed up to `after`. */
  soFar?: TextSoFar | undefined;
}

export interface TextSoFar {
  turn: string;
  attempt: number;
  text: string;
}

/**
 * Where to begin in a session's outputs. `resynced`: the client reloaded, so that of an answer in progress it knows
 * nothing, although its number may lie within it. Errors: not_found, resync.
 */
export async function watchPosition(
  database: Database,
  principal: Principal,
  wanted: { session: string; from: number | undefined; resynced: boolean },
): Promise<WatchPosition> {
  const { session } = wanted;
  const { running, output, from, pruned } = await authorizeWatch(database, principal, session);
  const after = wanted.from ?? from;
  if (after > output) throw resync(output, 'That output lies ahead of the session.');
  if (after < pruned) throw resync(output, 'Outputs after that one are no longer kept.');
  const [scope] = await database.query<Scope & Record<string, string>>(
    `SELECT s.project_id, p.organization_id FROM planner_sessions s JOIN projects p ON p.id = s.project_id
     WHERE s.id = $1`,
    [session],
  );
  const soFar = wanted.resynced && running && after > from ? await textSoFar(database, running, after) : undefined;
  return { session, scope: scope!, running, newest: output, after, soFar };
}

async function textSoFar(q: Queryable, turn: string, upTo: number): Promise<TextSoFar | undefined> {
  const [row] = await q.query<{ attempt: number; text: string }>(
    `WITH known AS (SELECT * FROM planner_outputs WHERE turn_id = $1 AND number <= $2),
          begun AS (SELECT coalesce(max(number), 0) AS number FROM known WHERE type <> 'text'),
          replaced AS (SELECT coalesce(max(number), 0) AS number FROM known WHERE body ? 'replace')
     SELECT k.attempt, string_agg(k.body ->> 'text', '' ORDER BY k.number) AS text
     FROM known k, begun, replaced
     WHERE k.number > begun.number AND k.number >= replaced.number
     GROUP BY k.attempt ORDER BY k.attempt DESC LIMIT 1`,
    [turn, upTo],
  );
  return row && { turn, ...row };
}

function resync(newest: number, why: string): DomainError {
  return new DomainError('resync', `${why} Load the present state and go on from ${newest}.`, { output: newest });
}
