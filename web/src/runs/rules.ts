// Who may start and stop runs, shown before the API enforces it (spec: planner 5).

import type { Me, Project } from '../../../client/index.ts';
import { roleGrants } from '../../../domain/actor.ts';

export interface RunRights {
  start: boolean;
  cancel: boolean;
}

type Binding = Pick<Me['bindings'][number], 'role' | 'project' | 'organization'>;

/** What these bindings allow in the project. The token may narrow it: then the API refuses. */
export function runRightsIn(project: Pick<Project, 'key' | 'organization'>, bindings: readonly Binding[]): RunRights {
  const here = bindings.filter((each) =>
    each.project ? each.project === project.key : !each.organization || each.organization === project.organization,
  );
  return {
    start: here.some(({ role }) => roleGrants(role, 'bounded_run.start')),
    cancel: here.some(({ role }) => roleGrants(role, 'bounded_run.cancel')),
  };
}
