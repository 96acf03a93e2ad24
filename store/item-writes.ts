// Items written: valid fields in, one event each (spec: planner 1, 12). Rights and rules are the caller's.

import { v7 as uuidv7 } from 'uuid';
import type { Actor } from '../domain/actor.ts';
import { defaultPolicy, initialState, type ItemPatch, type ItemState, type NewItem } from '../domain/item.ts';
import type { Tx } from './database.ts';
import { policyOf, type ItemRow, type Links } from './item-rows.ts';
import type { Project } from './projects.ts';

/** Numbers and stores an item whose fields are valid; the project must be locked. `links`: ids. */
export async function insertItem(
  tx: Tx,
  project: Project,
  actor: Actor,
  fields: NewItem,
  links: Links,
): Promise<{ id: string; key: string }> {
  // The greatest number in use counts as well: a counter that was set back would give the same key for ever.
  const [counter] = await tx.query<{ number: number }>(
    `UPDATE projects SET last_number = 1 + greatest(last_number,
       (SELECT coalesce(max(number), 0) FROM items WHERE project_id = $1))
     WHERE id = $1 RETURNING last_number AS number`,
    [project.id],
  );
  const number = counter!.number;
  const item = { id: uuidv7(), key: `${project.key}-${number}`, kind: fields.kind };
  const ticket = fields.kind === 'ticket';
  const policy = { ...defaultPolicy, ...fields.policy };
  await tx.query(
    `INSERT INTO items (id, project_id, number, key, kind, title, description, state, type, acceptance_criteria,
                        review_mode, merge_mode, epic_id, milestone_id)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
    [
      item.id,
      project.id,
      number,
      item.key,
      fields.kind,
      fields.title,
      fields.description ?? '',
      initialState(fields.kind),
      ticket ? (fields.type ?? 'feature') : null,
      JSON.stringify(fields.acceptance_criteria ?? []),
      ticket ? policy.review_mode : null,
      ticket ? policy.merge_mode : null,
      links.epic || null,
      links.milestone || null,
    ],
  );
  emitItem(tx, project, actor, 'item.created', item, { version: 1, kind: fields.kind, title: fields.title });
  return item;
}

/** Stores a valid update of a locked item; `links`: ids, `""` unlinks. Returns the new version. */
export async function writeItem(
  tx: Tx,
  project: Project,
  actor: Actor,
  row: ItemRow,
  patch: ItemPatch,
  links: Links,
): Promise<number> {
  const policy = { ...policyOf(row), ...patch.policy };
  const ticket = row.kind === 'ticket';
  await tx.query(
    `UPDATE items SET
       title = $2, description = $3, type = $4, acceptance_criteria = $5, review_mode = $6, merge_mode = $7,
       epic_id = CASE WHEN $8::text IS NULL THEN epic_id ELSE nullif($8, '')::uuid END,
       milestone_id = CASE WHEN $9::text IS NULL THEN milestone_id ELSE nullif($9, '')::uuid END,
       version = version + 1, updated_at = now()
     WHERE id = $1`,
    [
      row.id,
      patch.title ?? row.title,
      patch.description ?? row.description,
      patch.type ?? row.type,
      JSON.stringify(patch.acceptance_criteria ?? row.acceptance_criteria),
      ticket ? policy.review_mode : null,
      ticket ? policy.merge_mode : null,
      links.epic ?? null,
      links.milestone ?? null,
    ],
  );
  const version = row.version + 1;
  emitItem(tx, project, actor, 'item.updated', row, { version, changes: changesOf(row, patch) });
  return version;
}

/** Stores a valid move of a locked item. */
export async function moveItem(tx: Tx, project: Project, actor: Actor, row: ItemRow, to: ItemState): Promise<void> {
  const version = row.version + 1;
  await tx.query('UPDATE items SET state = $2, version = $3, updated_at = now() WHERE id = $1', [row.id, to, version]);
  emitItem(tx, project, actor, 'item.state_changed', row, { version, from: row.state, to });
}

/** What differs, by field: short values as from and to, long texts by name alone. */
export function changesOf(row: ItemRow, patch: ItemPatch): Record<string, { from?: unknown; to?: unknown }> {
  const changes: Record<string, { from?: unknown; to?: unknown }> = {};
  for (const field of ['title', 'type', 'epic', 'milestone'] as const) {
    const to = patch[field];
    if (to !== undefined && to !== (row[field] ?? '')) changes[field] = { from: row[field] ?? '', to };
  }
  for (const field of ['review_mode', 'merge_mode'] as const) {
    const to = patch.policy?.[field];
    if (to !== undefined && to !== row[field]) changes[field] = { from: row[field], to };
  }
  if (patch.description !== undefined && patch.description !== row.description) changes['description'] = {};
  const criteria = patch.acceptance_criteria ?? row.acceptance_criteria;
  if (JSON.stringify(criteria) !== JSON.stringify(row.acceptance_criteria)) changes['acceptance_criteria'] = {};
  return changes;
}

function emitItem(
  tx: Tx,
  project: Project,
  actor: Actor,
  type: 'item.created' | 'item.updated' | 'item.state_changed',
  item: { id: string; key: string },
  payload: Record<string, unknown>,
): void {
  tx.emit({
    type,
    organization_id: project.organization_id,
    project_id: project.id,
    entity_type: 'item',
    entity_id: item.id,
    entity_key: item.key,
    actor,
    payload,
  });
}
