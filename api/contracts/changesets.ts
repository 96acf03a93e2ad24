// Changesets (spec: planner 2, 10). The shape; the rules of operations are the tracker's, which reports all violations
// together with the operations' numbers.

import { z } from 'zod';
import { actor, time, uuid } from './common.ts';
import { itemKind, policy, ticketType } from './tracker.ts';

const itemFields = {
  description: z.string().optional(),
  type: ticketType.optional(),
  acceptance_criteria: z.array(z.string()).optional(),
  policy: policy.partial().optional(),
  epic: z.string().optional(),
  milestone: z.string().optional(),
};

/** One operation: exactly one payload, the one of its kind. References are keys, or `$ref` of an earlier create. */
export const operation = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('create_item'),
    ref: z.string(),
    create: z.strictObject({ kind: itemKind, title: z.string(), ...itemFields }),
  }),
  z.strictObject({
    kind: z.literal('update_item'),
    update: z.strictObject({ item: z.string(), title: z.string().optional(), ...itemFields }),
  }),
  z.strictObject({
    kind: z.literal('add_dependency'),
    dependency: z.strictObject({ from: z.string(), to: z.string(), type: z.enum(['blocks', 'relates']) }),
  }),
]);
export type OperationBody = z.infer<typeof operation>;

export const changesetStatus = z.enum(['proposed', 'applied', 'rejected']);

export const changesetSummary = z.strictObject({
  id: uuid,
  title: z.string(),
  status: changesetStatus,
  /** How many operations it has, and how many of them were approved. */
  operations: z.number().int(),
  approved: z.number().int(),
});
export type ChangesetSummaryBody = z.infer<typeof changesetSummary>;

/** What an applied operation did. */
export const operationResult = z.strictObject({ key: z.string().optional(), dependency: uuid.optional() });

export const changeset = z.strictObject({
  id: uuid,
  project: z.string(),
  title: z.string(),
  summary: z.string(),
  operations: z.array(operation),
  status: changesetStatus,
  proposed_by: actor,
  created_at: time,
  decided_by: actor.optional(),
  decided_at: time.optional(),
  /** 0-based indices. */
  approved: z.array(z.number().int()).optional(),
  /** One an operation; `{}` where it was not approved. */
  results: z.array(operationResult).optional(),
  version: z.number().int(),
  /** 0-based indices of operations whose item has changed since the proposal. */
  stale: z.array(z.number().int()).optional(),
});
export type ChangesetBody = z.infer<typeof changeset>;

/** POST /projects/{p}/changesets */
export const newChangeset = z.strictObject({
  title: z.string(),
  summary: z.string().optional(),
  operations: z.array(operation),
});
export type NewChangesetBody = z.infer<typeof newChangeset>;

/** GET /projects/{p}/changesets, newest first. */
export const changesetQuery = z.strictObject({
  status: changesetStatus.optional(),
  limit: z.coerce.number().int().min(1).max(500).default(50),
  after: z.string().optional(),
});
export type ChangesetQuery = z.input<typeof changesetQuery>;

/** POST /changesets/{id}/apply: 0-based indices of the operations to apply. */
export const applyChangeset = z.strictObject({
  operations: z.array(z.number().int()),
  accept_stale: z.boolean().optional(),
});
export type ApplyChangesetBody = z.infer<typeof applyChangeset>;
