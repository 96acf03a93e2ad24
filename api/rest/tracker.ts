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
import { listOf, longPageQuery } from '../contracts/common.ts';
import {
  dependency,
  event,
  historyQuery,
  item,
  itemDependencies,
  itemPatch,
  itemQuery,
  itemSummary,
  itemTransition,
  newDependency,
  newItem,
  type EventBody,
} from '../contracts/tracker.ts';
import { pageOf } from './page.ts';
import { Routes } from './routes.ts';

export function trackerRoutes(app: App): Routes {
  const routes = new Routes(app, 'Items');
  itemRoutes(routes);
  dependencyRoutes(routes);
  return routes;
}

function itemRoutes(routes: Routes): void {
  routes.get(
    '/projects/:project/items',
    {
      summary: 'Items of a project, by number',
      query: itemQuery,
      answer: listOf(itemSummary),
      errors: ['forbidden', 'not_found'],
    },
    ({ database, principal, param, query }) => listItems(database, principal, param('project'), query),
  );
  routes.post(
    '/projects/:project/items',
    {
      summary: 'Create an item',
      body: newItem,
      checkedBy: 'room',
      status: 201,
      answer: item,
      errors: ['forbidden', 'not_found'],
    },
    ({ principal, param, body, write }) => write((tx) => createItem(tx, principal, param('project'), body)),
  );
  routes.get(
    '/projects/:project/runnable',
    {
      summary: 'Tickets that can be worked on',
      description: 'Ready, and no blocker of theirs is unresolved; by number.',
      query: longPageQuery,
      answer: listOf(itemSummary),
      errors: ['forbidden', 'not_found'],
    },
    async ({ database, principal, param, query }) =>
      pageOf(await listRunnable(database, principal, param('project')), query, ({ key }) => key),
  );
  routes.get(
    '/items/:key',
    { summary: 'An item', answer: item, errors: ['forbidden', 'not_found'] },
    ({ database, principal, param }) => getItem(database, principal, param('key')),
  );
  routes.patch(
    '/items/:key',
    {
      summary: 'Change an item',
      description: 'Only what is sent changes; `""` unlinks an epic or a milestone. Another `version` is a conflict.',
      body: itemPatch,
      checkedBy: 'room',
      answer: item,
      errors: ['forbidden', 'not_found', 'conflict'],
    },
    ({ principal, param, body, write }) => write((tx) => updateItem(tx, principal, param('key'), body)),
  );
  routes.post(
    '/items/:key/transition',
    {
      summary: 'Move an item to another state',
      body: itemTransition,
      checkedBy: 'room',
      answer: item,
      errors: ['forbidden', 'not_found'],
    },
    ({ principal, param, body, write }) => write((tx) => transitionItem(tx, principal, param('key'), body)),
  );
  routes.get(
    '/items/:key/history',
    {
      summary: 'What happened to an item, oldest first',
      query: historyQuery,
      answer: listOf(event),
      errors: ['forbidden', 'not_found'],
    },
    async ({ database, principal, param, query }) => {
      const { limit, after } = query;
      const window = { limit, ...(after === undefined ? {} : { after }) };
      const { items, next } = await itemHistory(database, principal, param('key'), window);
      return { items: items.map(eventBody), ...(next === undefined ? {} : { next: String(next) }) };
    },
  );
}

function dependencyRoutes(routes: Routes): void {
  routes.get(
    '/items/:key/dependencies',
    { summary: 'The dependencies of an item', answer: itemDependencies, errors: ['forbidden', 'not_found'] },
    ({ database, principal, param }) => listDependencies(database, principal, param('key')),
  );
  routes.post(
    '/items/:key/dependencies',
    {
      summary: 'Add a dependency from an item to another one',
      body: newDependency,
      checkedBy: 'room',
      status: 201,
      answer: dependency,
      errors: ['forbidden', 'not_found', 'already_exists'],
    },
    ({ principal, param, body, write }) => write((tx) => addDependency(tx, principal, param('key'), body)),
  );
  routes.delete(
    '/dependencies/:id',
    { summary: 'Remove a dependency', errors: ['forbidden', 'not_found'] },
    ({ principal, param, write }) => write((tx) => removeDependency(tx, principal, param('id'))),
  );
}

function eventBody({ organization_id: _organization, project_id: _project, ...event }: StoredEvent): EventBody {
  return event;
}
