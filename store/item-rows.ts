// Items as rows: looked up, filtered, shown (spec: planner 1, 6). Only `visibleItem` asks for rights.

import { z } from 'zod';
import type { Action, Principal } from '../domain/actor.ts';
import { notFound, type DomainError } from '../domain/errors.ts';
import { article, badCursor, cursorForm, formed, parse, quoted, violations } from '../domain/input.ts';
import {
  defaultPolicy,
  itemKey,
  keyPattern,
  kindField,
  numberInKey,
  projectOfKey,
  stateField,
  type Item,
  type ItemKind,
  type ItemState,
  type ItemSummary,
  type Policy,
  type TicketType,
} from '../domain/item.ts';
import type { Queryable, Tx } from './database.ts';
import { dependenciesOf } from './edges.ts';
import { authorizeVisible, projectByKey, type Project } from './projects.ts';

export interface ItemRow {
  id: string;
  key: string;
  kind: ItemKind;
  title: string;
  description: string;
  state: ItemState;
  type: TicketType | null;
  acceptance_criteria: string[];
  review_mode: Policy['review_mode'] | null;
  merge_mode: Policy['merge_mode'] | null;
  epic: string | null;
  milestone: string | null;
  version: number;
  created_at: string;
  updated_at: string;
}

const rowSql = `
SELECT i.id, i.key, i.kind, i.title, i.description, i.state, i.type, i.acceptance_criteria, i.review_mode, i.merge_mode,
       e.key AS epic, m.key AS milestone, i.version, i.created_at, i.updated_at
FROM items i LEFT JOIN items e ON e.id = i.epic_id LEFT JOIN items m ON m.id = i.milestone_id`;

/** The project's items with these keys. */
export function itemRows(q: Queryable, project: Project, keys: readonly string[]): Promise<ItemRow[]> {
  return q.query<ItemRow>(`${rowSql} WHERE i.project_id = $1 AND i.key = ANY ($2)`, [project.id, keys]);
}

/** As `itemRows`; nobody else writes these items until the transaction ends. */
export async function lockedItemRows(tx: Tx, project: Project, keys: readonly string[]): Promise<ItemRow[]> {
  // Locked first and read by the next statement, which sees what the lock waited for.
  await tx.query('SELECT 1 FROM items WHERE project_id = $1 AND key = ANY ($2) ORDER BY id FOR NO KEY UPDATE', [
    project.id,
    keys,
  ]);
  return itemRows(tx, project, keys);
}

export function summary(row: ItemRow): ItemSummary {
  return {
    key: row.key,
    kind: row.kind,
    title: row.title,
    state: row.state,
    ...(row.type ? { type: row.type } : {}),
    ...(row.epic ? { epic: row.epic } : {}),
    ...(row.milestone ? { milestone: row.milestone } : {}),
  };
}

/** The whole item, its edges included. */
export async function itemView(q: Queryable, row: ItemRow): Promise<Item> {
  const ticket = row.kind === 'ticket';
  return {
    ...summary(row),
    description: row.description,
    ...(ticket ? { acceptance_criteria: row.acceptance_criteria, policy: policyOf(row) } : {}),
    version: row.version,
    created_at: row.created_at,
    updated_at: row.updated_at,
    dependencies: await dependenciesOf(q, row.id),
  };
}

export const policyOf = (row: ItemRow): Policy => ({
  review_mode: row.review_mode ?? defaultPolicy.review_mode,
  merge_mode: row.merge_mode ?? defaultPolicy.merge_mode,
});

/** The item and its project, when the principal may do the action there. One that it may not read is not found. */
export async function visibleItem(
  q: Queryable,
  principal: Principal,
  key: string,
  action: Action,
): Promise<{ project: Project; row: ItemRow }> {
  const hidden = (): DomainError => notFound(`There is no item ${quoted(key)}.`);
  const projectKey = projectOfKey(key);
  if (!projectKey) throw hidden();
  const project = await projectByKey(q, projectKey).catch((error: unknown) => {
    throw (error as { code?: unknown }).code === 'not_found' ? hidden() : error;
  });
  await authorizeVisible(q, principal, project, action, hidden);
  const [row] = await itemRows(q, project, [key]);
  if (!row) throw hidden();
  return { project, row };
}

