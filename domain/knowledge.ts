// Entries of an organization's knowledge base: what one is made of, how it is changed (spec: planner 4).

import { z } from 'zod';
import type { Actor } from './actor.ts';
import { formed, text, uuidPattern } from './input.ts';
import { changesOneOf, itemKey, title } from './item.ts';

export const knowledgeKinds = ['document', 'decision', 'note', 'debt'] as const;
export type KnowledgeKind = (typeof knowledgeKinds)[number];

/** projects and items: keys, as far as the reader may see what they name. author: the human who created the entry. */
export interface KnowledgeSummary {
  id: string;
  organization: string;
  kind: KnowledgeKind;
  title: string;
  projects: string[];
  items: string[];
  version: number;
  author: string;
  created_at: string;
  updated_at: string;
}

export interface KnowledgeEntry extends KnowledgeSummary {
  body: string;
}

/** Immutable. author: the human whose version it is; actor: who wrote it, for that human. */
export interface KnowledgeVersionSummary {
  version: number;
  kind: KnowledgeKind;
  title: string;
  projects: string[];
  items: string[];
  author: string;
  actor: Actor;
  created_at: string;
}

export interface KnowledgeVersion extends KnowledgeVersionSummary {
  body: string;
}

export const knowledgeId = formed(uuidPattern, 'the id of a knowledge entry');
export const knowledgeKind = z.enum(knowledgeKinds);
const body = text(200_000).meta({ description: 'Markdown.' });
const projects = z.array(formed(/^[A-Z][A-Z0-9]{1,9}$/, "a project's key such as WEB")).max(100);
const items = z
  .array(itemKey)
  .max(100)
  .meta({ description: 'Keys of the items that it is about, of any project of the organization.' });

/** What the planner may send; `projects` is always its session's. */
export const newKnowledgeFields = { kind: knowledgeKind, title, body, items: items.optional() };
export const knowledgePatchFields = {
  kind: knowledgeKind.optional(),
  title: title.optional(),
  body: body.optional(),
  items: items.optional(),
};
const version = z.int().min(1).meta({ description: 'The one that was read; another one is a conflict.' });

export const newKnowledge = z.strictObject({ ...newKnowledgeFields, projects: projects.optional() });
export type NewKnowledge = z.input<typeof newKnowledge>;

/** Only what is sent changes; `projects` and `items` are whole lists. */
export const knowledgePatch = z
  .strictObject({ version, ...knowledgePatchFields, projects: projects.optional() })
  .check(changesOneOf([...Object.keys(knowledgePatchFields), 'projects']));
export type KnowledgePatch = z.input<typeof knowledgePatch>;

/** As `knowledgePatch`, for the planner. */
export const plannerKnowledgePatch = z
  .strictObject({ id: knowledgeId, version, ...knowledgePatchFields })
  .check(changesOneOf(Object.keys(knowledgePatchFields)));
