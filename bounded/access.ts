// Which run is meant, and whether the asker may see it or act on it (spec: planner 5).

import type { Action, Principal } from '../domain/actor.ts';
import { runKey } from '../domain/bounded/run-id.ts';
import { conflict, notFound, type DomainError } from '../domain/errors.ts';
import { isUuid } from '../domain/input.ts';
import { firstCharacters, storable } from '../domain/text.ts';
import type { Queryable } from '../store/database.ts';
import { authorize, rightsOf } from '../store/rights.ts';
import { findRejectedRuns, findRun, findRunsByKey, type RunRow } from '../store/runs.ts';

/**
 * The run of an id: the row's own, or a run id where only one visible repository has it; `repo` (an alias) tells which.
 * A rejected run is found by its run id, the newest of it, until an accepted one has that id.
 * Errors: not_found where its project's runs may not be read, forbidden where only `action` is missing, conflict.
 */
export async function visibleRun(
  q: Queryable,
  principal: Principal,
  id: string,
  action: Action,
  repo?: string,
): Promise<RunRow> {
  const rights = await rightsOf(q, principal);
  const mayRead = (row: RunRow): boolean => rights('bounded_run.read', scopeOf(row));
  const byId = isUuid(id) ? await findRun(q, id) : undefined;
  const key = runKey(storable(id));
  const accepted = (byId ? [byId] : await findRunsByKey(q, key, repo)).filter(mayRead);
  const visible = accepted.length > 0 ? accepted : (await findRejectedRuns(q, key, repo)).filter(mayRead);
  const [row, second] = visible;
  if (!row) throw noRun(id);
  if (second) {
    const names = visible.map((one) => one.alias).join(', ');
    const how = "Name the repository, or the run's own id.";
    throw conflict(`Several repositories have a run ${row.run_id} (${names}). ${how}`);
  }
  if (action !== 'bounded_run.read') await authorize(q, principal, action, scopeOf(row));
  return row;
}

export const scopeOf = ({ project_id, organization_id }: Pick<RunRow, 'project_id' | 'organization_id'>) => ({
  project_id,
  organization_id,
});

function noRun(id: string): DomainError {
  const name = JSON.stringify(firstCharacters(storable(id), 80));
  return notFound(`There is no bounded run ${name}. List the runs of a project to find one.`);
}
