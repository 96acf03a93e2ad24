// What subjects do with items: create, change, move, read; each by the right that it needs (spec: planner 1).

import { actorOf, type Action, type Principal } from '../domain/actor.ts';
import { conflict, invalid } from '../domain/errors.ts';
import type { StoredEvent } from '../domain/event.ts';
import { parse } from '../domain/input.ts';
import {
  itemMove,
  itemPatchFor,
  moveViolation,
  newItem,
  type Item,
  type ItemPatch,
  type ItemSummary,
} from '../domain/item.ts';
import type { Queryable, Tx } from './database.ts';
import { itemEvents } from './events.ts';
import {
  itemRows,
  itemView,
  itemsOf,
  linkedItems,
  lockedItemRows,
  runnableOf,
  visibleItem,
  type ItemFilter,
  type ItemPage,
  type ItemRow,
} from './item-rows.ts';
import { changesOf, insertItem, moveItem, writeItem } from './item-writes.ts';
import { lockProject, visibleProject, type Project } from './projects.ts';

export async function getItem(q: Queryable, principal: Principal, key: string): Promise<Item> {
  return itemView(q, (await visibleItem(q, principal, key, 'tracker.read')).row);
}

export async function listItems(
  q: Queryable,
  principal: Principal,
  projectKey: string,
  filter: ItemFilter = {},
): Promise<ItemPage> {
  return itemsOf(q, await visibleProject(q, principal, projectKey, 'tracker.read'), filter);
}

export async function listRunnable(q: Queryable, principal: Principal, projectKey: string): Promise<ItemSummary[]> {
  return runnableOf(q, await visibleProject(q, principal, projectKey, 'tracker.read'));
}

export async function createItem(tx: Tx, principal: Principal, projectKey: string, input: unknown): Promise<Item> {
  const project = await visibleProject(tx, principal, projectKey, 'tracker.write');
  const fields = parse(newItem, input);
  refusePolicy(principal, fields);
  await lockProject(tx, project.id);
  const links = await linkedItems(tx, project, fields);
  const { key } = await insertItem(tx, project, actorOf(principal), fields, links);
  return written(tx, project, key);
}

/**
 * Changes what is sent; where that is how it stands already, nothing is written. `version`: the one that was read;
 * conflict when the item has another.
 */
export async function updateItem(tx: Tx, principal: Principal, key: string, input: unknown): Promise<Item> {
  const { project, row } = await lockedItem(tx, principal, key, 'tracker.write');
  const { version, ...patch } = parse(itemPatchFor(row.kind), input);
  refusePolicy(principal, patch);
  refuseStale(row, version);
  const links = await linkedItems(tx, project, patch);
  if (Object.keys(changesOf(row, patch)).length > 0) {
    await writeItem(tx, project, actorOf(principal), row, patch, links);
  }
  return written(tx, project, key);
}

/** Moves an item to another state: humans by tracker.write, services by run.manage. `version` as for an update. */
export async function transitionItem(tx: Tx, principal: Principal, key: string, input: unknown): Promise<Item> {
  const action = principal.kind === 'service' ? 'run.manage' : 'tracker.write';
  const { project, row } = await lockedItem(tx, principal, key, action);
  const { state, version } = parse(itemMove, input);
  refuseStale(row, version);
  const violation = moveViolation(principal.kind, row, state);
  if (violation) throw invalid(violation);
  await moveItem(tx, project, actorOf(principal), row, state);
  return written(tx, project, key);
}

/** The events of an item and of its edges, oldest first. limit: 1-500, default 100; `after`: a seq. */
export async function itemHistory(
  q: Queryable,
  principal: Principal,
  key: string,
  window: { limit?: number; after?: number } = {},
): Promise<{ items: StoredEvent[]; next?: number }> {
  const { project } = await visibleItem(q, principal, key, 'tracker.read');
  return itemEvents(q, project.id, key, window);
}

function refusePolicy(principal: Principal, fields: ItemPatch): void {
  if (principal.kind === 'human' || fields.policy === undefined) return;
  throw invalid('policy is for humans only: leave it out.');
}

function refuseStale(row: ItemRow, version: number | undefined): void {
  if (version === undefined || version === row.version) return;
  const now = `${row.key} has version ${row.version}, not ${version}`;
  throw conflict(`${now}: it was changed meanwhile. Read it and try again.`);
}

async function lockedItem(
  tx: Tx,
  principal: Principal,
  key: string,
  action: Action,
): Promise<{ project: Project; row: ItemRow }> {
  const { project } = await visibleItem(tx, principal, key, action);
  const [row] = await lockedItemRows(tx, project, [key]);
  return { project, row: row! };
}

async function written(tx: Tx, project: Project, key: string): Promise<Item> {
  const [row] = await itemRows(tx, project, [key]);
  return itemView(tx, row!);
}