/** `epic`, `milestone`, `after`: keys. limit: 1-500, default 200. */
export const itemFilter = z.strictObject({
  kind: kindField.optional(),
  state: stateField.optional(),
  epic: itemKey.optional(),
  milestone: itemKey.optional(),
  limit: z.int().min(1).max(500).default(200),
  after: formed(keyPattern, cursorForm).optional().meta({ description: 'The `next` of the page before.' }),
});
export type ItemFilter = z.input<typeof itemFilter>;

export interface ItemPage {
  items: ItemSummary[];
  /** The key after which the next page begins; absent on the last one. */
  next?: string;
}

/** One page of a project's items, by number. */
export async function itemsOf(q: Queryable, project: Project, input: ItemFilter): Promise<ItemPage> {
  const { kind, state, epic, milestone, limit, after } = parse(itemFilter, input);
  const links = await linkedItems(q, project, { epic, milestone });
  const afterNumber = after === undefined ? 0 : numberInKey(project.key, after);
  if (afterNumber === undefined) throw badCursor(after!);
  const rows = await q.query<ItemRow>(
    `${rowSql}
     WHERE i.project_id = $1 AND i.number > $2 AND ($3::text IS NULL OR i.kind = $3)
       AND ($4::text IS NULL OR i.state = $4) AND ($5::uuid IS NULL OR i.epic_id = $5)
       AND ($6::uuid IS NULL OR i.milestone_id = $6)
     ORDER BY i.number LIMIT $7`,
    [project.id, afterNumber, kind ?? null, state ?? null, links.epic ?? null, links.milestone ?? null, limit + 1],
  );
  const items = rows.slice(0, limit).map(summary);
  return { items, ...(rows.length > limit ? { next: items.at(-1)!.key } : {}) };
}

/** Tickets that are ready and have no direct unresolved blocker, by number (spec: planner 1). */
export async function runnableOf(q: Queryable, project: Project): Promise<ItemSummary[]> {
  const rows = await q.query<ItemRow>(
    `${rowSql}
     WHERE i.project_id = $1 AND i.kind = 'ticket' AND i.state = 'ready' AND NOT EXISTS (
       SELECT 1 FROM dependencies d JOIN items b ON b.id = d.from_id
       WHERE d.to_id = i.id AND d.type = 'blocks' AND b.state NOT IN ('done', 'cancelled'))
     ORDER BY i.number`,
    [project.id],
  );
  return rows.map(summary);
}

export interface Links {
  epic?: string | undefined;
  milestone?: string | undefined;
}

/** The ids of the named epic and milestone; `""` and absent stay as they are. All violations together. */
export async function linkedItems(q: Queryable, project: Project, links: Links): Promise<Links> {
  const named = [links.epic, links.milestone].filter((key) => key !== undefined && key !== '');
  if (named.length === 0) return links;
  const rows = await itemRows(q, project, named as string[]);
  const lines: string[] = [];
  const resolve = (kind: 'epic' | 'milestone'): string | undefined => {
    const key = links[kind];
    if (key === undefined || key === '') return key;
    const row = rows.find((each) => each.key === key);
    if (!row) lines.push(`${kind}: there is no item ${key} in project ${project.key}`);
    else if (row.kind !== kind) lines.push(`${kind}: ${key} is ${article(row.kind)}, not ${article(kind)}`);
    return row?.id;
  };
  const resolved = { epic: resolve('epic'), milestone: resolve('milestone') };
  if (lines.length > 0) throw violations(lines);
  return resolved;
}

/** The first open item with each of these titles, whatever their case: key by title in lower case. */
export async function titlesInUse(
  q: Queryable,
  project: Project,
  titles: readonly string[],
): Promise<Map<string, string>> {
  const rows = await q.query<{ title: string; key: string }>(
    `SELECT DISTINCT ON (wanted.title) wanted.title, i.key
     FROM unnest($2::text[]) AS wanted (title) JOIN items i ON lower(i.title) = lower(wanted.title)
     WHERE i.project_id = $1 AND i.state NOT IN ('done', 'cancelled') ORDER BY wanted.title, i.number`,
    [project.id, titles],
  );
  return new Map(rows.map(({ title, key }) => [title.toLowerCase(), key]));
}
