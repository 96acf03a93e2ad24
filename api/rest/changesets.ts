// Changesets (spec: planner 2, 10). The tracker validates what is proposed, all violations together.

import { actorOf } from '../../domain/actor.ts';
import { parse } from '../../domain/input.ts';
import {
  applyChangeset,
  getChangeset,
  listChangesets,
  proposeChangeset,
  rejectChangeset,
} from '../../store/changesets.ts';
import { visibleProject } from '../../store/projects.ts';
import type { App } from '../app.ts';
import { applyChangeset as application, changesetQuery } from '../contracts/changesets.ts';
import { empty } from '../contracts/common.ts';
import { Routes } from './routes.ts';

export function changesetRoutes(app: App): Routes {
  const routes = new Routes(app);

  routes.get('/projects/:project/changesets', changesetQuery, ({ database, principal, param, query }) =>
    listChangesets(database, principal, param('project'), query),
  );
  routes.post('/projects/:project/changesets', 201, ({ principal, param, body, write }) =>
    write(async (tx) => {
      const project = await visibleProject(tx, principal, param('project'), 'tracker.write');
      return proposeChangeset(tx, { project, actor: actorOf(principal), principal }, body);
    }),
  );
  routes.get('/changesets/:id', empty, ({ database, principal, param }) =>
    getChangeset(database, principal, param('id')),
  );
  routes.post('/changesets/:id/apply', 200, ({ principal, param, body, write }) => {
    const approval = parse(application, body);
    return write((tx) => applyChangeset(tx, principal, param('id'), approval));
  });
  routes.post('/changesets/:id/reject', 200, ({ principal, param, body, write }) => {
    parse(empty, body);
    return write((tx) => rejectChangeset(tx, principal, param('id')));
  });
  return routes;
}
