// Edges as rows: read, added, removed, one event each (spec: planner 1, 12). Rights and rules are the caller's.

import { v7 as uuidv7 } from 'uuid';
import type { Actor } from '../domain/actor.ts';
import type { Dependency, DependencyType, Edge } from '../domain/dependency.ts';
import type { ItemDependencies, ItemDependency, ItemKind, ItemState } from '../domain/item.ts';
import type { Queryable, Tx } from './database.ts';
import type { Project } from './projects.ts';

/** An item's edges as it sees them, each group by number. */
export async function dependenciesOf(q: Queryable, itemId: string): Promise<ItemDependencies> {
  const rows = await q.query<{
    id: string;
    type: DependencyType;
    outgoing: boolean;
    key: string;
    kind: ItemKind;
    title: string;
    state: ItemState;
  }>(
    `SELECT d.id, d.type, d.from_id = $1 AS outgoing, o.key, o.kind, o.title, o.state
     FROM dependencies d JOIN items o ON o.id = CASE WHEN d.from_id = $1 THEN d.to_id ELSE d.from_id END
     WHERE d.from_id = $1 OR d.to_id = $1 ORDER BY o.number`,
    [itemId],
  );
  const seen: ItemDependencies = { blocks: [], blocked_by: [], relates: [] };
  for (const { outgoing, ...row } of rows) {
    const type: ItemDependency['type'] = row.type === 'blocks' && !outgoing ? 'blocked_by' : row.type;
    seen[type].push({ ...row, type });
  }
  return seen;
}

/** All edges of a project, by keys. */
export function edgesOf(q: Queryable, project: Project): Promise<Edge[]> {
  return q.query<Edge>(
    `SELECT d.type, f.key AS from, t.key AS to
     FROM dependencies d JOIN items f ON f.id = d.from_id JOIN items t ON t.id = d.to_id WHERE d.project_id = $1`,
    [project.id],
  );
}

/** Stores an edge that the graph allows; the project must be locked. */
export async function insertDependency(
  tx: Tx,
  project: Project,
  actor: Actor,
  type: DependencyType,
  from: { id: string; key: string },
  to: { id: string; key: string },
): Promise<Dependency> {
  const swap = type === 'relates' && from.id > to.id;
  const [first, second] = swap ? [to, from] : [from, to];
  const dependency = { id: uuidv7(), type, from: first.key, to: second.key };
  await tx.query('INSERT INTO dependencies (id, project_id, type, from_id, to_id) VALUES ($1, $2, $3, $4, $5)', [
    dependency.id,
    project.id,
    type,
    first.id,
    second.id,
  ]);
  emitDependency(tx, project, actor, 'dependency.added', dependency);
  return dependency;
}

/** Removes an edge; false when it is gone already. The project must be locked. */
export async function deleteDependency(
  tx: Tx,
  project: Project,
  actor: Actor,
  dependency: Dependency,
): Promise<boolean> {
  const deleted = await tx.query('DELETE FROM dependencies WHERE id = $1 RETURNING id', [dependency.id]);
  if (deleted.length === 0) return false;
  emitDependency(tx, project, actor, 'dependency.removed', dependency);
  return true;
}

function emitDependency(
  tx: Tx,
  project: Project,
  actor: Actor,
  type: 'dependency.added' | 'dependency.removed',
  dependency: Dependency,
): void {
  tx.emit({
    type,
    organization_id: project.organization_id,
    project_id: project.id,
    entity_type: 'dependency',
    entity_id: dependency.id,
    entity_key: dependency.from,
    actor,
    payload: { type: dependency.type, from: dependency.from, to: dependency.to },
  });
}
