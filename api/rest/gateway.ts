// Settings, credentials and usage of organizations and projects (spec: planner 9, 10).

import { parse } from '../../domain/input.ts';
import { projectUsage } from '../../planner/usage.ts';
import {
  credentialPlace,
  deleteCredential,
  listCredentials,
  readCredential,
  setCredential,
  type CredentialPlace,
} from '../../store/credentials.ts';
import type { Queryable } from '../../store/database.ts';
import {
  readOrganization,
  readProject,
  settingsOf,
  updateOrganization,
  updateProject,
  type OrganizationWithSettings,
  type ProjectWithSettings,
} from '../../store/settings.ts';
import type { App } from '../app.ts';
import { listOf } from '../contracts/common.ts';
import {
  credential,
  newCredential,
  organizationPatch,
  organizationView,
  projectPatch,
  projectUsage as projectUsageBody,
  projectView,
  providerName,
  usageQuery,
  type OrganizationViewBody,
  type ProjectViewBody,
} from '../contracts/gateway.ts';
import { Routes, type Call } from './routes.ts';

export function gatewayRoutes(app: App): Routes {
  const routes = new Routes(app, 'Models');
  settingsRoutes(routes, app);
  const organization: Named = ({ param }) => ({ organization: param('organization') });
  credentialRoutes(routes, app, '/organizations/:organization', organization);
  credentialRoutes(routes, app, '/projects/:project', ({ param }) => ({ project: param('project') }));
  routes.get(
    '/projects/:project/usage',
    {
      summary: 'What a project has used, by session, model or day',
      description:
        'Every call to a model counts, also one that failed, was cancelled or was made twice. Costs follow the ' +
        'prices of the configuration as they stand now.',
      query: usageQuery,
      answer: projectUsageBody,
      errors: ['forbidden', 'not_found'],
    },
    ({ database, principal, param, query }) =>
      projectUsage({ ...app.gateway, database }, principal, param('project'), query),
  );
  return routes;
}

function settingsRoutes(routes: Routes, app: App): void {
  routes.get(
    '/projects/:project',
    { summary: 'A project with its settings', answer: projectView, errors: ['forbidden', 'not_found'] },
    async ({ database, principal, param }) =>
      projectBody(app, database, await readProject(database, principal, param('project'))),
  );
  routes.patch(
    '/projects/:project',
    {
      summary: 'Change a project or its settings',
      description: 'What is absent stays; a setting that is null is inherited again.',
      body: projectPatch,
      answer: projectView,
      errors: ['forbidden', 'not_found'],
    },
    ({ principal, param, body, write }) =>
      write(async (tx) => projectBody(app, tx, await updateProject(tx, principal, param('project'), body))),
  );
  routes.get(
    '/organizations/:organization',
    { summary: 'An organization with its settings', answer: organizationView, errors: ['forbidden', 'not_found'] },
    async ({ database, principal, param }) =>
      organizationBody(await readOrganization(database, principal, param('organization'))),
  );
  routes.patch(
    '/organizations/:organization',
    {
      summary: 'Change an organization or its settings',
      description: 'What is absent stays; a setting that is null is inherited again.',
      body: organizationPatch,
      answer: organizationView,
      errors: ['forbidden', 'not_found'],
    },
    ({ principal, param, body, write }) =>
      write(async (tx) => organizationBody(await updateOrganization(tx, principal, param('organization'), body))),
  );
}

type Named = (call: Pick<Call, 'param'>) => Parameters<typeof credentialPlace>[2];

function credentialRoutes(
  routes: Routes,
  app: App,
  base: '/organizations/:organization' | '/projects/:project',
  named: Named,
): void {
  const all = `${base}/credentials` as const;
  const one = `${base}/credentials/:provider` as const;
  const errors = ['forbidden', 'not_found'] as const;
  const placeOf = (q: Queryable, call: Pick<Call, 'param' | 'principal'>): Promise<CredentialPlace> =>
    credentialPlace(q, call.principal, named(call));
  routes.get(
    all,
    { summary: 'Stored credentials, as fingerprints', answer: listOf(credential), errors },
    async (call) => ({ items: await listCredentials(call.database, await placeOf(call.database, call)) }),
  );
  routes.get(one, { summary: 'A stored credential, as its fingerprint', answer: credential, errors }, async (call) =>
    readCredential(call.database, await placeOf(call.database, call), call.param('provider')),
  );
  routes.put(
    one,
    {
      summary: 'Store a credential, or replace it',
      description:
        'The key is sealed at once and never shown again. A provider other than `openai` needs a `base_url`. ' +
        'A project uses its own credential of its provider, else its organization\'s, else the installation\'s.',
      body: newCredential,
      answer: credential,
      errors,
    },
    (call) =>
      call.write(async (tx) => {
        const place = await placeOf(tx, call);
        const provider = parse(providerName, call.param('provider'));
        return setCredential(tx, call.principal, app.gateway.keys, place, { provider, ...call.body });
      }),
  );
  routes.delete(one, { summary: 'Delete a stored credential', errors }, (call) =>
    call.write(async (tx) => deleteCredential(tx, call.principal, await placeOf(tx, call), call.param('provider'))),
  );
}

async function projectBody(app: App, q: Queryable, project: ProjectWithSettings): Promise<ProjectViewBody> {
  const { id, key, name, description, organization_key, settings } = project;
  const effective = await settingsOf(q, project, app.gateway.installation);
  return { id, key, name, description, organization: organization_key, settings, effective };
}

function organizationBody({ id, key, name, settings }: OrganizationWithSettings): OrganizationViewBody {
  return { id, key, name, settings };
}
