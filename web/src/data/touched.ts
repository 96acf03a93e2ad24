// What an event makes stale in the query cache. Pure.

import type { StreamEvent } from '../../../client/index.ts';
import { keys } from './keys.ts';

export type Key = readonly unknown[];

/** Keys, of a project's event; a shorter key stands for all that begin with it. */
export function touched(project: string, event: Pick<StreamEvent, 'type'>): Key[] {
  const [family] = event.type.split('.');
  switch (family) {
    case 'item':
    case 'dependency':
      // A changeset's review shows items as they are now.
      return [keys.allItems, keys.allChangesets];
    case 'changeset':
      return [keys.allChangesets];
    case 'planner':
      return [keys.sessions(project), ['turns']];
    case 'bounded_run':
      return [keys.allRuns];
    case 'role_binding':
      return [keys.me];
    default:
      return [];
  }
}
