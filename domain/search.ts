// Hybrid search: what is found, how two lists become one, what is shown of a text (spec: planner 4).

import { z } from 'zod';
import { text } from './input.ts';
import { knowledgeKind, type KnowledgeSummary } from './knowledge.ts';
import { firstCharacters } from './text.ts';

export const hitKinds = ['item', 'skill'] as const;
export type HitKind = (typeof hitKinds)[number];

/** ref: an item's key, a skill's name. */
export interface SearchHit {
  kind: HitKind;
  ref: string;
  title: string;
  snippet: string;
}

/** score: the sum of 1 / (60 + rank) over the lists that hold it. */
export interface KnowledgeHit {
  entry: KnowledgeSummary & { snippet: string };
  score: number;
}

/** warning: why the search went without the meaning of the query. */
export interface Found<Hit> {
  items: Hit[];
  warning?: string;
}

export const lexicalOnly =
  'The query could not be embedded, so that only words were compared. Try again, or use words of what is meant.';

/** As many hits of each list are fused (spec: planner 4). */
export const listSize = 50;
/** Cosine distance. */
export const furthest = 0.85;
export const snippetLength = 240;

export const searchQuery = text(1_000).meta({ description: 'Words, or a sentence that says what is looked for.' });
export const hitKind = z.enum(hitKinds);
export const hitLimit = z.int().min(1).max(50).default(20);

/** What the planner's two search tools take. */
export const projectSearch = z.strictObject({ query: searchQuery, kind: hitKind.optional(), limit: hitLimit });
export const knowledgeSearch = z.strictObject({ query: searchQuery, kind: knowledgeKind.optional(), limit: hitLimit });

/** Letters and digits alone: PostgreSQL's parser makes paths, tags, signs and hosts of what stands between them. */
export const plainWords = (text: string): string => text.replace(/[^\p{L}\p{N}\p{M}]+/gu, ' ').trim();

export const hasWords = (query: string): boolean => /[\p{L}\p{N}]/u.test(query);

/** Reciprocal rank fusion of lists that each hold an id once, best first: sum of 1 / (60 + rank), rank from 1. */
export function fuse<Id extends number | string>(lists: readonly (readonly Id[])[]): { id: Id; score: number }[] {
  const scores = new Map<Id, number>();
  for (const list of lists) {
    for (const [index, id] of list.entries()) scores.set(id, (scores.get(id) ?? 0) + 1 / (60 + index + 1));
  }
  const fused = [...scores].map(([id, score]) => ({ id, score }));
  return fused.sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1));
}

/** At most 240 characters of a body, around the first of the query's words in it, else its beginning. One line. */
export function snippet(body: string, query: string): string {
  const line = body.replace(/\s+/g, ' ').trim();
  const [, before = 0] = placeOf(line, query);
  const from = before === 0 ? 0 : line.indexOf(' ', before) + 1;
  const shown = firstCharacters(line.slice(from), snippetLength - 2);
  const whole = from + shown.length >= line.length;
  return (from > 0 ? '…' : '') + (whole ? shown : `${shown.replace(/\s+\S*$/, '')}…`);
}

/** Where the first word of the query stands in the line, and where a snippet that shows it may begin. */
function placeOf(line: string, query: string): [number, number] {
  const lower = line.toLowerCase();
  const places = [...query.toLowerCase().matchAll(/[\p{L}\p{N}]{3,}/gu)].flatMap(([word]) => {
    // A word's ending may differ: half of a long word is enough.
    const place = lower.indexOf(word.slice(0, Math.max(4, Math.ceil(word.length * 0.7))));
    return place >= 0 ? [place] : [];
  });
  const first = places.length > 0 ? Math.min(...places) : 0;
  return [first, first > snippetLength / 2 ? first - snippetLength / 3 : 0];
}
