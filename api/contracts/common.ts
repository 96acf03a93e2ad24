// What several contracts share: scalars, lists, errors.

import { z } from 'zod';
import { cursorForm, formed, quoted } from '../../domain/input.ts';

/** ISO 8601, UTC. */
export const time = z.iso.datetime();
export const uuid = z.uuid();

export const actor = z.strictObject({
  kind: z.enum(['human', 'service', 'system']),
  subject: z.string(),
  acting_for: z.string().optional(),
}).meta({ id: 'Actor' });

export const usage = z.strictObject({
  input: z.number().int(),
  output: z.number().int(),
  cache_read: z.number().int(),
  cache_write: z.number().int(),
}).meta({ id: 'Usage' });

const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** The id of something that a request names; the error says of what. */
export const idOf = (what: string) => formed(uuidPattern, `the id of ${what}`);

const nextOfBefore = 'The `next` of the page before.';

/** A query parameter: digits. Another text, the empty one too, is refused with `form`, in words. */
function digits(min: number, max: number, form: string, description: string) {
  return z
    .unknown()
    .transform((given, context) => {
      const number = typeof given === 'string' && /^[0-9]{1,16}$/.test(given) ? Number(given) : given;
      if (typeof number === 'number' && Number.isInteger(number) && number >= min && number <= max) return number;
      context.addIssue({ code: 'custom', message: `must be ${form}, not ${quoted(given)}` });
      return z.NEVER;
    })
    .meta({ type: 'integer', minimum: min, maximum: max, description });
}

/** `limit` of a list. */
export const limitTo = (max: number) => digits(1, max, `a whole number from 1 to ${max}`, 'How many at most.');
/** `after` of a list that is ordered by seq. */
export const seqCursor = digits(0, Number.MAX_SAFE_INTEGER, cursorForm, nextOfBefore);

/** Query parameters of a list: `limit` 1-500 (default 50), `after`: the last page's `next`. */
export const pageQuery = z.strictObject({
  limit: limitTo(500).default(50),
  after: z.string().min(1).max(200).optional().meta({ description: nextOfBefore }),
});
/** As pageQuery, for lists that are seldom longer than a page: default 200. */
export const longPageQuery = pageQuery.extend({ limit: limitTo(500).default(200) });
export type PageQuery = z.input<typeof pageQuery>;

/** Query parameters of a list of versions, newest first; `after` is a version. */
export const versionQuery = z.strictObject({ limit: limitTo(500).default(50), after: seqCursor.optional() });
export type VersionQuery = z.input<typeof versionQuery>;

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
export const errorBody = z.strictObject({ error: z.enum(errorCodes), message: z.string() }).meta({ id: 'Error' });
export type ErrorBody = z.infer<typeof errorBody>;

export const empty = z.strictObject({});
export type Empty = Record<string, never>;

const named = (description: string) => z.string().min(1).meta({ description });

/** What the names in paths stand for, unless a route says otherwise. */
export const pathParameters: Readonly<Record<string, z.ZodType>> = {
  organization: named("An organization's key"),
  project: named("A project's key, for example WEB"),
  key: named("An item's key, for example WEB-12"),
  id: named('Its id'),
  session: named("A session's id"),
  run: named("A run's own id, or its run id where only one repository has it"),
  validation: named('The id of a re-validation'),
  schedule: named('The id of a schedule'),
  name: named('Its name'),
  provider: named('A model provider, for example openai'),
};
