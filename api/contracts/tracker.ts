// Items and dependencies (spec: planner 1, 10). What is written is validated by the tracker, by the schemas named here.

import { z } from 'zod';
import { dependencyTypes, type newDependency } from '../../domain/dependency.ts';
import {
  itemKey,
  itemKinds,
  itemPatchFields,
  itemStates,
  ticketTypes,
  type itemMove,
  type newItem,
} from '../../domain/item.ts';
import { actor, limitTo, seqCursor, time, uuid } from './common.ts';

export const itemKind = z.enum(itemKinds);
export const itemState = z.enum(itemStates);
export const ticketType = z.enum(ticketTypes);
export const policy = z.strictObject({
  review_mode: z.enum(['agent', 'agent+human']),
  merge_mode: z.enum(['auto', 'manual']),
}).meta({ id: 'Policy' });

/** type, epic, milestone: absent where empty. epic and milestone are keys. */
export const itemSummary = z.strictObject({
  key: z.string(),
  kind: itemKind,
  title: z.string(),
  state: itemState,
  type: ticketType.optional(),
  epic: z.string().optional(),
  milestone: z.string().optional(),
}).meta({ id: 'ItemSummary' });
export type ItemSummaryBody = z.infer<typeof itemSummary>;

/** One end of an edge as the other end sees it. `id` is the edge's, for DELETE /dependencies/{id}. */
export const itemDependency = z.strictObject({
  id: uuid,
  type: z.enum(['blocks', 'blocked_by', 'relates']),
  key: z.string(),
  kind: itemKind,
  title: z.string(),
  state: itemState,
}).meta({ id: 'ItemDependency' });
export type ItemDependencyBody = z.infer<typeof itemDependency>;

export const itemDependencies = z.strictObject({
  blocks: z.array(itemDependency),
  blocked_by: z.array(itemDependency),
  relates: z.array(itemDependency),
}).meta({ id: 'ItemDependencies' });
export type ItemDependenciesBody = z.infer<typeof itemDependencies>;

export const item = itemSummary.extend({
  description: z.string(),
  acceptance_criteria: z.array(z.string()).optional(),
  policy: policy.optional(),
  version: z.number().int(),
  created_at: time,
  updated_at: time,
  dependencies: itemDependencies,
}).meta({ id: 'Item' });
export type ItemBody = z.infer<typeof item>;

/** POST /projects/{p}/items */
export { newItem } from '../../domain/item.ts';
export type NewItemBody = z.input<typeof newItem>;

/** PATCH /items/{key}: only what is sent changes; `""` unlinks epic or milestone; another `version`: 409. */
export const itemPatch = z.strictObject({ version: z.int().min(1), ...itemPatchFields(itemKey) }).meta({ id: 'ItemPatch' });
export type ItemPatchBody = z.input<typeof itemPatch>;

/** POST /items/{key}/transition; another `version`: 409. */
export { itemMove as itemTransition } from '../../domain/item.ts';
export type ItemTransitionBody = z.input<typeof itemMove>;

/** GET /projects/{p}/items; `after` is a key. */
export const itemQuery = z.strictObject({
  kind: itemKind.optional(),
  state: itemState.optional(),
  epic: z.string().optional(),
  milestone: z.string().optional(),
  limit: limitTo(500).default(200),
  after: z.string().optional(),
});
export type ItemQuery = z.input<typeof itemQuery>;

/** GET /items/{key}/history; `after` is a seq. */
export const historyQuery = z.strictObject({
  limit: limitTo(500).default(100),
  after: seqCursor.optional(),
});
export type HistoryQuery = z.input<typeof historyQuery>;

/** An event as the history and the realtime stream show it (spec: planner 12). */
export const event = z.strictObject({
  seq: z.number().int(),
  id: uuid,
  type: z.string(),
  entity_type: z.string(),
  entity_id: z.string(),
  entity_key: z.string().optional(),
  occurred_at: time,
  actor,
  payload: z.record(z.string(), z.unknown()),
}).meta({ id: 'Event' });
export type EventBody = z.infer<typeof event>;

/** POST /items/{key}/dependencies: from {key} to `to`. */
export { newDependency } from '../../domain/dependency.ts';
export type NewDependencyBody = z.input<typeof newDependency>;

/** An edge; a `relates` edge has no direction. */
export const dependency = z.strictObject({
  id: uuid,
  type: z.enum(dependencyTypes),
  from: z.string(),
  to: z.string(),
}).meta({ id: 'Dependency' });
export type DependencyBody = z.infer<typeof dependency>;
