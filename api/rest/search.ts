// Search by words and by meaning (spec: planner 4, 10). The query is embedded before anything is read: rights count as
// they are when the search runs.

import { visibleOrganization, visibleProject } from '../../store/projects.ts';
import { knowledgeScope, projectScope, readableScope } from '../../store/search-scope.ts';
import { searchEntries, searchHits } from '../../store/search.ts';
import type { App } from '../app.ts';
import {
  hitQuery,
  knowledgeHitQuery,
  knowledgeHits,
  searchHits as searchHitsAnswer,
} from '../contracts/search.ts';
import { Routes } from './routes.ts';

const found = 'By words and by meaning, best first. Marks such as quotes and minus signs are no operators.';

export function searchRoutes(app: App): Routes {
  const routes = new Routes(app, 'Search');
  routes.get(
    '/search',
    {
      summary: 'Items, and skills that projects use',
      description: `${found} Of one project, or of all that the caller may read.`,
      query: hitQuery,
      answer: searchHitsAnswer,
      errors: ['forbidden', 'not_found'],
    },
    async ({ database, principal, query: { q, kind, project, limit } }) => {
      const embedding = await app.embedQuery(q);
      const action = kind === 'skill' ? 'skill.read' : 'tracker.read';
      const scope =
        project === undefined
          ? await readableScope(database, principal, kind)
          : await projectScope(database, principal, await visibleProject(database, principal, project, action), kind);
      return searchHits(database, scope, { text: q, embedding }, limit);
    },
  );
  routes.get(
    '/organizations/:organization/knowledge/search',
    {
      summary: "Entries of an organization's knowledge base",
      description: `${found} Without their bodies.`,
      query: knowledgeHitQuery,
      answer: knowledgeHits,
      errors: ['forbidden', 'not_found'],
    },
    async ({ database, principal, param, query: { q, kind, limit } }) => {
      const embedding = await app.embedQuery(q);
      const organization = await visibleOrganization(database, principal, param('organization'), 'knowledge.read');
      const scope = knowledgeScope(organization.id, kind);
      return searchEntries(database, { organization, principal }, scope, { text: q, embedding }, limit);
    },
  );
  return routes;
}
