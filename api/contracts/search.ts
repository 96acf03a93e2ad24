// Search (spec: planner 4, 10).

import { z } from 'zod';
import { hitKind, searchQuery } from '../../domain/search.ts';
import { limitTo } from './common.ts';
import { knowledgeKind, knowledgeSummary } from './knowledge.ts';

const limit = limitTo(50).default(20);
const warning = z.string().meta({ description: 'Why words alone were compared.' }).optional();

/** GET /search; `project`: a key, else all projects. */
export const hitQuery = z.strictObject({
  q: searchQuery,
  kind: hitKind.optional(),
  project: z.string().optional(),
  limit,
});
export type HitQuery = z.input<typeof hitQuery>;

export const searchHit = z
  .strictObject({
    kind: hitKind,
    ref: z.string().meta({ description: "An item's key, a skill's name." }),
    title: z.string(),
    snippet: z.string(),
  })
  .meta({ id: 'SearchHit' });
export type SearchHitBody = z.infer<typeof searchHit>;

export const searchHits = z.strictObject({ items: z.array(searchHit), warning }).meta({ id: 'SearchHits' });
export type SearchHitsBody = z.infer<typeof searchHits>;

/** GET /organizations/{o}/knowledge/search */
export const knowledgeHitQuery = z.strictObject({ q: searchQuery, kind: knowledgeKind.optional(), limit });
export type KnowledgeHitQuery = z.input<typeof knowledgeHitQuery>;

export const knowledgeHit = z
  .strictObject({
    entry: knowledgeSummary.extend({ snippet: z.string() }),
    score: z.number().meta({ description: 'Sum of 1 / (60 + rank) over the lists of words and of meaning.' }),
  })
  .meta({ id: 'KnowledgeHit' });
export type KnowledgeHitBody = z.infer<typeof knowledgeHit>;

export const knowledgeHits = z.strictObject({ items: z.array(knowledgeHit), warning }).meta({ id: 'KnowledgeHits' });
export type KnowledgeHitsBody = z.infer<typeof knowledgeHits>;
