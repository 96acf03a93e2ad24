// Pages of lists that are read whole: few rows, in their own order (spec: planner 10).

import { badCursor } from '../../domain/input.ts';
import type { List } from '../contracts/common.ts';

/** `limit` rows after the one that `cursorOf` names `after`. Errors: invalid_argument where there is none such. */
export function pageOf<Row>(
  rows: readonly Row[],
  { limit, after }: { limit: number; after?: string | undefined },
  cursorOf: (row: Row) => string,
): List<Row> {
  const last = after === undefined ? -1 : rows.findIndex((row) => cursorOf(row) === after);
  if (after !== undefined && last === -1) throw badCursor(after);
  const items = rows.slice(last + 1, last + 1 + limit);
  const more = rows.length > last + 1 + limit;
  return { items, ...(more ? { next: cursorOf(items.at(-1)!) } : {}) };
}
