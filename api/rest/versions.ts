// Versions in paths and lists: of skills, of knowledge entries (spec: planner 10).

import { z } from 'zod';
import { invalid } from '../../domain/errors.ts';
import { quoted } from '../../domain/input.ts';

/** What a path's version is, for the document. */
export const versionParam = z.int().min(1).max(2 ** 31 - 1).meta({ description: 'A version, from 1' });

/** Errors: invalid_argument. */
export function versionIn(given: string): number {
  const version = /^[1-9][0-9]{0,9}$/.test(given) ? Number(given) : 0;
  if (version < 1 || version >= 2 ** 31) throw invalid(`A version is a whole number from 1, not ${quoted(given)}.`);
  return version;
}

/** A list of versions as REST answers it: every `next` is a text. */
export function versionPage<Item>(page: { items: Item[]; next?: number }): { items: Item[]; next?: string } {
  const { items, next } = page;
  return { items, ...(next === undefined ? {} : { next: String(next) }) };
}
