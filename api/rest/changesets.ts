// Changesets (spec: planner 2, 10). The tracker validates what is proposed, all violations together.

import { actorOf } from '../../domain/actor.ts';
import {
  applyChangeset,
  getChangeset,
  listChangesets,
  proposeChangeset,
  rejectChangeset,
} from '../../store/changesets.ts';
import { visibleProject } from '../../store/projects.ts';
import type { App } from '../app.ts';
import {
  applyChangeset as application,
  changeset,
  changesetQuery,
  changesetSummary,
  newChangeset,
} from '../contracts/changesets.ts';
import { listOf } from '../contracts/common.ts';
import { Routes } from './routes.ts';

export function changesetRoutes(app: App): Routes {
  const routes = new Routes(app, 'Changesets');

  routes.get(
    '/projects/:project/changesets',
    {
      summary: 'Changesets of a project, newest first',
      query: changesetQuery,
      answer: listOf(changesetSummary),
      errors: ['forbidden', 'not_found'],
    },
    ({ database, principal, param, query }) => listChangesets(database, principal, param('project'), query),
  );
  routes.post(
    '/projects/:project/changesets',
    {
      summary: 'Propose a changeset',
      description: 'Stored, and nothing else changes, until a human applies or rejects it.',
      body: newChangeset,
      checkedBy: 'room',
      status: 201,
      answer: changeset,
      errors: ['forbidden', 'not_found', 'already_exists'],
    },
    ({ principal, param, body, write }) =>
      write(async (tx) => {
        const project = await visibleProject(tx, principal, param('project'), 'tracker.write');
        return proposeChangeset(tx, { project, actor: actorOf(principal), principal }, body);
      }),
  );
  routes.get(
    '/changesets/:id',
    { summary: 'A changeset', answer: changeset, errors: ['forbidden', 'not_found'] },
    ({ database, principal, param }) => getChangeset(database, principal, param('id')),
  );
  routes.post(
    '/changesets/:id/apply',
    {
      summary: 'Apply a changeset, all of it or some operations',
      description:
        'All in one transaction. An item that has changed since the proposal is a conflict, unless `accept_stale` ' +
        'is sent. Humans only.',
      body: application,
      answer: changeset,
      errors: ['forbidden', 'not_found', 'already_exists'],
    },
    ({ principal, param, body, write }) => write((tx) => applyChangeset(tx, principal, param('id'), body)),
  );
  routes.post(
    '/changesets/:id/reject',
    { summary: 'Reject a changeset', answer: changeset, errors: ['forbidden', 'not_found'] },
    ({ principal, param, write }) => write((tx) => rejectChangeset(tx, principal, param('id'))),
  );
  return routes;
}
