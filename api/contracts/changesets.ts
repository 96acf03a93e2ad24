// Changesets (spec: planner 2, 10). What is proposed is validated by the tracker, by the schema named here.

import { z } from 'zod';
import { changesetStatuses, humanChangeset } from '../../domain/changeset.ts';
import { actor, limitTo, time, uuid } from './common.ts';

export const changesetStatus = z.enum(changesetStatuses);

/** POST /projects/{p}/changesets */
export const newChangeset = humanChangeset;
export type NewChangesetBody = z.input<typeof newChangeset>;
/** One operation: `kind` and its payload. References are keys, or `$ref` of an earlier create. */
export type OperationBody = NewChangesetBody['operations'][number];

export const changesetSummary = z.strictObject({
  id: uuid,
  title: z.string(),
  status: changesetStatus,
  operations: z.number().int().meta({ description: 'How many it has.' }),
  approved: z.number().int().meta({ description: 'How many of them were approved.' }),
  proposed_by: actor,
  created_at: time,
}).meta({ id: 'ChangesetSummary' });
export type ChangesetSummaryBody = z.infer<typeof changesetSummary>;

/** What an applied operation did. */
export const operationResult = z
  .strictObject({ key: z.string().optional(), dependency: uuid.optional() })
  .meta({ id: 'OperationResult' });

export const changeset = z.strictObject({
  id: uuid,
  project: z.string(),
  title: z.string(),
  summary: z.string(),
  operations: humanChangeset.shape.operations,
  status: changesetStatus,
  proposed_by: actor,
  created_at: time,
  decided_by: actor.optional(),
  decided_at: time.optional(),
  approved: z.array(z.number().int()).optional().meta({ description: 'Indices of the operations, from 0.' }),
  results: z
    .array(operationResult)
    .optional()
    .meta({ description: 'One an operation; `{}` where it was not approved.' }),
  version: z.number().int(),
  stale: z
    .array(z.number().int())
    .optional()
    .meta({ description: 'Indices, from 0, of operations whose item has changed since the proposal.' }),
}).meta({ id: 'Changeset' });
export type ChangesetBody = z.infer<typeof changeset>;

/** GET /projects/{p}/changesets, newest first. */
export const changesetQuery = z.strictObject({
  status: changesetStatus.optional(),
  limit: limitTo(500).default(50),
  after: z.string().optional(),
});
export type ChangesetQuery = z.input<typeof changesetQuery>;

/** POST /changesets/{id}/apply: 0-based indices of the operations to apply. */
export const applyChangeset = z.strictObject({
  operations: z.array(z.number().int()).meta({ description: 'Indices of the operations to apply, from 0.' }),
  accept_stale: z.boolean().optional().meta({ description: 'Apply over items that have changed since the proposal.' }),
}).meta({ id: 'ApplyChangeset' });
export type ApplyChangesetBody = z.infer<typeof applyChangeset>;
