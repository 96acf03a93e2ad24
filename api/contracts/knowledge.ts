// The knowledge base (spec: planner 4, 10).

import { z } from 'zod';
import { knowledgeKinds, type knowledgePatch, type newKnowledge } from '../../domain/knowledge.ts';
import { actor, limitTo, time, uuid } from './common.ts';

export const knowledgeKind = z.enum(knowledgeKinds);

const named = {
  kind: knowledgeKind,
  title: z.string(),
  projects: z.array(z.string()).meta({ description: 'Keys, those that the reader may see.' }),
  items: z.array(z.string()).meta({ description: 'Keys, those that the reader may see.' }),
  version: z.number().int(),
};

/** author: the human who created it. */
export const knowledgeSummary = z
  .strictObject({
    id: uuid,
    organization: z.string(),
    ...named,
    author: z.string(),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'KnowledgeSummary' });
export type KnowledgeSummaryBody = z.infer<typeof knowledgeSummary>;

export const knowledgeEntry = knowledgeSummary.extend({ body: z.string() }).meta({ id: 'KnowledgeEntry' });
export type KnowledgeEntryBody = z.infer<typeof knowledgeEntry>;

/** author: the human whose version it is; actor: who wrote it, the planner perhaps. */
export const knowledgeVersionSummary = z
  .strictObject({ ...named, author: z.string(), actor, created_at: time })
  .meta({ id: 'KnowledgeVersionSummary' });
export type KnowledgeVersionSummaryBody = z.infer<typeof knowledgeVersionSummary>;

/** Immutable. */
export const knowledgeVersion = knowledgeVersionSummary.extend({ body: z.string() }).meta({ id: 'KnowledgeVersion' });
export type KnowledgeVersionBody = z.infer<typeof knowledgeVersion>;

/** GET /organizations/{o}/knowledge/entries, newest first; `project`: a key. */
export const knowledgeQuery = z.strictObject({
  kind: knowledgeKind.optional(),
  project: z.string().optional(),
  limit: limitTo(500).default(50),
  after: z.string().optional(),
});
export type KnowledgeQuery = z.input<typeof knowledgeQuery>;

/** POST /organizations/{o}/knowledge/entries, PATCH /organizations/{o}/knowledge/entries/{id} */
export { knowledgePatch, newKnowledge } from '../../domain/knowledge.ts';
export type NewKnowledgeBody = z.input<typeof newKnowledge>;
export type KnowledgePatchBody = z.input<typeof knowledgePatch>;
