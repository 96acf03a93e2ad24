// What subjects do with dependencies. Edges change under the project's lock: of two racing opposite ones exactly one
// wins (spec: planner 1).

import { actorOf, type Principal } from '../domain/actor.ts';
import { Graph, newDependency, type Dependency } from '../domain/dependency.ts';
import { DomainError, conflict, invalid, notFound } from '../domain/errors.ts';
import { isUuid, parse } from '../domain/input.ts';
import type { ItemDependencies } from '../domain/item.ts';
import type { Queryable, Tx } from './database.ts';
import { deleteDependency, dependenciesOf, edgesOf, insertDependency } from './edges.ts';
import { itemRows, visibleItem } from './item-rows.ts';
import { authorizeVisible, lockProject, projectById } from './projects.ts';

/** Adds an edge from that item. Errors: invalid_argument (self, no such end), already_exists, conflict (cycle). */
export async function addDependency(tx: Tx, principal: Principal, key: string, input: unknown): Promise<Dependency> {
  const { project, row } = await visibleItem(tx, principal, key, 'tracker.write');
  const { type, to } = parse(newDependency, input);
  const [other] = await itemRows(tx, project, [to]);
  if (!other) throw invalid(`to: there is no item ${to} in project ${project.key}.`);
  await lockProject(tx, project.id);
  const violation = new Graph(await edgesOf(tx, project)).violation({ type, from: key, to });
  if (violation) throw refusal(violation.reason, `${violation.message}.`);
  return insertDependency(tx, project, actorOf(principal), type, row, other);
}

function refusal(reason: 'self' | 'duplicate' | 'cycle', message: string): DomainError {
  if (reason === 'self') return invalid(message);
  return reason === 'duplicate' ? new DomainError('already_exists', message) : conflict(message);
}

export async function removeDependency(tx: Tx, principal: Principal, id: string): Promise<void> {
  const hidden = (): DomainError => notFound('There is no such dependency.');
  if (!isUuid(id)) throw hidden();
  const [row] = await tx.query<Dependency & { project_id: string }>(
    `SELECT d.id, d.type, f.key AS from, t.key AS to, d.project_id
     FROM dependencies d JOIN items f ON f.id = d.from_id JOIN items t ON t.id = d.to_id WHERE d.id = $1`,
    [id],
  );
  if (!row) throw hidden();
  const project = await projectById(tx, row.project_id);
  await authorizeVisible(tx, principal, project, 'tracker.write', hidden);
  await lockProject(tx, project.id);
  if (!(await deleteDependency(tx, project, actorOf(principal), row))) throw hidden();
}

export async function listDependencies(q: Queryable, principal: Principal, key: string): Promise<ItemDependencies> {
  return dependenciesOf(q, (await visibleItem(q, principal, key, 'tracker.read')).row.id);
}
