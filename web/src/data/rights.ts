// What the signed-in person may do, shown before the API enforces it (spec: planner 5). Pure.

import { roleGrants, type Action } from '../../../domain/actor.ts';
import type { Me, Project } from '../../../client/index.ts';

export type Level = 'project' | 'organization' | 'platform';
export type May = (action: Action, level?: Level) => boolean;

type Binding = Pick<Me['bindings'][number], 'role' | 'project' | 'organization'>;
type Place = Pick<Project, 'key' | 'organization'>;

/** What a project's binding grants in its organization, as far as its role does. */
const usedThroughProject: readonly Action[] = ['organization.read', 'knowledge.read', 'knowledge.write', 'skill.read'];

/**
 * What these bindings allow in the project (by default), in its organization, at the platform. `projects`: those that
 * the person sees. The token may narrow it: then the API refuses.
 */
export function mayIn(here: Place, projects: readonly Place[], bindings: readonly Binding[]): May {
  const ownersOf = new Map(projects.map(({ key, organization }) => [key, organization]));
  return (action, level = 'project') =>
    bindings.some((binding) => roleGrants(binding.role, action) && reaches(binding, action, level, here, ownersOf));
}

function reaches(
  { project, organization }: Binding,
  action: Action,
  level: Level,
  here: Place,
  ownersOf: ReadonlyMap<string, string>,
): boolean {
  if (project !== undefined) {
    if (level === 'project') return project === here.key;
    if (level === 'platform' || ownersOf.get(project) !== here.organization) return false;
    return usedThroughProject.includes(action);
  }
  return organization === undefined || (level !== 'platform' && organization === here.organization);
}
