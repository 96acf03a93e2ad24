// What several contracts share: scalars, lists, errors.

import { z } from 'zod';

/** ISO 8601, UTC. */
export const time = z.iso.datetime();
export const uuid = z.uuid();

export const actor = z.strictObject({
  kind: z.enum(['human', 'service', 'system']),
  subject: z.string(),
  acting_for: z.string().optional(),
});

export const usage = z.strictObject({
  input: z.number().int(),
  output: z.number().int(),
  cache_read: z.number().int(),
  cache_write: z.number().int(),
});

/** Query parameters of a list: `limit` 1-500 (default 50), `after`: the last page's `next`. */
export const pageQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(500).default(50),
  after: z.string().min(1).max(200).optional(),
});
export type PageQuery = z.input<typeof pageQuery>;

/** A list's answer; `next` only where more follow. */
export function listOf<Item extends z.ZodType>(item: Item) {
  return z.strictObject({ items: z.array(item), next: z.string().optional() });
}
export interface List<Item> {
  items: Item[];
  next?: string;
}

export const errorCodes = [
  'invalid_argument',
  'unauthenticated',
  'forbidden',
  'not_found',
  'conflict',
  'already_exists',
  'rate_limited',
  'unavailable',
  'internal',
] as const;

/** Every answer with a status of 400 or more. */
export const errorBody = z.strictObject({ error: z.enum(errorCodes), message: z.string() });
export type ErrorBody = z.infer<typeof errorBody>;

export const empty = z.strictObject({});
export type Empty = Record<string, never>;
