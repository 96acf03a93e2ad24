// Items and dependencies (spec: planner 1, 10). The tracker validates what is written, all violations together.

import type { StoredEvent } from '../../domain/event.ts';
import { addDependency, listDependencies, removeDependency } from '../../store/dependencies.ts';
import {
  createItem,
  getItem,
  itemHistory,
  listItems,
  listRunnable,
  transitionItem,
  updateItem,
} from '../../store/items.ts';
import type { App } from '../app.ts';
import { empty } from '../contracts/common.ts';
import { historyQuery, itemQuery, type EventBody } from '../contracts/tracker.ts';
import { Routes } from './routes.ts';

export function trackerRoutes(app: App): Routes {
  const routes = new Routes(app);

  routes.get('/projects/:project/items', itemQuery, ({ database, principal, param, query }) =>
    listItems(database, principal, param('project'), query),
  );
  routes.post('/projects/:project/items', 201, ({ principal, param, body, write }) =>
    write((tx) => createItem(tx, principal, param('project'), body)),
  );
  routes.get('/projects/:project/runnable', empty, async ({ database, principal, param }) => ({
    items: await listRunnable(database, principal, param('project')),
  }));

  routes.get('/items/:key', empty, ({ database, principal, param }) => getItem(database, principal, param('key')));
  routes.patch('/items/:key', ({ principal, param, body, write }) =>
    write((tx) => updateItem(tx, principal, param('key'), body)),
  );
  routes.post('/items/:key/transition', 200, ({ principal, param, body, write }) =>
    write((tx) => transitionItem(tx, principal, param('key'), body)),
  );
  routes.get('/items/:key/history', historyQuery, async ({ database, principal, param, query }) => {
    const { limit, after } = query;
    const window = { limit, ...(after === undefined ? {} : { after }) };
    const { items, next } = await itemHistory(database, principal, param('key'), window);
    return { items: items.map(eventBody), ...(next === undefined ? {} : { next: String(next) }) };
  });

  routes.get('/items/:key/dependencies', empty, ({ database, principal, param }) =>
    listDependencies(database, principal, param('key')),
  );
  routes.post('/items/:key/dependencies', 201, ({ principal, param, body, write }) =>
    write((tx) => addDependency(tx, principal, param('key'), body)),
  );
  routes.delete('/dependencies/:id', ({ principal, param, write }) =>
    write((tx) => removeDependency(tx, principal, param('id'))),
  );
  return routes;
}

function eventBody({ organization_id: _organization, project_id: _project, ...event }: StoredEvent): EventBody {
  return event;
}
