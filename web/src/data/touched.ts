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
      // What its planner wrote of knowledge is told to the organization, not to the project.
      return [
        keys.sessions(project),
        ['turns'],
        ...(event.type === 'planner.turn_ended' ? [keys.usage(project), keys.allKnowledge] : []),
      ];
    case 'bounded_run':
      return [keys.allRuns];
    case 'revalidation':
    case 'revalidation_schedule':
      return [keys.allValidations];
    case 'skill':
      return [keys.allSkills];
    case 'project':
      // Its pins, or its settings.
      return [keys.allSkills, keys.project(project), keys.me];
    case 'budget':
      return [keys.project(project), keys.usage(project)];
    case 'credential':
      return [['credentials']];
    case 'role_binding':
      return [keys.me];
    default:
      return [];
  }
}
