// Which model answers in a project.

import type { Me, ProjectView } from './wire.ts';

/**
 * The project's, else its organization's, else the installation's (spec: planner 9). `demo`: the built-in demo model
 * answers; one that a project or an organization has chosen is another one.
 */
export function projectModel(me: Pick<Me, 'model'>, { effective }: Pick<ProjectView, 'effective'>): Me['model'] {
  if (effective.model === '') return me.model;
  return { name: effective.model, demo: me.model.demo && effective.model === me.model.name };
}
