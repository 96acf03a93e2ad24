// Where a watch of a bounded run begins (spec: planner 11).

import { authorizeRunWatch } from '../../bounded/index.ts';
import type { Principal } from '../../domain/actor.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Database, Queryable } from '../../store/database.ts';
import type { RunStatusName } from '../../store/runs.ts';
import type { Scope } from './streams.ts';

export interface RunPosition {
  run: string;
  scope: Scope;
  status: RunStatusName;
  running: boolean;
  /** The newest output's number. */
  newest: number;
  after: number;
  /** Of a client that goes on in the midst of an attempt's text without having it: all of it up to `newest`. */
  soFar?: { attempt: number; text: string } | undefined;
}

/** Errors: not_found, resync. */
export async function runPosition(
  database: Database,
  principal: Principal,
  id: string,
  wanted: number | undefined,
): Promise<RunPosition> {
  const { run, scope, status, running, output, from, pruned } = await authorizeRunWatch(database, principal, id);
  const after = wanted ?? from;
  const resync = (why: string): DomainError =>
    new DomainError('resync', `${why} Load the present state and go on from ${output}.`, { output });
  if (after > output) throw resync('That output lies ahead of the run.');
  if (after < pruned) throw resync('Outputs after that one are no longer kept.');
  // Who begins at the newest number has read the run, whose text in progress is in no answer of the API yet.
  const soFar = running && after === output && after > from ? await textSoFar(database, run, after) : undefined;
  return { run, scope, status, running, newest: output, after, soFar };
}

async function textSoFar(q: Queryable, run: string, upTo: number): Promise<RunPosition['soFar']> {
  const [row] = await q.query<{ attempt: number; text: string }>(
    `WITH texts AS (
       SELECT * FROM planner_outputs WHERE session_id = $1 AND number <= $2 AND type = 'text'
         AND attempt = (SELECT max(attempt) FROM planner_outputs WHERE session_id = $1 AND number <= $2)
     ), replaced AS (SELECT coalesce(max(number), 0) AS number FROM texts WHERE body ? 'replace')
     SELECT t.attempt, string_agg(t.body ->> 'text', '' ORDER BY t.number) AS text
     FROM texts t, replaced WHERE t.number >= replaced.number GROUP BY t.attempt`,
    [run, upTo],
  );
  return row;
}
