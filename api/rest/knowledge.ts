// Entries of an organization's knowledge base (spec: planner 4, 10).

import {
  createKnowledge,
  getKnowledge,
  getKnowledgeVersion,
  listKnowledge,
  listKnowledgeVersions,
  updateKnowledge,
} from '../../store/knowledge.ts';
import type { App } from '../app.ts';
import { listOf, versionQuery } from '../contracts/common.ts';
import {
  knowledgeEntry,
  knowledgePatch,
  knowledgeQuery,
  knowledgeSummary,
  knowledgeVersion,
  knowledgeVersionSummary,
  newKnowledge,
} from '../contracts/knowledge.ts';
import { Routes } from './routes.ts';
import { versionIn, versionPage, versionParam } from './versions.ts';

const entries = '/organizations/:organization/knowledge/entries';

export function knowledgeRoutes(app: App): Routes {
  const routes = new Routes(app, 'Knowledge');
  entryRoutes(routes);
  versionRoutes(routes);
  return routes;
}

function entryRoutes(routes: Routes): void {
  routes.get(
    entries,
    {
      summary: 'Knowledge entries of an organization, newest first',
      query: knowledgeQuery,
      answer: listOf(knowledgeSummary),
      errors: ['forbidden', 'not_found'],
    },
    ({ database, principal, param, query }) => listKnowledge(database, principal, param('organization'), query),
  );
  routes.post(
    entries,
    {
      summary: 'Create a knowledge entry',
      description: 'It may name projects and items of the organization that the caller may see.',
      body: newKnowledge,
      status: 201,
      answer: knowledgeEntry,
      errors: ['forbidden', 'not_found'],
    },
    ({ principal, param, body, write }) =>
      write((tx) => createKnowledge(tx, principal, param('organization'), body)),
  );
  routes.get(
    `${entries}/:id`,
    { summary: 'A knowledge entry', answer: knowledgeEntry, errors: ['forbidden', 'not_found'] },
    ({ database, principal, param }) => getKnowledge(database, principal, param('organization'), param('id')),
  );
  routes.patch(
    `${entries}/:id`,
    {
      summary: 'Update a knowledge entry',
      description:
        'Only what is sent changes, as a new version. `projects` and `items` are whole lists; keys that the caller ' +
        'may not see stay as they are.',
      body: knowledgePatch,
      answer: knowledgeEntry,
      errors: ['forbidden', 'not_found', 'conflict'],
    },
    ({ principal, param, body, write }) =>
      write((tx) => updateKnowledge(tx, principal, param('organization'), param('id'), body)),
  );
}

function versionRoutes(routes: Routes): void {
  routes.get(
    `${entries}/:id/versions`,
    {
      summary: 'Versions of a knowledge entry, newest first',
      query: versionQuery,
      answer: listOf(knowledgeVersionSummary),
      errors: ['forbidden', 'not_found'],
    },
    async ({ database, principal, param, query }) =>
      versionPage(await listKnowledgeVersions(database, principal, param('organization'), param('id'), query)),
  );
  routes.get(
    `${entries}/:id/versions/:version`,
    {
      summary: 'A version of a knowledge entry',
      params: { version: versionParam },
      answer: knowledgeVersion,
      errors: ['forbidden', 'not_found'],
    },
    ({ database, principal, param }) => {
      const version = versionIn(param('version'));
      return getKnowledgeVersion(database, principal, param('organization'), param('id'), version);
    },
  );
}
